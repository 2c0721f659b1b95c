"""Brings a database forward to the shape this program knows.

The shape is the sum of the numbered files in `migrations/`. A database says which it has: the
`application_id` that it is ours, `user_version` the last number, the table `migrations` the SHA-256
of each file as it was applied.

A database is opened if and only if (1) it is empty or carries our `application_id`, (2) its version
is not above the last file's, (3) every applied file still has the digest noted. Then each missing
file runs in one transaction of its own together with its note and the new version: a crash leaves
the shape before it or the shape after it. Before the first of them a database that holds something
is copied to `<name>.before-<number>.backup`.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import apsw

from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.errors import StoreCorrupt, StoreNewer
from counterpoint.storage.faults import translate_errors

APPLICATION = 0x436E7470
"""`Cntp` as the 32-bit mark that SQLite keeps in the header of the file."""

_NOTES = """
CREATE TABLE IF NOT EXISTS migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL
) STRICT
"""


class Migration(NamedTuple):
    """One numbered file."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """The SHA-256 of its text."""
        return sha256(self.sql.encode())


@cache
def packaged() -> tuple[Migration, ...]:
    """Return the migrations that came with this program, in order."""
    folder = resources.files("counterpoint.storage") / "migrations"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda f: f.name
    )
    return tuple(
        Migration(int(file.name[:4]), file.name, file.read_text(encoding="utf-8")) for file in files
    )


def is_current(connection: apsw.Connection, where: str, known: tuple[Migration, ...]) -> bool:
    """Return whether nothing is left to do; StoreCorrupt, StoreNewer if it is not for us."""
    # One read transaction: between two questions another process may have made it all.
    connection.execute("BEGIN")
    try:
        return _is_current(connection, where, known)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _is_current(connection: apsw.Connection, where: str, known: tuple[Migration, ...]) -> bool:
    version: int = connection.pragma("user_version")
    mark: int = connection.pragma("application_id")
    if mark != APPLICATION:
        if mark or version or connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
            raise StoreCorrupt(f"{where} is a database of another program", path=where)
        return False
    last = known[-1].number
    if version > last:
        raise StoreNewer(
            f"{where} has version {version}; this program knows versions up to {last}",
            path=where,
            version=version,
            known=last,
        )
    _check_notes(connection, where, known)
    return version == last


def _check_notes(connection: apsw.Connection, where: str, known: tuple[Migration, ...]) -> None:
    digests = {migration.number: migration.digest for migration in known}
    for number, name, digest in connection.execute("SELECT number, name, sha256 FROM migrations"):
        if digests.get(number) != digest:
            raise StoreCorrupt(
                f"{where} was made with another text of {name} than this program has",
                hint="Use the release of Counterpoint that made the database, or its next one.",
                path=where,
            )


def bring_forward(connection: apsw.Connection, where: str, known: tuple[Migration, ...]) -> None:
    """Apply what is missing; a backup is written first if the database holds anything."""
    if is_current(connection, where, known):
        return
    version: int = connection.pragma("user_version")
    missing = [migration for migration in known if migration.number > version]
    if version and connection.filename:
        file = Path(connection.filename)
        copy(connection, file.with_name(f"{file.name}.before-{missing[0].number}.backup"))
    for migration in missing:
        _apply(connection, migration)


def _apply(connection: apsw.Connection, migration: Migration) -> None:
    """Run one file in a transaction; if it fails, whoever opened the connection closes it."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(_NOTES)
    connection.execute(migration.sql)
    connection.execute(
        "INSERT INTO migrations (number, name, sha256) VALUES (?, ?, ?)",
        (migration.number, migration.name, migration.digest),
    )
    connection.pragma("application_id", APPLICATION)
    connection.pragma("user_version", migration.number)
    connection.execute("COMMIT")


def copy(connection: apsw.Connection, target: Path) -> None:
    """Write a consistent copy under a passing name, make it durable, then give it its name."""
    passing = target.with_name(f".{target.name}.{os.getpid()}.part")
    passing.unlink(missing_ok=True)
    os.close(os.open(passing, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        _copy_pages(connection, passing, str(target))
        _sync(passing)
        passing.replace(target)
        _sync(target.parent)
    finally:
        passing.unlink(missing_ok=True)


def _copy_pages(connection: apsw.Connection, target: Path, where: str) -> None:
    """Copy all pages in one step: one read transaction, so writers cannot make it begin again."""
    copied = apsw.Connection(str(target))
    try:
        with translate_errors(where, copied):
            with copied.backup("main", connection, "main") as backup:
                backup.step(-1)
            copied.pragma("journal_mode", "delete")
    finally:
        copied.close()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Brings a database file forward to the shape that this program knows.

A file says what it is in its header: the `application_id` that it is ours, `user_version` the highest
number noted. What is missing runs in one transaction together with its notes: a crash leaves the
shape before it or the shape after it. Before a step to a higher version a database that holds
something is copied to `<name>.before-<number>.backup`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import apsw

from counterpoint.kernel.errors import StoreCorrupt
from counterpoint.storage import schema
from counterpoint.storage.schema import Migration, Noted
from counterpoint.storage.sqlite.durable import sync
from counterpoint.storage.sqlite.faults import translate_errors

APPLICATION = 0x436E7470
"""`Cntp` as the 32-bit mark that SQLite keeps in the header of the file."""

_NOTES = """
CREATE TABLE IF NOT EXISTS migrations (
  number INTEGER NOT NULL,
  name TEXT NOT NULL PRIMARY KEY,
  sha256 TEXT NOT NULL
) STRICT
"""
_NOTED = "SELECT number, name, sha256 FROM migrations"


def missing(
    connection: apsw.Connection, where: str, known: tuple[Migration, ...]
) -> tuple[Migration, ...]:
    """Return what is left to do; StoreCorrupt, StoreNewer or StoreOlder if it is not for us."""
    # One read transaction: between two questions another process may have made it all.
    connection.execute("BEGIN")
    try:
        return schema.missing(_noted(connection, where, known), known, where)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _noted(connection: apsw.Connection, where: str, known: tuple[Migration, ...]) -> list[Noted]:
    mark: int = connection.pragma("application_id")
    version: int = connection.pragma("user_version")
    if mark == APPLICATION:
        schema.check_version(version, known, where)
        return cast("list[Noted]", connection.execute(_NOTED).fetchall())
    # A file without our mark that is not empty is somebody's: nothing is written into it.
    if mark or version or connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
        raise StoreCorrupt(f"{where} is a database of another program", path=where)
    return []


def bring_forward(connection: apsw.Connection, where: str, known: tuple[Migration, ...]) -> None:
    """Apply what is missing; if it fails, whoever opened the connection closes it."""
    left = missing(connection, where, known)
    if not left:
        return
    version: int = connection.pragma("user_version")
    higher = [migration.number for migration in left if migration.number > version]
    if version and higher and connection.filename:
        file = Path(connection.filename)
        copy(connection, file.with_name(f"{file.name}.before-{higher[0]}.backup"))
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(_NOTES)
    for migration in left:
        connection.execute(migration.sql)
        connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", migration.noted)
    # The header is a page like others: both numbers land, or are undone, with the tables.
    connection.pragma("application_id", APPLICATION)
    connection.pragma("user_version", known[-1].number)
    connection.execute("COMMIT")


def copy(connection: apsw.Connection, target: Path) -> None:
    """Write a consistent copy under a passing name, make it durable, then give it its name."""
    passing = target.with_name(f".{target.name}.{os.getpid()}.part")
    passing.unlink(missing_ok=True)
    os.close(os.open(passing, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        _copy_pages(connection, passing, str(target))
        sync(passing)
        passing.replace(target)
        # The file is durable already; its name is an entry of the folder.
        sync(target.parent)
    finally:
        passing.unlink(missing_ok=True)


def _copy_pages(connection: apsw.Connection, target: Path, where: str) -> None:
    """Copy all pages in one step: one read transaction, so writers cannot make it begin again."""
    copied = apsw.Connection(str(target))
    try:
        with translate_errors(where, copied):
            with copied.backup("main", connection, "main") as backup:
                backup.step(-1)
            # A copy is to be one file: in WAL mode it would come with two more.
            copied.pragma("journal_mode", "delete")
    finally:
        copied.close()

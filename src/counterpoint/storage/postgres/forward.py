"""Brings a PostgreSQL database forward to the shape this program knows.

The shape is the sum of the numbered files in `migrations/` beside this one, in the schema
`counterpoint`; its table `migrations` holds the SHA-256 of each file as it was applied.

A database is opened if and only if (1) it has no such schema yet, or one with such a table, (2) its
last number is not above the last file's, (3) every applied file still has the digest noted. Then all
that is missing runs in one transaction under an advisory lock, so that of several programs that
start at once one does it and the others find it done.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from counterpoint.kernel.errors import StoreCorrupt, StoreNewer
from counterpoint.storage.migrate import Migration
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.pool import SCHEMA

_LOCK = 0x436E7470
"""`Cntp`: the number that programs lock while they look and mend."""

_NOTES = """
CREATE TABLE migrations (
  number bigint PRIMARY KEY,
  name text NOT NULL,
  sha256 text NOT NULL
)
"""
_NOTED = "SELECT number, name, sha256 FROM migrations ORDER BY number"


@cache
def packaged() -> tuple[Migration, ...]:
    """Return the migrations that came with this program, in order."""
    folder = resources.files("counterpoint.storage.postgres") / "migrations"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda f: f.name
    )
    return tuple(
        Migration(int(file.name[:4]), file.name, file.read_text(encoding="utf-8")) for file in files
    )


def is_made(link: Link) -> bool:
    """Return whether the database has the product's tables."""
    found = link.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.migrations",))
    return bool((found.fetchone() or (False,))[0])


def bring_forward(link: Link, where: str, known: tuple[Migration, ...]) -> None:
    """Apply what is missing inside the transaction that is open; StoreNewer, StoreCorrupt."""
    if not _missing(link, where, known):
        return
    link.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    missing = _missing(link, where, known)
    if missing and missing[0].number == known[0].number:
        _make_schema(link, where)
    for migration in missing:
        link.execute(migration.sql.encode())
        link.execute("INSERT INTO migrations VALUES (%s, %s, %s)", _note(migration))


def _note(migration: Migration) -> tuple[int, str, str]:
    return migration.number, migration.name, migration.digest


def _make_schema(link: Link, where: str) -> None:
    """Make the schema, or take an empty one that was made for us."""
    link.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
    foreign = link.execute(
        "SELECT 1 FROM pg_class WHERE relnamespace = %s::regnamespace LIMIT 1", (SCHEMA,)
    )
    if foreign.fetchone() is not None:
        raise StoreCorrupt(f"{where} has a schema `{SCHEMA}` of another program")
    link.execute(_NOTES)


def _missing(link: Link, where: str, known: tuple[Migration, ...]) -> tuple[Migration, ...]:
    if not is_made(link):
        return known
    noted = link.execute(_NOTED).fetchall()
    version, last = max((number for number, _, _ in noted), default=0), known[-1].number
    if version > last:
        raise StoreNewer(
            f"{where} has version {version}; this program knows versions up to {last}",
            address=where,
            version=version,
            known=last,
        )
    digests = {migration.number: migration.digest for migration in known}
    for number, name, digest in noted:
        if digests.get(number) != digest:
            raise StoreCorrupt(
                f"{where} was made with another text of {name} than this program has",
                hint="Use the release of Counterpoint that made the database, or its next one.",
                address=where,
            )
    applied = {number for number, _, _ in noted}
    return tuple(migration for migration in known if migration.number not in applied)

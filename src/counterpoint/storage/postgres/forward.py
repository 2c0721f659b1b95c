"""Brings a PostgreSQL database forward to the shape that this program knows.

All of it stands in the schema `counterpoint`. What is missing runs in one transaction under an
advisory lock, so that of several programs that start at once one does it and the others find it done.
"""

from __future__ import annotations

from counterpoint.kernel.errors import StoreCorrupt
from counterpoint.storage import schema
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.pool import SCHEMA
from counterpoint.storage.schema import Migration

_LOCK = 0x436E7470
"""`Cntp`: the number that programs lock while they look and mend."""

_NOTES = """
CREATE TABLE migrations (
  number bigint NOT NULL,
  name text PRIMARY KEY,
  sha256 text NOT NULL
)
"""
_NOTED = "SELECT number, name, sha256 FROM migrations"


def is_made(link: Link) -> bool:
    """Return whether the database has the product's tables."""
    found = link.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.migrations",))
    return bool((found.fetchone() or (False,))[0])


def bring_forward(link: Link, where: str, known: tuple[Migration, ...]) -> None:
    """Apply what is missing inside the open transaction; StoreNewer, StoreOlder, StoreCorrupt."""
    # The usual case: nothing is to be done, and nobody waits for the lock.
    if not _missing(link, where, known):
        return
    link.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    # Looked at again under the lock: another program may have done it meanwhile.
    missing = _missing(link, where, known)
    if missing and not is_made(link):
        _make_schema(link, where)
    for migration in missing:
        link.execute(migration.sql.encode())
        link.execute("INSERT INTO migrations VALUES (%s, %s, %s)", migration.noted)


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
    noted = link.execute(_NOTED).fetchall() if is_made(link) else []
    return schema.missing(noted, known, where)

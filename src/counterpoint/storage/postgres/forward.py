"""Brings a PostgreSQL database forward to the shape that this program knows.

All of it stands in the schema `counterpoint`. What is missing runs in one transaction under an
advisory lock, so that of several programs that start at once one does it and the others find it done. Tables that
are there are changed only while no other program has the database open: each of its connections shares a second lock.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from psycopg import errors

from counterpoint import __version__
from counterpoint.kernel.errors import StoreBusy, StoreCorrupt
from counterpoint.storage import schema
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.pool import SCHEMA
from counterpoint.storage.schema import Migration

_LOCK = 0x436E7470
"""`Cntp`: the number that programs lock while they look and mend."""
_IN_USE = 0x436E7471
"""The number that every connection shares as long as it lasts, and that whoever changes the tables has alone."""
_A_MOMENT_MS = 2_000

_NOTES = """
CREATE TABLE migrations (
  number bigint NOT NULL,
  name text PRIMARY KEY,
  sha256 text NOT NULL
)
"""
_OTHERS = """
SELECT DISTINCT a.application_name FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
WHERE l.locktype = 'advisory' AND l.objid::bigint = %s AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.pid <> pg_backend_pid()
"""
_NOTED = "SELECT number, name, sha256 FROM migrations"


def is_made(link: Link) -> bool:
    """Return whether the database has the product's tables."""
    answer = link.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.migrations",))
    return bool((answer.fetchone() or (False,))[0])


def join(link: Link) -> None:
    """Let nobody change the tables while a connection lasts; waits for who does so now."""
    link.execute("SELECT pg_advisory_lock_shared(%s)", (_IN_USE,))


def bring_forward(link: Link, where: str, migrations: tuple[Migration, ...]) -> None:
    """Apply what is missing, and join; StoreNewer, StoreOlder, StoreCorrupt, StoreBusy where another has it open."""
    join(link)
    # The usual case: nothing is to be done.
    if not missing(link, where, migrations):
        return
    # Given back before anything is waited for: whoever changes the tables waits for all who have joined.
    link.execute("SELECT pg_advisory_unlock_shared(%s)", (_IN_USE,))
    link.execute(b"BEGIN")
    link.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    # Looked at again under the lock: another program may have done it meanwhile.
    lacking = missing(link, where, migrations)
    if lacking:
        link.execute(b"SET LOCAL statement_timeout TO 0")
        if is_made(link):
            _have_alone(link, where)
        else:
            _make_schema(link, where)
    for migration in lacking:
        link.execute(migration.sql.encode())
        link.execute("INSERT INTO migrations VALUES (%s, %s, %s)", migration.noted)
    link.execute(b"COMMIT")
    join(link)


def time_of(link: Link) -> datetime:
    """Return what time it is on the server."""
    row: Any = link.execute(b"SELECT clock_timestamp()").fetchone()
    return row[0]


def _have_alone(link: Link, where: str) -> None:
    """Wait for a moment until nobody has the database open; StoreBusy, naming who has."""
    link.execute(f"SET LOCAL lock_timeout TO {_A_MOMENT_MS}".encode())
    link.execute(b"SAVEPOINT alone")
    try:
        link.execute("SELECT pg_advisory_xact_lock(%s)", (_IN_USE,))
    except errors.LockNotAvailable:
        link.execute(b"ROLLBACK TO SAVEPOINT alone")
        others = [name for (name,) in link.execute(_OTHERS, (_IN_USE,)).fetchall()]
        raise StoreBusy(
            f"an older server has {where} open, whose tables this program {__version__} would change:"
            f" {', '.join(others) or 'it has just ended'}",
            hint="Run `counterpoint down` where it runs, and repeat the call.",
        ) from None


def _make_schema(link: Link, where: str) -> None:
    """Make the schema, or take an empty one that was made for us."""
    link.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
    foreign = link.execute(
        "SELECT 1 FROM pg_class WHERE relnamespace = %s::regnamespace LIMIT 1", (SCHEMA,)
    )
    if foreign.fetchone() is not None:
        raise StoreCorrupt(f"{where} has a schema `{SCHEMA}` of another program")
    link.execute(_NOTES)


def missing(link: Link, where: str, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """Return what the database still lacks; StoreNewer, StoreOlder, StoreCorrupt."""
    noted = link.execute(_NOTED).fetchall() if is_made(link) else []
    return schema.missing(noted, migrations, where)

"""Brings a PostgreSQL database forward to the shape that this program knows.

All of it stands in the schema `counterpoint`. What is missing runs in one transaction that has the table `migrations` alone, or has made
it, so that of several programs that start at once one does it and the others find it done. Tables that are there are changed only while no
other program has the database open: each of its connections bears a name that says so before it reads which version the tables have.
"""

from __future__ import annotations

from datetime import datetime
from time import monotonic
from typing import Any, Final

from psycopg import errors

from counterpoint import __version__
from counterpoint.kernel.errors import StoreCorrupt
from counterpoint.storage import schema
from counterpoint.storage.postgres import locks
from counterpoint.storage.postgres.dialect import Link
from counterpoint.storage.postgres.pool import OPENING, SCHEMA, application
from counterpoint.storage.schema import Migration

_MOMENT_SECONDS: Final = 2.0

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
    answer = link.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.migrations",))
    return bool((answer.fetchone() or (False,))[0])


def join(link: Link) -> None:
    """Let nobody change the tables while a connection lasts; what it reads of their version afterwards holds."""
    _bear(link, application())


def bring_forward(link: Link, where: str, migrations: tuple[Migration, ...]) -> None:
    """Apply what is missing, and join; StoreNewer, StoreOlder, StoreCorrupt, StoreBusy where another has it open."""
    while True:
        join(link)
        # The usual case: nothing is to be done.
        if not missing(link, where, migrations):
            return
        # Two that wait to change the tables do not keep each other from it.
        _bear(link, OPENING + application())
        link.execute(b"BEGIN")
        if _have_migrations(link, where):
            _apply(link, where, migrations)
        link.execute(b"COMMIT")


def _bear(link: Link, name: str) -> None:
    # What is longer than a name may be is cut off by the server.
    link.execute("SELECT set_config('application_name', %s, false)", (name,))


def _have_migrations(link: Link, where: str) -> bool:
    """Have the table of the migrations alone; False, and nothing is done, if another program has just made it."""
    if not is_made(link):
        try:
            return _make_schema(link, where)
        except (errors.UniqueViolation, errors.DuplicateTable):
            return False
    try:
        link.execute(f"LOCK TABLE {SCHEMA}.migrations IN ACCESS EXCLUSIVE MODE".encode())
    except errors.LockNotAvailable as fault:
        link.execute(b"ROLLBACK")
        raise locks.busy(
            f"no turn came to look at {where}", locks.holders_of_tables(link)
        ) from fault
    return True


def _apply(link: Link, where: str, migrations: tuple[Migration, ...]) -> None:
    # Looked at again under the lock: another program may have done it meanwhile.
    lacking = missing(link, where, migrations)
    if not lacking:
        return
    link.execute(b"SET LOCAL statement_timeout TO 0")
    if len(lacking) < len(migrations):
        _refuse_users(link, where)
    for migration in lacking:
        link.execute(migration.sql.encode())
        link.execute("INSERT INTO migrations VALUES (%s, %s, %s)", migration.noted)


def time_of(link: Link) -> datetime:
    """Return what time it is on the server."""
    row: Any = link.execute(b"SELECT clock_timestamp()").fetchone()
    return row[0]


def _refuse_users(link: Link, where: str) -> None:
    """Wait for a moment until nobody has the database open; StoreBusy, naming who has."""
    users = locks.users_of(link)
    end = monotonic() + _MOMENT_SECONDS
    while users:
        if monotonic() > end:
            raise locks.busy(
                f"an older server has {where} open, whose tables this program {__version__} would change",
                users,
                hint="Run `counterpoint down` where it runs, and repeat the call.",
            )
        link.execute("SELECT pg_sleep(0.1)")
        users = locks.users_of(link)


def _make_schema(link: Link, where: str) -> bool:
    """Make the schema, or take an empty one that was made for us; False if another program has just made the tables.

    Whoever comes second waits at the name of what the first one makes.
    """
    link.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
    if is_made(link):
        return False
    foreign = link.execute(
        "SELECT 1 FROM pg_class WHERE relnamespace = %s::regnamespace LIMIT 1", (SCHEMA,)
    )
    if foreign.fetchone() is not None:
        raise StoreCorrupt(f"{where} has a schema `{SCHEMA}` of another program")
    link.execute(_NOTES)
    return True


def missing(link: Link, where: str, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """Return what the database still lacks; StoreNewer, StoreOlder, StoreCorrupt."""
    noted = link.execute(_NOTED).fetchall() if is_made(link) else []
    return schema.missing(noted, migrations, where)

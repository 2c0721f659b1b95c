"""Brings a database file forward to the shape that this program knows.

A file says what it is in its header: the `application_id` that it is ours, `user_version` the highest
number noted. What is missing runs in one transaction together with its notes: a crash leaves the
shape before it or the shape after it. Before a step to a higher version a database that holds
something is copied to `<name>.before-<number>.backup`.

Tables that are there are changed by nobody while another process has them open, of whatever version:

1. a server holds `<prefix>.lock` as long as it lives (protocol/rendezvous.py), so who gets it knows that there is none, and while he
   holds it none begins. The server itself is known by its process in `<prefix>.json`;
2. every connection in WAL mode has a shared lock on the database until it is closed, or its process ends. SQLite ends the log for nobody
   while another has that. So who ends it has the database alone, and has it alone still when his transaction has begun: whoever opens the
   database in between finds no log, and to begin one he waits for the turn of whoever changes the tables (queue.py), and looks again in it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import apsw

from counterpoint import __version__
from counterpoint.kernel.durable import sync
from counterpoint.kernel.errors import StoreBusy, StoreCorrupt
from counterpoint.kernel.places import find_prefix
from counterpoint.storage import schema
from counterpoint.storage.schema import Migration, Noted
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
_A_MOMENT: Final = 2.0
"""Seconds that a command may have the database open before it counts as in use."""
_A_LOOK: Final = 0.01
_NOTED = "SELECT number, name, sha256 FROM migrations"


def missing(
    connection: apsw.Connection, where: str, migrations: tuple[Migration, ...]
) -> tuple[Migration, ...]:
    """Return what is left to do; StoreCorrupt, StoreNewer or StoreOlder if it is not for us."""
    # One read transaction: between two questions another process may have made it all.
    connection.execute("BEGIN")
    try:
        return schema.missing(_noted(connection, where, migrations), migrations, where)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _noted(
    connection: apsw.Connection, where: str, migrations: tuple[Migration, ...]
) -> list[Noted]:
    mark: int = connection.pragma("application_id")
    version: int = connection.pragma("user_version")
    if mark == APPLICATION:
        schema.check_version(version, migrations, where)
        return cast("list[Noted]", connection.execute(_NOTED).fetchall())
    # A file without our mark that is not empty is somebody's: nothing is written into it.
    if mark or version or connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
        raise StoreCorrupt(f"{where} is a database of another program", path=where)
    return []


def bring_forward(
    connection: apsw.Connection, where: str, migrations: tuple[Migration, ...]
) -> None:
    """Apply what is missing; if it fails, whoever opened the connection closes it. StoreBusy."""
    pending = missing(connection, where, migrations)
    if not pending:
        return
    if not connection.filename:
        _fill(connection, migrations)
        return
    if connection.pragma("application_id") != APPLICATION:
        _apply(connection, pending, migrations)
        return
    with no_other_server(Path(where)):
        _have_alone(connection, where)
        _apply(connection, pending, migrations)


def _fill(connection: apsw.Connection, migrations: tuple[Migration, ...]) -> None:
    """Make the tables of a database that passes away: every check of a ledger makes one, and pages are copied in a tenth of the time."""
    source = apsw.Connection(":memory:")
    try:
        source.deserialize("main", _empty_pages(migrations))
        with connection.backup("main", source, "main") as backup:
            backup.step(-1)
    finally:
        source.close()


@cache
def _empty_pages(migrations: tuple[Migration, ...]) -> bytes:
    connection = apsw.Connection(":memory:")
    try:
        _apply(connection, migrations, migrations)
        return connection.serialize("main")
    finally:
        connection.close()


def _apply(
    connection: apsw.Connection, pending: tuple[Migration, ...], migrations: tuple[Migration, ...]
) -> None:
    version: int = connection.pragma("user_version")
    higher = [migration.number for migration in pending if migration.number > version]
    if version and higher and connection.filename:
        file = Path(connection.filename)
        copy(connection, file.with_name(f"{file.name}.before-{higher[0]}.backup"))
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute(_NOTES)
    for migration in pending:
        connection.execute(migration.sql)
        connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", migration.noted)
    # The header is a page like others: both numbers land, or are undone, with the tables.
    connection.pragma("application_id", APPLICATION)
    connection.pragma("user_version", migrations[-1].number)
    connection.execute("COMMIT")


@contextmanager
def no_other_server(file: Path) -> Generator[None]:
    """Keep servers of a database file away during the block; StoreBusy, with its version, if another process is one."""
    prefix = find_prefix(str(file))
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(f"{prefix}.lock", flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            record = _read_server_file(f"{prefix}.json")
            if record.get("pid") != os.getpid():
                raise StoreBusy(
                    f"an older server (version {record.get('version', '?')}, process {record.get('pid', '?')}) has"
                    f" {file} open, whose tables this program {__version__} would change",
                    hint="Run `counterpoint down`, and repeat the call.",
                ) from None
        yield
    finally:
        os.close(descriptor)


def _have_alone(connection: apsw.Connection, where: str) -> None:
    """End the log, for which nobody else may have the database open; StoreBusy after a moment, naming who has."""
    until = time.monotonic() + _A_MOMENT
    while True:
        try:
            connection.pragma("journal_mode", "delete")
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() >= until:
                raise StoreBusy(
                    f"another process{_holders(where)} has {where} open, whose tables this program {__version__} would change",
                    hint="Run `counterpoint down`, close agents that serve themselves (`--in-process`), and repeat the call.",
                ) from None
            time.sleep(_A_LOOK)
        else:
            return


def _holders(where: str) -> str:
    """Return in words which other processes have a lock on a file, where the kernel tells."""
    try:
        locks = Path("/proc/locks").read_text(encoding="ascii").splitlines()
        inode = str(Path(where).stat().st_ino)
    except OSError:
        return ""
    # `7: POSIX  ADVISORY  READ 4321 08:01:131075 1073741826 1073742335`
    matches = [words for line in locks if (words := line.split())[5].endswith(f":{inode}")]
    pids = {words[4] for words in matches} - {str(os.getpid())}
    return f" ({', '.join(sorted(pids))})" if pids else ""


def _read_server_file(path: str) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        record = json.loads(Path(path).read_bytes())
        return cast("dict[str, Any]", record) if isinstance(record, dict) else {}
    return {}


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

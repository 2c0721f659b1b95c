"""Whether a database can only be read, because its folder takes no file.

An archive on a read-only mount, or a copy that is nobody's to change, is still to be read and verified.

1. SQLite reads a database with a log only beside an index that it writes. Where the folder cannot be written and there is no
   log, all that was committed is in the database: it is read as one that nobody changes (`immutable`), and nothing is
   made beside it.
2. A log that has bytes may have the last commits: without it other answers would be given, so that is refused.
3. That nobody changes it is looked at before each reading: a log that appears, or another size or time, ends it (opened.py).
4. What writes is refused by SQLite and by the queue, as for any database that cannot be written.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import apsw

from counterpoint.kernel.errors import StoreReadOnly

FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_AS_EFFECTIVE = os.access in os.supports_effective_ids


def is_still(database: Path) -> bool:
    """Return whether a database is there whose folder cannot be written; StoreReadOnly if it has a log."""
    folder = database.parent
    if not database.exists() or not database.stat().st_size:
        return False
    if os.access(folder, os.W_OK, effective_ids=_AS_EFFECTIVE):
        return False
    if has_log(database):
        raise StoreReadOnly(
            f"{folder} cannot be written, and {database.name}-wal beside the database may have the last commits",
            hint="Copy the database and its `-wal` into a folder that can be written, and read it there with `--db PATH`.",
            path=str(database),
        )
    return True


def has_log(database: Path) -> bool:
    """Return whether a database has a log with anything in it."""
    log = database.with_name(f"{database.name}-wal")
    return log.exists() and bool(log.stat().st_size)


def address(database: Path) -> str:
    """Return how SQLite is told to read a database as one that nobody changes."""
    return f"file:{quote(str(database.absolute()))}?immutable=1"

"""Puts a database in the place of one that nobody has open, in one step.

A process that went on with the old file would write what nobody reads any more. So

1. the log is brought into the old file and ended, which SQLite lets nobody do while another process has the file open; and that is done,
   like the rest, in the turn of a writer (queue.py). Whoever opens the file meanwhile begins its log in turn too, and looks then
   whether it is still the one he opened (opened.py);
2. the old file gets a second name, and then one rename puts the new one, whole and on the disk, at the first. Whatever moment this process is
   killed at, the first name leads to a whole ledger, the old one or the new one;
3. what SQLite cannot read has no log that could be brought into it. Its log keeps its content under another name, like one that was left
   without its database; it is moved while nobody has it, which a lock on byte 128 of the `-shm` file says.

This process must have closed the database itself: closing any descriptor of the `-shm` file would free the locks that SQLite holds for it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from counterpoint.kernel.durable import sync
from counterpoint.kernel.errors import StoreBusy, StoreCorrupt
from counterpoint.storage.sqlite.faults import translate_file_errors
from counterpoint.storage.sqlite.queue import WriterQueue

_OPENED: Final = 128
"""UNIX_SHM_DMS of SQLite: the byte that every open connection in WAL mode has locked."""

_PATIENCE: Final = 5.0


def replace_database(path: Path, prepared: Path, suffix: str) -> Path | None:
    """Move `prepared` to `path`, and what was there to its name with a suffix; answer that name.

    Raises StoreBusy while another process has the database open.
    """
    aside = path.with_name(f"{path.name}.{suffix}")
    # Before it gets the name: a power cut must not leave an empty database in its place.
    sync(prepared)
    with translate_file_errors(str(path)), _in_turn(path):
        had = path.exists()
        if not (had and _ends_log(path)):
            with _alone(path):
                _lay_aside(path, aside)
                # A cut of power must not leave this log beside another database.
                sync(path.parent)
        if had:
            _name_twice(path, aside)
        prepared.replace(path)
        sync(path.parent)
    return aside if had else None


def withdraw_database(path: Path, aside: Path) -> None:
    """Give a database that nobody has open another name, so that nobody opens it under the old one; StoreBusy, StoreCorrupt."""
    with translate_file_errors(str(path)), _in_turn(path):
        if not _ends_log(path):
            raise StoreCorrupt(f"{path} cannot be read")
        path.rename(aside)
        sync(path.parent)


def _ends_log(path: Path) -> bool:
    """Bring the log into the file, which then has none; False if it cannot be read. StoreBusy."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.pragma("journal_mode", "delete")
        finally:
            connection.close()
    except (apsw.BusyError, apsw.LockedError):
        raise _busy(path) from None
    except apsw.Error:
        return False
    return True


def _lay_aside(path: Path, aside: Path) -> None:
    for part in ("-wal", "-shm"):
        log = path.with_name(path.name + part)
        if log.exists():
            log.rename(aside.with_name(aside.name + part))


def _name_twice(path: Path, aside: Path) -> None:
    """Give a file a second name, durably; where files have one name only, a copy has it."""
    try:
        aside.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, aside)
        sync(aside)
    sync(path.parent)


@contextmanager
def _in_turn(path: Path) -> Generator[None]:
    with WriterQueue(path.with_name(f"{path.name}-queue"), patience=_PATIENCE).turn():
        yield


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Keep others from opening the database during the block; StoreBusy if one has it open."""
    try:
        descriptor = os.open(
            path.with_name(f"{path.name}-shm"), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        )
    except FileNotFoundError:
        yield
        return
    try:
        _take(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path) -> None:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _OPENED)
    # POSIX leaves it open which of the two says that a range is locked.
    except (BlockingIOError, PermissionError):
        raise _busy(path) from None


def _busy(path: Path) -> StoreBusy:
    return StoreBusy(
        f"another process has {path} open",
        hint="Run `counterpoint down`, close what else uses it, and repeat the call.",
    )

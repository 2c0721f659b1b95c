"""Puts a database in the place of one that nobody has open.

A process that went on with the old file would write what nobody reads any more. So the old file is
replaced only while (1) no process has it open: each holds a shared lock on byte 128 of the `-shm`
file, which is taken here for itself alone; and (2) no writer is in turn (queue.py). Whoever opens
the database meanwhile waits for the lock. The old file and its log keep their content under other
names. This process must have closed the database itself: closing any descriptor of the `-shm`
file would free the locks that SQLite holds for it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from counterpoint.kernel.errors import StoreBusy
from counterpoint.storage.sqlite.durable import sync
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
    with translate_file_errors(str(path)), _alone(path), _in_turn(path):
        had = path.exists()
        if had:
            path.rename(aside)
        for part in ("-wal", "-shm"):
            log = path.with_name(path.name + part)
            if log.exists():
                log.rename(aside.with_name(aside.name + part))
        prepared.rename(path)
        sync(path.parent)
    return aside if had else None


@contextmanager
def _in_turn(path: Path) -> Generator[None]:
    with WriterQueue(path.with_name(f"{path.name}-queue"), patience=_PATIENCE).turn():
        yield


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Keep others from opening the database during the block; StoreBusy if one has it open."""
    try:
        descriptor = os.open(path.with_name(f"{path.name}-shm"), os.O_RDWR | os.O_CLOEXEC)
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
        raise StoreBusy(
            f"another process has {path} open",
            hint="Run `counterpoint down`, close what else uses it, and repeat the call.",
        ) from None

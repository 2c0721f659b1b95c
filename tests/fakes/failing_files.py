"""A file system below SQLite in which one operation fails, as on a disk that is dying or full."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, Literal, get_args

import apsw
from typing_extensions import Buffer

Operation = Literal["open", "read", "write", "sync", "truncate", "size", "delete", "lock"]
OPERATIONS: Final = get_args(Operation)
_FAILS_AS: Final = {
    "open": apsw.CantOpenError,
    "write": apsw.FullError,
    "lock": apsw.BusyError,
}
"""What a system says of each; all others say that the disk does not answer."""


class FailingDisk(apsw.VFS):
    """The file system of this machine, until an operation is to fail.

    `counted`: how often each was asked for since `fail` or the beginning. `has_failed`: whether one was refused.
    """

    def __init__(self) -> None:
        """Take the place of what SQLite uses by itself."""
        self._lock = threading.Lock()
        self._operation: Operation | None = None
        self._place = 0
        self._lasts = False
        self.counted = dict.fromkeys(OPERATIONS, 0)
        self.has_failed = False
        super().__init__("failing-disk", "unix", makedefault=True)

    def fail(self, operation: Operation | None, place: int = 0, *, lasts: bool = False) -> None:
        """Refuse the operation of this kind that is at a place from now on, counted from 0, and those after it if it lasts."""
        with self._lock:
            self.counted = dict.fromkeys(OPERATIONS, 0)
            self.has_failed = False
            self._operation, self._place, self._lasts = operation, place, lasts

    def ask(self, operation: Operation) -> None:
        """Count an operation; raise what SQLite hears if it is to fail."""
        with self._lock:
            place = self.counted[operation]
            self.counted[operation] += 1
            is_hit = place == self._place or (self._lasts and place > self._place)
            if operation != self._operation or not is_hit:
                return
            self.has_failed = True
        raise _FAILS_AS.get(operation, apsw.IOError)(f"{operation} {place} is to fail")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 -- SQLite's name
        """Open a file, or fail."""
        self.ask("open")
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 -- SQLite's name
        """Delete a file, or fail."""
        self.ask("delete")
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(
        self, disk: FailingDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 -- SQLite's name
        self._disk.ask("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: Buffer, offset: int) -> None:  # noqa: N802 -- SQLite's name
        self._disk.ask("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 -- SQLite's name
        self._disk.ask("sync")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 -- SQLite's name
        self._disk.ask("truncate")
        super().xTruncate(newsize)

    def xFileSize(self) -> int:  # noqa: N802 -- SQLite's name
        self._disk.ask("size")
        return super().xFileSize()

    def xLock(self, level: int) -> None:  # noqa: N802 -- SQLite's name
        self._disk.ask("lock")
        super().xLock(level)


@contextmanager
def failing_disk() -> Generator[FailingDisk]:
    """Give every database that is opened in the block a disk that may fail."""
    disk = FailingDisk()
    try:
        yield disk
    finally:
        disk.fail(None)
        apsw.set_default_vfs("unix")
        disk.unregister()

"""Whether the log of a database is what SQLite has written into it.

SQLite knows from memory how far the log reaches, and does not look whether all of that is still there: it writes on behind a
hole. So a process looks itself, in its turn, before it writes and before it tells anybody that it has written:

1. the header and the last frame, that ends a commit and carries the checksum over all frames before it, are what they were after the
   last commit here; and after a commit, the header and the last frame have the same salts, and the frame before is still there;
2. where nobody else has committed in between, size and time of the last change are what they were too. If they are not, as
   after a commit that was given up, every checksum is calculated anew: some milliseconds for hundreds of pages;
3. a log that was begun anew by another process has another header, with a checksum of its own.

    header  magic, version, page size, number, two salts, checksum of these      32 bytes
    frame   page, pages of the database if it ends a commit, salts, checksum     24 bytes, then the page

Not seen is who writes between the looks around one commit into what that commit has written already, or into pages before the last frame;
nor who does the latter before a look while another process commits.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

_HEADER: Final = 32
_FRAME: Final = 24
_SUMMED: Final = 24
"""Bytes of the header that its checksum is over."""
_SALTS: Final = slice(16, 24)
_PAGE_SIZE: Final = slice(8, 12)
_MAGIC: Final = (0x377F0682, 0x377F0683)
_WORD: Final = 0xFFFFFFFF
_TRIES: Final = 100
"""How often the frames are asked for while others write the index at that moment."""
_Sum = tuple[int, int]


def count_frames(connection: apsw.Connection) -> int:
    """Return how many frames the log has; StoreBusy's cause, apsw.BusyError, if its index cannot be read for long.

    SQLite does not wait here, as it does in a transaction, while somebody writes the head of the index or mends what a
    killed program left of it.
    """
    for _ in range(_TRIES):
        with suppress(apsw.BusyError):
            return connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]
        # A reading waits until the index can be read.
        connection.execute("PRAGMA schema_version")
    return connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]


class OpenedLog:
    """The log of one database, which stays open."""

    # Looked at around each commit: what is called for that is written out.
    _frames: int
    _place: int
    _last: bytes
    _header: bytes

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        """Take the log as it is, while others may write."""
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._forget()
        self._written = self._found()
        self._version = connection.data_version()
        # Of a log that is begun anew at this moment header and frame are of different ones.
        if not self.has_landed(connection):
            self._forget()

    def close(self) -> None:
        """Let go of the file, on which SQLite has no locks that would go with it."""
        os.close(self._descriptor)

    def differs(self) -> bool:
        """Return whether it was written since the last look."""
        return self._found() != self._written

    def is_sound(self, connection: apsw.Connection) -> bool:
        """Return whether it is what was left; in a transaction that writes, before anything is written."""
        file, version = os.fstat(self._descriptor), connection.data_version()
        current, is_same = (file.st_size, file.st_mtime_ns), version == self._version
        header = os.pread(self._descriptor, _HEADER, 0)
        is_there = not self._frames or (
            header == self._header and os.pread(self._descriptor, _FRAME, self._place) == self._last
        )
        if is_same:
            is_sound = is_there and (current == self._written or self._is_summed())
        elif header == self._header:
            is_sound = is_there
        else:
            is_sound = not header or _is_header(header)
            self._forget()
        self._written, self._version = current, version
        return is_sound

    def has_landed(self, connection: apsw.Connection) -> bool:
        """Return whether what was committed just now is behind what was there."""
        try:
            frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        except apsw.BusyError:
            frames = count_frames(connection)
        header = os.pread(self._descriptor, _HEADER, 0)
        if header == self._header:
            goes_on = os.pread(self._descriptor, len(self._last), self._place) == self._last
        else:
            goes_on = frames <= 0 or _is_header(header)
        if frames <= 0:
            self._forget()
        else:
            size = _FRAME + int.from_bytes(header[_PAGE_SIZE], "big")
            self._frames, self._header = frames, header
            self._place = _HEADER + (frames - 1) * size
            self._last = os.pread(self._descriptor, _FRAME, self._place)
            goes_on = goes_on and self._last[8:16] == header[_SALTS]
        file = os.fstat(self._descriptor)
        self._written = file.st_size, file.st_mtime_ns
        self._version = connection.data_version()
        return goes_on

    def _forget(self) -> None:
        """Know of no commit: how many frames there were, where the last of them began, its head, and the header."""
        self._frames, self._place, self._last, self._header = 0, _HEADER, b"", b""

    def _found(self) -> tuple[int, int]:
        """Return the size of the file, and the time of its last change."""
        file = os.fstat(self._descriptor)
        return file.st_size, file.st_mtime_ns

    def _is_summed(self) -> bool:
        """Return whether each frame that is known carries the checksum over all before it."""
        header = self._header
        order = ">" if header[3:4] == b"\x83" else "<"
        total: _Sum = struct.unpack(">II", header[_SUMMED:]) if header else (0, 0)
        size = _FRAME + int.from_bytes(header[_PAGE_SIZE], "big")
        for number in range(self._frames):
            frame = os.pread(self._descriptor, size, _HEADER + number * size)
            total = _sum(frame[_FRAME:], order, _sum(frame[:8], order, total))
            if frame[8:_FRAME] != header[_SALTS] + struct.pack(">II", *total):
                return False
        return True


def _is_header(header: bytes) -> bool:
    """Return whether a log can begin so."""
    if len(header) < _HEADER or (magic := int.from_bytes(header[:4], "big")) not in _MAGIC:
        return False
    order = ">" if magic & 1 else "<"
    return struct.pack(">II", *_sum(header[:_SUMMED], order, (0, 0))) == header[_SUMMED:]


def _sum(data: bytes, order: str, total: _Sum) -> _Sum:
    """Return the checksum of SQLite over what came before and some more."""
    first_sum, second_sum = total
    # What is cut off has another checksum in any case.
    whole = data[: len(data) // 8 * 8]
    for first, second in struct.iter_unpack(f"{order}II", whole):
        first_sum = first_sum + first + second_sum & _WORD
        second_sum = second_sum + second + first_sum & _WORD
    return first_sum, second_sum

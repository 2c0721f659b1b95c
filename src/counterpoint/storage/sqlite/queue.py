"""A fair queue of writers across threads and processes, in one small file.

SQLite lets whoever asks at the lucky moment write next, so that under load a writer can wait for as
long as the others go on. Here they draw tickets and go in turn. The file lies beside the database:

    bytes 0–7      the next ticket, a big-endian integer; byte 0 also stands for the dispenser
    byte 16 + n    stands for ticket n; only its lock has a meaning, the file never grows to there

All locks are open-file-description locks: they belong to one `open`, so that two threads stand in
line like two processes, and the kernel frees them when the description goes, `kill -9` included.

To enter: (1) open the file anew; (2) lock the dispenser; (3) read ticket n and write n + 1;
(4) lock byte 16 + n; (5) free the dispenser; (6) wait until nobody locks a byte in 16 … 16 + n - 1.
Then it is your turn. To leave, free all and close the description.

Why it holds: by (2)–(5) a ticket's byte is locked before a higher ticket exists, so (6) sees every
earlier writer who has not left: turns come in the order of tickets, and each waits for at most those
ahead of it. A writer who dies, in turn or in line, loses its byte and is waited for no more. A
counter that is lost with the file, or begun anew since nobody can have drawn so many, can only break the order: what keeps writers apart is SQLite's own lock.

Waiting asks at intervals in proportion to the place in line, because a blocking lock has no time
limit. Where there are no such locks (macOS) a plain `flock` keeps writers apart without the order.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from counterpoint.kernel.errors import StoreBusy
from counterpoint.storage.sqlite.faults import translate_file_errors

_FLOCK: Final = "hhqqi4x"  # type, whence, start, length, process (0 for these locks)
# A length of 0 reaches to the end of the file, however far the tickets have come.
_FREE_ALL: Final = struct.pack(_FLOCK, fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
_FREE_DISPENSER: Final = struct.pack(_FLOCK, fcntl.F_UNLCK, os.SEEK_SET, 0, 1, 0)
_FIRST: Final = 16
_LAST: Final = 1 << 62
"""The last ticket: its byte, and the next one, can still be locked."""
_A_PLACE: Final = 150e-6
_LONGEST_NAP: Final = 5e-3
_DISPENSER_NAP: Final = 50e-6
HAS_TICKETS: Final = hasattr(fcntl, "F_OFD_SETLK")


class WriterQueue:
    """One queue; `tickets=False` asks for the plain lock."""

    def __init__(self, path: Path, *, patience: float, tickets: bool = HAS_TICKETS) -> None:
        """Name the file of the queue and how many seconds to wait for a turn."""
        self._path = path
        self._patience = patience
        self._tickets = tickets

    @contextmanager
    def turn(self) -> Generator[int]:
        """Wait for the turn and have it during the block; answers the ticket, 0 if there are none.

        Raises StoreBusy, which names the wait.
        """
        turn = self.enter()
        try:
            yield turn.ticket
        finally:
            self.leave(turn)

    def enter(self) -> Turn:
        """Wait for the turn and take it; StoreBusy, which names the wait.

        What the operating system refuses, a ticket on a full disk too, is an error of the store.
        """
        with translate_file_errors(str(self._path)):
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, 0o600)
            wait = _Wait(self._path, self._patience, time.monotonic() + self._patience)
            try:
                return Turn(descriptor, (_stand if self._tickets else _grab)(descriptor, wait))
            except BaseException:
                self.leave(Turn(descriptor, 0))
                raise

    def leave(self, turn: Turn) -> None:
        """Free all; closing alone would not, if a forked child held a copy of the description."""
        if self._tickets:
            fcntl.fcntl(turn.descriptor, fcntl.F_OFD_SETLK, _FREE_ALL)
        else:
            fcntl.flock(turn.descriptor, fcntl.LOCK_UN)
        os.close(turn.descriptor)


class Turn(NamedTuple):
    """The turn of one writer: the description that its locks belong to, and its ticket."""

    descriptor: int
    ticket: int


class _Wait(NamedTuple):
    """Naps between questions until the patience is spent."""

    path: Path
    patience: float
    until: float

    def nap(self, seconds: float) -> None:
        """Let others run for a moment; StoreBusy when the wait has been too long."""
        if time.monotonic() >= self.until:
            raise StoreBusy(
                f"no turn to write came within {self.patience:g} s; a writer holds {self.path}",
                waited_seconds=self.patience,
            )
        time.sleep(seconds)


def _stand(descriptor: int, wait: _Wait) -> int:
    """Draw a ticket, stand in line until every earlier one is gone, answer the ticket."""
    while not _lock(descriptor, 0, 1):
        wait.nap(_DISPENSER_NAP)
    ticket = int.from_bytes(os.pread(descriptor, 8, 0), "big")
    if ticket > _LAST:
        # Nobody has drawn so many: somebody wrote into the file.
        ticket = 0
    os.pwrite(descriptor, (ticket + 1).to_bytes(8, "big"), 0)
    _lock(descriptor, _FIRST + ticket, 1)
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _FREE_DISPENSER)
    while ticket and (ahead := _locked(descriptor, _FIRST, ticket)) is not None:
        # Whoever stands far behind asks seldom, so that a long line does not keep the machine busy.
        wait.nap(min(_A_PLACE * (_FIRST + ticket - ahead), _LONGEST_NAP))
    return ticket


def _grab(descriptor: int, wait: _Wait) -> int:
    """Take the plain lock as soon as it is free; there is no ticket."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait.nap(_A_PLACE)
        else:
            return 0


def _lock(descriptor: int, start: int, length: int) -> bool:
    """Lock a range; answer whether that was granted."""
    request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
    # POSIX leaves it open which of the two says that a range is locked.
    except (BlockingIOError, PermissionError):
        return False
    return True


def _locked(descriptor: int, start: int, length: int) -> int | None:
    """Return the start of the first lock of others in a range; None if there is none."""
    request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
    kind, _, first, _, _ = struct.unpack(
        _FLOCK, fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, request)
    )
    return None if kind == fcntl.F_UNLCK else first

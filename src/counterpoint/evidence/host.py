"""This process as others see it: a name, and a lock held while it lives.

A name is `<machine>-<26 letters>`: eight hex digits of the machine's name, and a fresh id. While the
process lives it holds the file `<folder>/<name>.lock` (flock), which the system lets go of however
the process ends.

Beside that it knows who was connected to it: the server of a database serves all that are on this machine. A
connection is known by the session that it came with, its seat. It is gone since it ended here, or since the kernel
said that the process ended which is held at its other end, or that of the agent behind it, whichever is first. What others need
of this is written beside the ledger (`core/model/presence.py`): with the first transaction of a connection, when it has
ended, and every few seconds that this process lives. Connections that end because this process does are not gone: without
it their processes decide. Of those that are gone the latest `MOST` are remembered.

A process is gone if and only if (1) it ran on this machine and its file is not there or can be
locked, or (2) it ran on another machine and was last heard of more than an hour ago.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import Final

from counterpoint.core.model.presence import Presence, ProcessMark, ServerBeat
from counterpoint.core.rules.presence import BEAT_SECONDS
from counterpoint.evidence.processes import has_ended, mark_of
from counterpoint.kernel.clock import Clock, Timestamp, elapsed_ms, later
from counterpoint.kernel.errors import StoreReadOnly
from counterpoint.kernel.frozen import mutable
from counterpoint.kernel.ids import Mint

SILENCE_MS: Final = 3_600_000
"""How long a process of another machine may say nothing and still be there."""
MOST: Final = 10_000
"""How many connections that are gone are remembered."""
ENDING: Final = 1.0
"""Seconds that who comes with the secret of another connection waits for the end of its process."""
_DIGITS: Final = 8


def _stays(seconds: float) -> bool:
    """Return False: without a process to ask, only the end of the connection counts."""
    del seconds
    return False


@mutable
class ServedConnection:
    """One connection, as its server knows it.

    has_ended: whether its process ended within so many seconds. seat: the session that it came with, once it has one.
    is_over: whether the connection has ended. process: what is at the other end. agent: the process behind that. origin: as in `Presence`.
    """

    has_ended: Callable[[float], bool] = _stays
    seat: str = ""
    is_over: bool = False
    process: ProcessMark = field(default_factory=ProcessMark)
    agent: ProcessMark = field(default_factory=ProcessMark)
    origin: str = ""

    def is_gone(self) -> bool:
        """Return whether nothing can come from it any more."""
        return self.is_over or self.has_ended(0)


class ProcessHost:
    """This process; it takes its lock when its name is first asked for."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        mint: Mint,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Remember where the locks lie; `seconds` tells a time that never goes back."""
        self._seconds = seconds
        self._folder = folder
        self._clock = clock
        self._mint = mint
        self._held = -1
        self._name = ""
        self._naming = threading.Lock()
        self.swept: set[str] = set()
        self._seating = threading.Lock()
        self._open: dict[str, list[ServedConnection]] = {}
        self._ended: OrderedDict[str, float] = OrderedDict()
        self._fresh: OrderedDict[str, str] = OrderedDict()
        self._heard: OrderedDict[str, float] = OrderedDict()
        self._written: dict[tuple[str, str], ServedConnection] = {}
        """Connections whose rows say that they are open, by project and seat."""
        self._departed_at: dict[str, Timestamp] = {}
        """When connections ended, as it was first answered."""
        self._origins: OrderedDict[str, str] = OrderedDict()
        self._server = ""
        self._beaten: float | None = None
        self._is_closing = False

    @property
    def name(self) -> str:
        """The name of this process; its lock is held from now on. StoreReadOnly."""
        with self._naming:
            self._name = self._name or self._taken()
        return self._name

    @property
    def server(self) -> str:
        """The name of this process in rows of connections, which needs no lock."""
        with self._naming:
            # Minting loads what a command that only looks has no use for.
            self._server = self._server or self._mint.mint("srv")
        return self._server

    def _taken(self) -> str:
        name = f"{_machine()}-{self._mint.mint('host').removeprefix('host_')}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._held = os.open(self._file(name), flags, 0o600)
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            raise StoreReadOnly(f"{self._folder} cannot be written: {fault.strerror}") from fault
        return name

    def is_gone(self, name: str, last: Timestamp) -> bool:
        """Return whether the process of a name has ended; the lock that it left is removed."""
        if name == self.name:
            return False
        # A lock of another machine says nothing here, even where the folder is shared.
        if name.partition("-")[0] != _machine():
            return elapsed_ms(last, self._clock.now()) > SILENCE_MS
        return _is_free(self._file(name))

    def fresh_session(self, capability: str, session: str) -> str:
        """Return the session that was first given for a capability here, which is this one if none was."""
        with self._seating:
            first = self._fresh.setdefault(capability, session)
            if len(self._fresh) > MOST:
                self._fresh.popitem(last=False)
            return first

    def take_seat(self, seat: str, presence: ServedConnection, *, alone: bool = False) -> bool:
        """Seat a connection by the session that it came with, unless it is over; answer whether it was seated.

        alone: only if nobody is there who has this seat. Who has it and is about to end is waited for, for a moment.
        """
        if alone:
            for connection in self._seated(seat):
                connection.has_ended(ENDING)
        with self._seating:
            if self._look(seat) and alone:
                return False
            if not presence.is_over:
                presence.seat = seat
                self._open.setdefault(seat, []).append(presence)
                self._ended.pop(seat, None)
                self._origins[seat] = presence.origin
                if len(self._origins) > MOST:
                    self._origins.popitem(last=False)
            return True

    def depart(self, presence: ServedConnection) -> None:
        """Know that a connection has ended: it is seated nowhere, now or later. This never waits."""
        with self._seating:
            # Whoever is cut off since this process ends is not gone for that.
            if self._is_closing and not presence.has_ended(0):
                # Its descriptor is closed next, and would say anything.
                presence.has_ended = _stays
                return
            presence.is_over = True
            self._look(presence.seat)

    def stop_noting(self) -> None:
        """Take no end of a connection from now on for the end of whoever is behind it: this process ends."""
        with self._seating:
            self._is_closing = True

    def hear(self, seat: str) -> None:
        """Note that who came with a session has called, over what keeps no connection between two calls."""
        with self._seating:
            self._heard[seat] = self._seconds()
            self._heard.move_to_end(seat)
            if len(self._heard) > MOST:
                self._heard.popitem(last=False)

    def is_here(self, seat: str, within: float) -> bool:
        """Return whether the connection that came with a session is open, or has called within so many seconds."""
        if self._seated(seat):
            return True
        with self._seating:
            heard = self._heard.get(seat)
        return heard is not None and self._seconds() - heard < within

    def absence(self, seat: str) -> float | None:
        """Return for how many seconds a connection of this process has been gone; None: it is there, or was never seen here."""
        with self._seating:
            self._look(seat)
            ended = self._ended.get(seat)
        return None if ended is None else self._seconds() - ended

    def departed_at(self, seat: str, now: Timestamp) -> Timestamp:
        """Return when a connection of this process that is gone ended, by the clock that says now; always the same."""
        with self._seating:
            if seat not in self._departed_at:
                seconds = self._seconds() - self._ended.get(seat, self._seconds())
                self._departed_at[seat] = later(now, -seconds)
            return self._departed_at[seat]

    def origin(self, seat: str) -> str:
        """Return where the connection of a session comes from; empty for one that was never seen here."""
        return self._origins.get(seat, "")

    def has_ended(self, process: ProcessMark) -> bool | None:
        """Return whether a process has ended; None where the kernel does not show it here."""
        return has_ended(process)

    def unwritten(self, project: str, seat: str, now: Timestamp) -> Presence | None:
        """Return the row of a connection that is open here, if no transaction has written it yet; else None."""
        with self._seating:
            connections = self._open.get(seat, ())
            if not connections or self._written.get((project, seat)) is connections[-1]:
                return None
            served = connections[-1]
        server = ServerBeat(name=self.server, process=mark_of(os.getpid()), beat_at=now)
        return Presence(seat=seat, origin=served.origin, process=served.process, server=server)

    def note_written(self, project: str, presence: Presence) -> None:
        """Know that the row of a connection is in the database."""
        with self._seating:
            connections = self._open.get(presence.seat) or [ServedConnection(is_over=True)]
            self._written[project, presence.seat] = connections[-1]

    def departures(self, project: str) -> list[str]:
        """Return the sessions of connections that are gone and whose rows in a project still say that they are open."""
        with self._seating:
            for seat, connections in list(self._open.items()):
                for connection in connections:
                    connection.is_over = connection.is_over or bool(has_ended(connection.agent))
                self._look(seat)
            seats = [seat for where, seat in self._written if where == project]
            return [seat for seat in seats if seat in self._ended]

    def note_departure(self, project: str, seat: str) -> bool:
        """Know that the row of a connection says its end; return False if its session is open again."""
        with self._seating:
            self._written.pop((project, seat), None)
            return seat not in self._open

    def next_beat(self, now: Timestamp) -> ServerBeat | None:
        """Return the sign of life that is due; None while none is, or no row of an open connection needs it."""
        with self._seating:
            is_due = self._beaten is None or self._seconds() - self._beaten >= BEAT_SECONDS
            if not (is_due and self._written):
                return None
            self._beaten = self._seconds()
        return ServerBeat(name=self.server, process=mark_of(os.getpid()), beat_at=now)

    def _seated(self, seat: str) -> list[ServedConnection]:
        with self._seating:
            return list(self._look(seat))

    def _look(self, seat: str) -> list[ServedConnection]:
        """Return who is there of those that came with a session; the caller holds the lock."""
        if seat not in self._open:
            return []
        connections = self._open[seat] = [
            connection for connection in self._open[seat] if not connection.is_gone()
        ]
        if not connections:
            del self._open[seat]
            self._note_end(seat)
        return connections

    def _note_end(self, seat: str) -> None:
        self._ended[seat] = self._seconds()
        self._departed_at.pop(seat, None)
        if len(self._ended) > MOST:
            forgotten, _ = self._ended.popitem(last=False)
            self._departed_at.pop(forgotten, None)

    def free_bytes(self) -> int:
        """Return the room on the disk; -1 where it cannot be asked."""
        try:
            import shutil

            return shutil.disk_usage(self._folder.parent).free
        except OSError:
            return -1

    def close(self) -> None:
        """Let go of the lock, as the end of the process would."""
        if self._held >= 0:
            os.close(self._held)
            self._held = -1
            with suppress(OSError):
                self._file(self._name).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.lock"


def _machine() -> str:
    from socket import gethostname

    return sha256(gethostname().encode()).hexdigest()[:_DIGITS]


def _is_free(file: Path) -> bool:
    """Return whether nobody holds a lock; then its file goes."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        # While the lock is held: nobody can have taken the name again by now.
        file.unlink(missing_ok=True)
        return True
    finally:
        os.close(descriptor)

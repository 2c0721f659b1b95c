"""What the core asks about its process, and about others that ran calls."""

from __future__ import annotations

from dataclasses import field
from typing import Protocol

from counterpoint.core.model.presence import Presence, ProcessMark, ServerBeat
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import mutable


class Host(Protocol):
    """The process that runs calls."""

    @property
    def name(self) -> str:
        """What no other process has as its name, at any time."""
        ...

    @property
    def swept(self) -> set[str]:
        """The projects in which this process has looked for calls that others left."""
        ...

    @property
    def server(self) -> str:
        """The name of this process in rows of connections."""
        ...

    def is_gone(self, name: str, last: Timestamp) -> bool:
        """Return whether the process of a name has ended; `last` is when it was last heard of."""
        ...

    def is_here(self, seat: str, within: float) -> bool:
        """Return whether the connection that came with a session is open, and served by this process.

        within: for how many seconds after its last call one counts as open that is none, as over HTTP.
        """
        ...

    def absence(self, seat: str) -> float | None:
        """Return for how many seconds a connection of this process has been gone; None: it is there, or was never seen here.

        seat: the session that it came with.
        """
        ...

    def departed_at(self, seat: str, now: Timestamp) -> Timestamp:
        """Return when a connection of this process that is gone ended, by the clock that says now; always the same."""
        ...

    def origin(self, seat: str) -> str:
        """Return where the connection of a session comes from, as in `Presence`; empty for one that was never seen here."""
        ...

    def has_ended(self, process: ProcessMark) -> bool | None:
        """Return whether a process has ended; None where the kernel does not show it here."""
        ...

    def unwritten(self, project: str, seat: str, now: Timestamp) -> Presence | None:
        """Return the row of a connection that is open here, if no transaction has written it yet; else None."""
        ...

    def note_written(self, project: str, presence: Presence) -> None:
        """Know that the row of a connection is in the database."""
        ...

    def departures(self, project: str) -> list[str]:
        """Return the sessions of connections that are gone and whose rows in a project still say that they are open."""
        ...

    def note_departure(self, project: str, seat: str) -> bool:
        """Know that the row of a connection says its end; return False if its session is open again."""
        ...

    def next_beat(self, now: Timestamp) -> ServerBeat | None:
        """Return the sign of life that is due; None while none is, or no row of an open connection needs it."""
        ...

    def free_bytes(self) -> int:
        """Return the room on the disk that the ledger is on; -1 if nobody knows."""
        ...


@mutable
class OnlyHost:
    """A process that knows of no other one."""

    name: str = "here"
    server: str = "here"
    swept: set[str] = field(default_factory=set[str])

    def is_gone(self, name: str, last: Timestamp) -> bool:
        """Return no: nobody can tell."""
        del name, last
        return False

    def is_here(self, seat: str, within: float) -> bool:
        """Return no: it serves nobody."""
        del seat, within
        return False

    def absence(self, seat: str) -> float | None:
        """Return that nobody can tell."""
        del seat
        return None

    def departed_at(self, seat: str, now: Timestamp) -> Timestamp:
        """Return now: nobody has left."""
        del seat
        return now

    def origin(self, seat: str) -> str:
        """Return that nobody knows."""
        del seat
        return ""

    def has_ended(self, process: ProcessMark) -> bool | None:
        """Return that nobody can tell."""
        del process
        return None

    def unwritten(self, project: str, seat: str, now: Timestamp) -> Presence | None:
        """Return that nobody is connected."""
        del project, seat, now
        return None

    def note_written(self, project: str, presence: Presence) -> None:
        """Do nothing: nobody is connected."""

    def departures(self, project: str) -> list[str]:
        """Return that nobody has left."""
        del project
        return []

    def note_departure(self, project: str, seat: str) -> bool:
        """Return True: nobody comes again."""
        del project, seat
        return True

    def next_beat(self, now: Timestamp) -> ServerBeat | None:
        """Return that none is due."""
        del now
        return None

    def free_bytes(self) -> int:
        """Return that nobody knows."""
        return -1

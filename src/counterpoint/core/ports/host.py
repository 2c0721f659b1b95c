"""What the core asks about its process, and about others that ran calls."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import Protocol

from counterpoint.core.model.identity import Connection
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

    def is_gone(self, name: str, last: Timestamp) -> bool:
        """Return whether the process of a name has ended; `last` is when it was last heard of."""
        ...

    def is_here(self, seat: str, within: float) -> bool:
        """Return whether the connection that came with a session is open, and served by this process.

        within: for how many seconds after its last call one counts as open that is none, as over HTTP.
        """
        ...

    def absence(self, seat: str, behind: Collection[Connection] = ()) -> float | None:
        """Return for how many seconds a connection has been gone; None: it is there, or nobody can tell.

        seat: the session that it came with. behind: the agent's processes that it came from, as far as they are known: of whom
        this process never saw, the end of all of them counts, from when it is asked first.
        """
        ...

    def free_bytes(self) -> int:
        """Return the room on the disk that the ledger is on; -1 if nobody knows."""
        ...


@mutable
class OnlyHost:
    """A process that knows of no other one."""

    name: str = "here"
    swept: set[str] = field(default_factory=set[str])

    def is_gone(self, name: str, last: Timestamp) -> bool:
        """Return no: nobody can tell."""
        del name, last
        return False

    def is_here(self, seat: str, within: float) -> bool:
        """Return no: it serves nobody."""
        del seat, within
        return False

    def absence(self, seat: str, behind: Collection[Connection] = ()) -> float | None:
        """Return that nobody can tell."""
        del seat, behind
        return None

    def free_bytes(self) -> int:
        """Return that nobody knows."""
        return -1

"""Places for connections over HTTP, and who gives way when there are none.

Rules: (1) There are so many places as the process has descriptors for, and what agents connect to has its own. (2) Nobody's
address takes all of them (protocol/limits/shares.py). (3) Where an address has no place left, the one of its connections
that has been waiting longest without a request gives way to the next; if all are in the middle of one, the next is refused.
So silent connections cost others nothing, however many there are and wherever they come from. (4) A head must have come
`HEAD` seconds after the connection, or after the first letter of it.
"""

from __future__ import annotations

import resource
from typing import Final, Protocol

from counterpoint.protocol.limits.shares import Shares

MOST_CONNECTIONS: Final = 1024
HEAD: Final = 10.0
"""Seconds until the head of a request must have come."""
_OWN: Final = 100
"""Descriptors that the server needs for itself."""
_PART: Final = 4
"""Of what is left so many times less is for this: agents have a third of it, with two for each."""


class Guest(Protocol):
    """A connection that has a place."""

    address: str

    def give_way(self) -> None:
        """End at once."""


class Places:
    """Who has a place, and which of them wait without a request."""

    def __init__(self, size: int = 0) -> None:
        """Begin with all places free; without a size with as many as there are descriptors for."""
        self._shares = Shares(size or _size())
        self._seated: set[Guest] = set()
        self._waiting: dict[str, dict[Guest, None]] = {}

    def take(self, guest: Guest) -> bool:
        """Give a connection a place, if need be that of one that waits; answer whether there was one."""
        waiting = self._waiting.get(guest.address)
        if not self._shares.may_take(guest.address) and waiting:
            longest = next(iter(waiting))
            self.leave(longest)
            longest.give_way()
        if not self._shares.take(guest.address):
            return False
        self._seated.add(guest)
        self.wait(guest)
        return True

    def wait(self, guest: Guest) -> None:
        """Note that a connection has no request."""
        if guest in self._seated:
            self._waiting.setdefault(guest.address, {})[guest] = None

    def work(self, guest: Guest) -> None:
        """Note that a connection has a request."""
        waiting = self._waiting.get(guest.address, {})
        waiting.pop(guest, None)
        if not waiting:
            self._waiting.pop(guest.address, None)

    def leave(self, guest: Guest) -> None:
        """Take the place of a connection back, if it has one."""
        if guest in self._seated:
            self.work(guest)
            self._seated.discard(guest)
            self._shares.give_back(guest.address)


def _size() -> int:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(4, (most - _OWN) // _PART))

"""When the leases of those who are at work are to be renewed.

Rule 1: each call of a connection renews what its sessions hold, before the tool runs and whatever the tool is. Rule 2: only a lease
that runs and has no more than half left is renewed, with one entry for each session. Rule 3: it is extended by what it was
given first, and by no more than is usual; it is never shortened. Rule 4: when that is due next lies in memory, so that a
call costs no look at the store; whoever takes something up is looked for anew, and everybody after an eighth of the usual lease, since
another call may be taking something up just now. Rule 5: what a paused session holds is left alone, and what has
lapsed too: others may have begun beside it. Rule 6: what a clock that was ahead has stamped is stamped anew by the next call.
"""

from __future__ import annotations

import threading
from typing import Final

from counterpoint.core.model.sessions import Claim
from counterpoint.kernel.clock import Timestamp, later

_MOST: Final = 10_000


class Leases:
    """When each connection's leases are due, by the session with which it came."""

    def __init__(self) -> None:
        """Know of nobody yet."""
        self._due: dict[str, tuple[Timestamp, Timestamp]] = {}
        self._lock = threading.Lock()

    def is_due(self, seat: str, now: Timestamp) -> bool:
        """Return whether a lease of a connection may have to be renewed."""
        span = self._due.get(seat)
        # One that was noted later than now was noted by a clock that has been set back since.
        return span is None or not span[0] <= now < span[1]

    def expect(self, seat: str, due: Timestamp, now: Timestamp, usual: int) -> None:
        """Remember when a connection's next lease is due, for a while. usual: the seconds of a lease."""
        with self._lock:
            self._due[seat] = now, min(due, later(now, usual / 8))
            if len(self._due) > _MOST:
                del self._due[next(iter(self._due))]

    def forget(self, seat: str) -> None:
        """Know nothing of a connection: what it holds has changed."""
        with self._lock:
            self._due.pop(seat, None)


def due_at(claim: Claim, usual: int) -> Timestamp:
    """Return when half of a lease is over. usual: the seconds of one that nobody chose."""
    return later(claim.leased_until, -min(usual, claim.seconds) // 2)


def extend_lease(claim: Claim, now: Timestamp, usual: int) -> Timestamp:
    """Return until when a lease runs that is renewed now."""
    return max(claim.ends(now), later(now, min(usual, claim.seconds)))

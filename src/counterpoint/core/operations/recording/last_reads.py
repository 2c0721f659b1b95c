"""When somebody last read, so that approvals cover only what they can have read.

Rule 1: each call of a connection that reads is a look, known by the session with which the connection came.
Rule 2: what counts for a call is the look before it. Rule 3: it is kept in memory, for the connections that were
heard last: of others nothing is known, and nothing refused.
"""

from __future__ import annotations

import threading
from typing import Final

from counterpoint.kernel.clock import Timestamp

_MOST: Final = 512


class LastReads:
    """The last read of each connection."""

    def __init__(self) -> None:
        """Know of nobody yet."""
        self._last: dict[str, Timestamp] = {}
        self._lock = threading.Lock()

    def look(self, seat: str, now: Timestamp) -> Timestamp | None:
        """Return when a connection looked before, and keep that it does now."""
        with self._lock:
            before = self._last.pop(seat, None)
            self._last[seat] = now
            if len(self._last) > _MOST:
                del self._last[next(iter(self._last))]
            return before

"""Notices what other processes commit to a file: asks SQLite at intervals.

SQLite tells nobody of a commit, but its `data_version` is another number after each one of another
connection. It is asked on a connection of its own, at intervals that grow while nothing happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from counterpoint.storage.waiters import Waiters

SHORTEST_LOOK: Final = 0.05
LONGEST_LOOK: Final = 0.25
_GROWTH: Final = 1.5


class PollingWaiters(Waiters):
    """Those who wait for entries of a database in a file, or in the memory of this process."""

    def __init__(self, open_version: Callable[[], Callable[[], int]] | None) -> None:
        """Prepare.

        open_version: opens what returns another number after others have committed; None if there
        are no others.
        """
        super().__init__()
        self._open_version = open_version
        self._version: Callable[[], int] | None = None
        self._seen = 0

    def _watch(self, wakes: int, until: float) -> bool:
        pause = SHORTEST_LOOK
        while self._is_quiet(wakes) and (seconds_left := until - time.monotonic()) > 0:
            if self._open_version is None:
                self._changed.wait(seconds_left)
            elif self._has_changed(self._open_version):
                return True
            else:
                # Waiting gives the lock up, so that a commit of this process ends it at once.
                self._changed.wait(min(pause, seconds_left))
                # Many processes may wait for hours at a ledger in which nothing happens.
                pause = min(pause * _GROWTH, LONGEST_LOOK)
        return False

    def _has_changed(self, open_version: Callable[[], Callable[[], int]]) -> bool:
        """Return whether others have committed since the last look; the first look is one too."""
        if self._version is None:
            self._version = open_version()
            # What was committed before this look may have been missed by whoever looked before it.
            self._seen = self._version()
            return True
        seen, self._seen = self._seen, self._version()
        return seen != self._seen

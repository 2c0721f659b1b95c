"""Turns for the threads of one process, given in the order in which they came."""

from __future__ import annotations

import threading
from collections import deque


class FairSemaphore:
    """At most so many have a turn at once; whoever gives one up hands it to the first in line."""

    def __init__(self, most: int) -> None:
        """Have so many turns to give."""
        self._free = most
        self._alone = threading.Lock()
        self._line: deque[threading.Lock] = deque()

    def take(self, patience: float) -> bool:
        """Return whether a turn came within so many seconds."""
        with self._alone:
            if self._free:
                self._free -= 1
                return True
            own_lock = threading.Lock()
            # Taken already, so that to take it once more is to sleep until somebody hands a turn
            # over.
            own_lock.acquire()
            self._line.append(own_lock)
        if own_lock.acquire(timeout=patience):
            return True
        with self._alone:
            if own_lock in self._line:
                self._line.remove(own_lock)
                return False
        return True  # it was handed over at the last moment

    def give(self) -> None:
        """Give a turn up."""
        with self._alone:
            if self._line:
                self._line.popleft().release()
            else:
                self._free += 1

"""Waking those who wait for entries, of this process and of others.

A commit of this process rings. A commit of another process is noticed by the lookout: one of those
who wait asks SQLite's `data_version`, on a connection of its own, at intervals that grow while
nothing happens, and rings for all. Nobody looks while nobody waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

SHORTEST_LOOK: Final = 0.05
LONGEST_LOOK: Final = 0.25
_GROWTH: Final = 1.5


class Notifier:
    """What rings after each commit."""

    def __init__(self, watch: Callable[[], Callable[[], int]] | None) -> None:
        """Prepare.

        watch: opens what answers another number after others have committed; None if there are none.
        """
        self._watch = watch
        self._version: Callable[[], int] | None = None
        self._seen = 0
        self._changed = threading.Condition()
        self._rung = 0
        self._has_lookout = False
        self._is_closed = False

    def ring(self) -> None:
        """Wake everybody who waits."""
        with self._changed:
            self._rung += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Wake everybody for the last time."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def wait(self, is_there: Callable[[], bool], timeout: float) -> bool:
        """Wait until it is there; answer whether it is, False too when the bell was closed."""
        until = time.monotonic() + timeout
        while not self._is_closed:
            rung = self._rung
            if is_there():
                return True
            if time.monotonic() >= until:
                return False
            self._sleep(rung, until)
        return False

    def _sleep(self, rung: int, until: float) -> None:
        """Sleep until the bell rings after the count, as the lookout if there is none."""
        with self._changed:
            while self._is_quiet(rung) and (left := until - time.monotonic()) > 0:
                if self._watch is None or self._has_lookout:
                    self._changed.wait(left)
                else:
                    self._look_out(self._watch, rung, until)

    def _is_quiet(self, rung: int) -> bool:
        return self._rung == rung and not self._is_closed

    def _look_out(self, watch: Callable[[], Callable[[], int]], rung: int, until: float) -> None:
        """Look at intervals, without the lock; another one takes over at the end."""
        self._has_lookout = True
        pause = SHORTEST_LOOK
        try:
            while self._is_quiet(rung) and (left := until - time.monotonic()) > 0:
                if self._has_changed(watch):
                    self._rung += 1
                else:
                    self._changed.wait(min(pause, left))
                    pause = min(pause * _GROWTH, LONGEST_LOOK)
        finally:
            self._has_lookout = False
            self._changed.notify_all()

    def _has_changed(self, watch: Callable[[], Callable[[], int]]) -> bool:
        """Return whether others have committed since the last look; the first look is one too."""
        if self._version is None:
            self._version = watch()
            # What was committed before this look may have been missed by whoever looked before it.
            self._seen = self._version()
            return True
        seen, self._seen = self._seen, self._version()
        return seen != self._seen

"""Waiting for entries: of all threads that wait, one watches for the others.

Rules: (1) nobody watches while nobody waits; (2) one thread watches at a time, and when it leaves, another
that still waits goes on; (3) whoever is woken looks for itself whether what it waits for is there. So a
wake too many does no harm, and a database may report that something was committed without saying what.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from counterpoint.kernel.errors import Unavailable


class Waiters(ABC):
    """The threads of this process that wait for entries of one database."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._changed = threading.Condition()
        self._wakes = 0
        self._is_watched = False
        self._is_closed = False

    def wake(self) -> None:
        """Have everybody look again."""
        with self._changed:
            self._wakes += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Wake everybody for the last time."""
        with self._changed:
            self._is_closed = True
            # Whoever watches is using what is watched with, and lets go of it himself.
            if not self._is_watched:
                self._stop_watching()
            self._changed.notify_all()

    def wait(self, is_there: Callable[[], bool], timeout: float) -> bool:
        """Wait until it is there; return whether it is, False too when the store was closed."""
        until = time.monotonic() + timeout
        while not self._is_closed:
            # Counted before the look: what is committed after it wakes us from the sleep below.
            wakes = self._wakes
            try:
                if is_there():
                    return True
            except Unavailable:
                # It was closed between our look at that and the one at the database.
                if self._is_closed:
                    return False
                raise
            if time.monotonic() >= until:
                return False
            self._sleep(wakes, until)
        return False

    def _sleep(self, wakes: int, until: float) -> None:
        """Sleep until somebody wakes us after the count; watch meanwhile if nobody does."""
        with self._changed:
            while self._is_quiet(wakes) and (seconds_left := until - time.monotonic()) > 0:
                if self._is_watched:
                    self._changed.wait(seconds_left)
                else:
                    self._watch_for_all(wakes, until)

    def _is_quiet(self, wakes: int) -> bool:
        return self._wakes == wakes and not self._is_closed

    def _watch_for_all(self, wakes: int, until: float) -> None:
        self._is_watched = True
        try:
            came = self._watch(wakes, until)
            self._wakes += came
        except BaseException:
            self._stop_watching()
            raise
        finally:
            self._is_watched = False
            if self._is_closed:
                self._stop_watching()
            self._changed.notify_all()

    @abstractmethod
    def _watch(self, wakes: int, until: float) -> bool:
        """Return whether others may have committed, while it is quiet and until a time at most.

        The lock is held at the beginning and at the end.
        """

    def _stop_watching(self) -> None:  # noqa: B027 a database with nothing to let go of leaves it so
        """Let go of what is watched with."""

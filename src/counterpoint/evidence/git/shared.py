"""One look at a time, shared by everybody who asked before it began.

Rule 1: at most one look is under way. Whoever asks meanwhile waits for the next one, which begins when
the present one ends; all who wait share it.
Rule 2: so nobody gets a look that began before he asked: what was done before asking is seen.
Rule 3: a look that fails fails for all who share it, and for nobody else.

The thread of the first who waits does the looking, so no thread is made and nothing is timed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedLook(Generic[T]):
    """What callers of several threads look at together."""

    def __init__(self, look: Callable[[], T]) -> None:
        """Remember how to look, and do not look yet."""
        self._look = look
        self._lock = threading.Lock()
        self._present: Future[T] | None = None
        self._next: Future[T] | None = None

    def take(self) -> T:
        """Return what a look that began after this call found; raise what it raised."""
        with self._lock:
            future, before = self._next, self._present
            is_first = future is None
            if future is None:
                future = self._next = Future()
        if is_first:
            if before is not None:
                # Only waited for: whether that look failed is the business of those who share it.
                before.exception()
            self._begin(future)
        return future.result()

    def _begin(self, future: Future[T]) -> None:
        with self._lock:
            # From here on it is too late to share this one.
            self._present, self._next = future, None
        try:
            future.set_result(self._look())
        except BaseException as fault:
            # Whatever ends it must not leave the others waiting.
            future.set_exception(fault)
            raise
        finally:
            with self._lock:
                # What was found can be large, and is of no use to whoever asks from now on.
                self._present = None if self._present is future else self._present

"""Follows the ledger in a thread for the live view.

The thread sleeps in the store until somebody commits, so that nothing is read while nothing happens; leases are looked at
again after a while. What cannot be read is told, and tried again: a database that is away comes back by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from counterpoint.cli.context import CommandContext
from counterpoint.cli.phrases import PHRASES
from counterpoint.cli.top.snapshot import Snapshot, read
from counterpoint.kernel.errors import CounterpointError

_SLICE: Final = 1.0
"""Seconds that one wait lasts at most: so long the end of the view waits for the thread."""
_SLICES: Final = 10
"""Waits after which leases and connections are looked at again although nothing was written."""
_PAUSE: Final = 0.2
"""Seconds between two looks at a ledger in which much happens."""
_AGAIN: Final = 2.0
"""Seconds until what could not be read is tried again."""

_STOPPED: Final = "The view has stopped reading the ledger: leave it with q, and start it again."


class ProjectWatch:
    """A thread that reads the project whenever its ledger grows."""

    def __init__(
        self,
        context: CommandContext,
        seen: Callable[[Snapshot], object],
        lost: Callable[[str], object],
    ) -> None:
        """Prepare. seen: told each snapshot; lost: told in words why there is none. Both are called in the thread."""
        self._context, self._seen, self._lost = context, seen, lost
        self._ended, self._asked = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name="top", daemon=True)

    def begin(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def look(self) -> None:
        """Have the project read again soon: something was done here."""
        self._asked.set()

    def end(self) -> None:
        """End the thread, and wait for that."""
        self._ended.set()
        self._asked.set()
        if self._thread.is_alive():
            self._thread.join()

    def _follow(self) -> None:
        try:
            while not self._ended.is_set():
                self._look()
        finally:
            if not self._ended.is_set():
                self._lost(_STOPPED)

    def _look(self) -> None:
        """Read the project once, and wait until that is worth while again."""
        self._asked.clear()
        try:
            snapshot = read(self._context)
            self._seen(snapshot)
            self._wait(snapshot.last)
        except CounterpointError as fault:
            self._lost(f"{fault.message}. {fault.hint_in(PHRASES)}")
            self._ended.wait(_AGAIN)

    def _wait(self, last: int) -> None:
        """Wait until the ledger has more than this, or something else asks for a look."""
        core = self._context.core
        for _ in range(_SLICES):
            if self._asked.is_set() or core.feed.entries(last, 1, _SLICE):
                break
        self._ended.wait(_PAUSE)

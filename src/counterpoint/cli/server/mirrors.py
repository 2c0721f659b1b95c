"""A thread that keeps files beside the ledger, and applies edits of them.

It looks twice a second, and rests as long as a look took: so a file is at most a second behind an answer, and any number
of changes between two looks are one write. Where a look has left new files to the next one, that follows after such a rest alone. What it takes in from a file is the word of an agent that nothing attests. Nothing of it is loaded, and
nothing lies anywhere, in a project that has no folder for such files and asks for none. What fails is told once, and tried again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from counterpoint.app import App
from counterpoint.cli.checks.mirrored import look
from counterpoint.kernel.errors import CounterpointError

GLANCE: Final = 0.5
"""Seconds between two looks."""
PATIENCE: Final = 5.0
"""Seconds that the end waits for the last look."""

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Mirrors:
    """Keeps the files of the ledgers that are used through this process."""

    _looks: dict[str, Callable[[], bool]] = field(
        init=False, default_factory=dict[str, Callable[[], bool]]
    )
    _over: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread | None = field(init=False, default=None)
    _guard: threading.Lock = field(init=False, default_factory=threading.Lock)
    _said: str = field(init=False, default="")

    def tend(self, app: App) -> None:
        """Keep the files of a project from now on."""
        if app.project in self._looks:
            return
        with self._guard:
            self._looks.setdefault(app.project, lambda: look(app))
            if self._thread is None and not self._over.is_set():
                self._thread = threading.Thread(target=self._run, name="mirrors", daemon=True)
                self._thread.start()

    def close(self) -> bool:
        """Look once more, and end. Return whether its thread has ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        pause = GLANCE
        while not self._over.wait(pause):
            began = time.monotonic()
            least = 0.0 if self.look() else GLANCE
            pause = max(least, time.monotonic() - began)
        self.look()

    def look(self) -> bool:
        """Look at all of them; return whether new files are left to the next look."""
        is_left = False
        for check_files in list(self._looks.values()):
            try:
                is_left = check_files() or is_left
            except (CounterpointError, OSError) as fault:
                hint = fault.hint if isinstance(fault, CounterpointError) else ""
                if str(fault) != self._said:
                    logger.warning("Files of specs are not kept: %s %s", fault, hint)
                self._said = str(fault)
        return is_left

"""A thread that has texts embedded, once somebody has searched.

It looks every second whether anybody has searched and anything was written since, and then works in slices, resting between
two for as long as one took: so no writer waits for longer than a slice is written, and answers keep half of a processor.
Nothing of a model is loaded before the first search. What fails is told once, and tried again with the next look.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.coordinator import Core
from counterpoint.kernel.errors import CounterpointError

GLANCE: Final = 1.0
"""Seconds between two looks."""
PATIENCE: Final = 5.0
"""Seconds that the end waits for the slice that is under way."""

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class TextIndexing:
    """Has the texts of the ledgers embedded that are used through this process."""

    _cores: dict[str, Core] = field(init=False, default_factory=dict[str, Core])
    _seen: dict[str, int] = field(init=False, default_factory=dict[str, int])
    _over: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread | None = field(init=False, default=None)
    _said: str = field(init=False, default="")

    def tend(self, project: str, core: Core) -> None:
        """Have the texts of a project embedded from now on."""
        self._cores[project] = core
        if self._thread is None and not self._over.is_set():
            self._thread = threading.Thread(target=self._run, name="indexing", daemon=True)
            self._thread.start()

    def close(self) -> bool:
        """End after the slice that is under way. Return whether its thread has ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        return self._thread is None or not self._thread.is_alive()

    def _run(self) -> None:
        while not self._over.wait(GLANCE):
            for project in list(self._cores):
                self.look(project)

    def look(self, project: str) -> None:
        """Have what waits of a project embedded, unless nothing was written since that was done last."""
        core = self._cores[project]
        if not core.embedding.has_searches:
            return
        try:
            last = core.feed.last()
            if self._seen.get(project) == last:
                return
            while not self._over.is_set():
                began = time.monotonic()
                if not core.embedding.advance():
                    self._seen[project] = last
                    return
                self._over.wait(time.monotonic() - began)
        except CounterpointError as fault:
            if fault.message != self._said:
                logger.warning(
                    "Texts are found by their words alone: %s %s", fault.message, fault.hint
                )
            self._said = fault.message

"""A thread that sends new heads to witnesses.

One of them may take long to answer. A head that was signed is given to them at once if they heard of none for a minute, else when the minute is over,
and at the end of the server. Who could not be reached is asked again after ten minutes, or with the next head.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.coordinator import Core
from counterpoint.kernel.errors import CounterpointError

PAUSE: Final = 60.0
"""Seconds between two heads that witnesses are given."""
AGAIN: Final = 600.0
"""Seconds until one who could not be reached is asked again."""

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Witnesses:
    """Tells the witnesses of the ledgers that are written through this process."""

    _cores: dict[str, Core] = field(init=False, default_factory=dict[str, Core])
    _due: threading.Event = field(init=False, default_factory=threading.Event)
    _over: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread | None = field(init=False, default=None)
    _said: set[str] = field(init=False, default_factory=set[str])

    def tend(self, project: str, core: Core) -> None:
        """Tell the witnesses of a project from now on; the first `wake` begins."""
        self._cores[project] = core

    def wake(self) -> None:
        """Let them hear of what was signed. Called by one thread."""
        self._due.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="witnesses", daemon=True)
            self._thread.start()

    def close(self, patience: float) -> None:
        """Tell them all that was signed, and end; who answers slowly is not waited for longer than this."""
        # In this order: whoever sees the end must see as well that there is something to tell.
        self._due.set()
        self._over.set()
        if self._thread is not None:
            self._thread.join(patience)

    def _run(self) -> None:
        has_failed = False
        while not self._over.is_set():
            self._due.wait(AGAIN if has_failed else None)
            self._due.clear()
            has_failed = self.tell()
            self._over.wait(PAUSE)
        if self._due.is_set():
            self.tell()

    def tell(self) -> bool:
        """Give each witness what it lacks; answers whether one of them could not be told."""
        faults = [fault for core in list(self._cores.values()) for fault in _told(core)]
        for fault in faults:
            if fault.message not in self._said:
                logger.warning("A witness was not told: %s %s", fault.message, fault.hint)
        self._said = {fault.message for fault in faults}
        return bool(faults)


def _told(core: Core) -> list[CounterpointError]:
    try:
        comparison = core.witnessing.tell()
    except CounterpointError as fault:
        return [fault]
    return [*comparison.faults, *comparison.remarks]

"""A thread that has new entries signed without being asked.

A ledger is signed as soon as (1) 256 entries wait, or (2) a session has ended, or (3) something has waited
for 10 seconds, or (4) the server ends. What connections and credentials wrote is signed by them about every
second, and for the first time after three: their signatures vouch only for what this process wrote, so what it did not
come to sign before it was killed stays unsigned. Every ten seconds it takes away what is left of large plans whose maker is gone. No call waits for this, and nothing of it is loaded before the first
entry waits. If the signer refuses or is away, it is asked again every minute: what waits only grows. Whoever ends
it waits for a moment only, for a store that hangs must not keep a server from leaving.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from counterpoint.cli.server.events import HookEvents
from counterpoint.cli.server.indexing import TextIndexing
from counterpoint.cli.server.mirrors import Mirrors
from counterpoint.cli.server.researching import ResearchThreads
from counterpoint.cli.server.witnesses import Witnesses
from counterpoint.core.coordinator import Core
from counterpoint.kernel.errors import CounterpointError

MANY: Final = 256
"""Entries that are signed at once when so many wait."""
LONG: Final = 10.0
"""Seconds that an entry waits at most."""
GLANCE: Final = 1.0
"""Seconds between two looks."""
SETTLE: Final = 3.0
"""Seconds until the first signature of a writer: loading what signs would slow the first calls."""
AGAIN: Final = 60.0
"""Seconds until a signer that refused is asked again."""
PATIENCE: Final = 5.0
"""Seconds that the end waits for the last signature."""
_ENDS: Final = ("session.abandoned", "session.ended", "session.sealed")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LedgerState:
    """What of one ledger waits, as it was at the last look; -1: nobody has looked yet."""

    core: Core
    signed: int = -1
    seen: int = -1
    since: float | None = None
    written: float | None = None
    has_vouched: bool = False
    not_before: float = 0.0
    tidied: float | None = None
    why: str = ""
    has_forgotten: bool = False
    why_silent: str = ""


@dataclass(kw_only=True)
class Checkpoints:
    """Looks after the ledgers that are written through this process.

    witnesses: hear of what was signed. mirrors: keeps files beside them. indexing: has what they say found by its meaning.
    research: works on deep research. events: writes down what hooks report.
    """

    now: Callable[[], float] = time.monotonic
    witnesses: Witnesses = field(default_factory=Witnesses)
    mirrors: Mirrors = field(default_factory=Mirrors)
    indexing: TextIndexing = field(default_factory=TextIndexing)
    research: ResearchThreads = field(default_factory=ResearchThreads)
    events: HookEvents = field(default_factory=HookEvents)
    _ledgers: dict[str, LedgerState] = field(init=False, default_factory=dict[str, LedgerState])
    _over: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread | None = field(init=False, default=None)
    _guard: threading.Lock = field(init=False, default_factory=threading.Lock)

    def tend(self, project: str, core: Callable[[], Core]) -> None:
        """Have a project's ledger signed from now on."""
        if project in self._ledgers:
            return
        with self._guard:
            waiting = self._ledgers.setdefault(project, LedgerState(core()))
            self.witnesses.tend(project, waiting.core)
            self.indexing.tend(project, waiting.core)
            if self._thread is None and not self._over.is_set():
                self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
                self._thread.start()

    def close(self) -> bool:
        """Have all that waits signed, and end; calls may be under way. Return whether its thread has ended."""
        # What files and hooks say is written first, so that it is signed too.
        has_ended = self.events.close()
        has_ended = self.research.close() and has_ended
        has_ended = self.mirrors.close() and self.indexing.close() and has_ended
        self._over.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        self.witnesses.close(PATIENCE)
        return has_ended and (self._thread is None or not self._thread.is_alive())

    def _run(self) -> None:
        while not self._over.wait(GLANCE):
            self._look_at_all()
        self._look_at_all(at_end=True)

    def _look_at_all(self, *, at_end: bool = False) -> None:
        for ledger in list(self._ledgers.values()):
            self.look(ledger, at_end=at_end)
            self._tell_presences(ledger)

    def _tell_presences(self, ledger: LedgerState) -> None:
        """Have it written which connections have ended; what cannot be written now is tried with the next look."""
        try:
            if not ledger.has_forgotten:
                ledger.core.presences.forget_old()
                ledger.has_forgotten = True
            ledger.core.presences.tend()
        except CounterpointError as fault:
            if fault.message != ledger.why_silent:
                logger.warning("Connections are not told of: %s %s", fault.message, fault.hint)
            ledger.why_silent = fault.message

    def look(self, ledger: LedgerState, *, at_end: bool = False) -> None:
        """Have a ledger signed if it is time, and tidied."""
        try:
            self._tidy(ledger)
            if self._must_vouch(ledger, at_end=at_end):
                ledger.core.writers.sign()
                ledger.written, ledger.has_vouched = None, True
            if self._is_due(ledger, at_end=at_end):
                head = ledger.core.signing.sign()
                ledger.signed = head.size if head else 0
                ledger.since, ledger.why = None, ""
                self.witnesses.wake()
        except CounterpointError as fault:
            ledger.not_before = self.now() + AGAIN
            if fault.message != ledger.why:
                logger.warning("The ledger is not signed: %s %s", fault.message, fault.hint)
            ledger.why = fault.message

    def _tidy(self, ledger: LedgerState) -> None:
        ledger.tidied = self.now() if ledger.tidied is None else ledger.tidied
        if self.now() - ledger.tidied >= LONG:
            ledger.tidied = self.now()
            ledger.core.plans.tidy()
            ledger.core.items.tidy()

    def _must_vouch(self, ledger: LedgerState, *, at_end: bool) -> bool:
        """Return whether writers are to sign now."""
        if not ledger.core.writers.waits:
            return False
        ledger.written = self.now() if ledger.written is None else ledger.written
        if at_end:
            return True
        has_settled = ledger.has_vouched or self.now() - ledger.written >= SETTLE
        return has_settled and self.now() >= ledger.not_before

    def _is_due(self, ledger: LedgerState, *, at_end: bool) -> bool:
        if ledger.signed < 0:
            last = ledger.core.signing.last()
            ledger.signed = last.size if last else 0
            # What the process before signed when it was killed, its witnesses may not have heard of.
            self.witnesses.wake()
        size, before = ledger.core.feed.last() + 1, ledger.seen
        ledger.seen = size
        # A ledger that is shorter than what was signed is for the signer to refuse.
        if size == ledger.signed:
            return False
        ledger.since = self.now() if ledger.since is None else ledger.since
        if self.now() < ledger.not_before and not at_end:
            return False
        return (
            at_end
            or abs(size - ledger.signed) >= MANY
            or self.now() - ledger.since >= LONG
            or (size != before and self._has_ended(ledger))
        )

    def _has_ended(self, ledger: LedgerState) -> bool:
        after = ledger.signed - 1
        return any(ledger.core.audit.log(action=name, after=after, limit=1) for name in _ENDS)

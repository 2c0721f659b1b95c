"""What a server does behind the calls: indexes, mirrors, witnesses, checkpoints.

A thread that has texts embedded, once somebody has searched.
It looks every second whether anybody has searched and anything was written since, and then works in slices, resting between
two for as long as one took: so no writer waits for longer than a slice is written, and answers keep half of a processor.
Nothing of a model is loaded before the first search. What fails is told once, and tried again with the next look.

A thread that keeps files beside the ledger, and applies edits of them.
It looks twice a second, and rests as long as a look took: so a file is at most a second behind an answer, and any number
of changes between two looks are one write. Where a look has left new files to the next one, that follows after such a rest alone. What it takes in from a file is the word of an agent that nothing attests. Nothing of it is loaded, and
nothing lies anywhere, in a project that has no folder for such files and asks for none. What fails is told once, and tried again.

A thread that sends new heads to witnesses.
One of them may take long to answer. A head that was signed is given to them at once if they heard of none for a minute, else when the minute is over,
and at the end of the server. Who could not be reached is asked again after ten minutes, or with the next head.

A thread that has new entries signed without being asked.
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

from counterpoint.app import App
from counterpoint.cli.checks.mirrored import look
from counterpoint.cli.server.events import HookEvents
from counterpoint.cli.server.researching import ResearchThreads
from counterpoint.core.coordinator import Core
from counterpoint.kernel.errors import CounterpointError

INDEX_INTERVAL: Final = 1.0
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
        while not self._over.wait(INDEX_INTERVAL):
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


MIRROR_INTERVAL: Final = 0.5
"""Seconds between two looks."""
"""Seconds that the end waits for the last look."""


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
        pause = MIRROR_INTERVAL
        while not self._over.wait(pause):
            began = time.monotonic()
            least = 0.0 if self.look() else MIRROR_INTERVAL
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


PAUSE: Final = 60.0
"""Seconds between two heads that witnesses are given."""
WITNESS_INTERVAL: Final = 600.0
"""Seconds until one who could not be reached is asked again."""


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
            self._due.wait(WITNESS_INTERVAL if has_failed else None)
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


MANY: Final = 256
"""Entries that are signed at once when so many wait."""
LONG: Final = 10.0
"""Seconds that an entry waits at most."""
CHECKPOINT_INTERVAL: Final = 1.0
"""Seconds between two looks."""
SETTLE: Final = 3.0
"""Seconds until the first signature of a writer: loading what signs would slow the first calls."""
CHECKPOINT_RETRY: Final = 60.0
"""Seconds until a signer that refused is asked again."""
"""Seconds that the end waits for the last signature."""
_ENDS: Final = ("session.abandoned", "session.ended", "session.sealed")


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
        while not self._over.wait(CHECKPOINT_INTERVAL):
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
            ledger.not_before = self.now() + CHECKPOINT_RETRY
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

"""Threads that work on deep research, behind the calls.

Two acts at most are under way at once, each of another turn (dialects/foundry/research/board.py): no call waits for them, and whoever begins many slows his own alone. What
is under way when a process is killed is taken up by the next one of the ledger. Nothing of it is loaded in a project without deep research.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.models.research import ResearchStudy
from counterpoint.dialects.foundry.research.board import Board, Key
from counterpoint.kernel.errors import CounterpointError

if TYPE_CHECKING:
    from counterpoint.dialects.foundry.research.deep import Advancing

AT_ONCE: Final = 2
"""How many acts are under way at once."""
GLANCE: Final = 1.0
"""Seconds for which a thread waits for a turn before it looks whether it is to end."""
LOOK: Final = 60.0
"""Seconds between two looks for studies whose process has ended elsewhere."""
PATIENCE: Final = 5.0
"""Seconds that the end waits for what is under way, which hears of it each second."""

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class ResearchThreads:
    """Works on the studies of the ledgers that are used through this process."""

    _cores: dict[str, Callable[[], Core]] = field(
        init=False, default_factory=dict[str, Callable[[], Core]]
    )
    _boards: list[Board] = field(init=False, default_factory=list[Board])
    _over: threading.Event = field(init=False, default_factory=threading.Event)
    _threads: list[threading.Thread] = field(init=False, default_factory=list[threading.Thread])
    _guard: threading.Lock = field(init=False, default_factory=threading.Lock)
    _looked: float | None = field(init=False, default=None)

    def tend(self, app: App) -> None:
        """Work on the studies of a project from now on."""
        if app.project in self._cores:
            return
        with self._guard:
            board: Board = app.itself().use(_board_of)
            if not self._boards:
                self._boards.append(board)
            board.is_served = True
            self._cores.setdefault(app.project, app.itself)
            self._looked = None
            if not self._threads and not self._over.is_set():
                self._start(self._watch)

    @property
    def is_busy(self) -> bool:
        """Whether any study waits or is worked on here."""
        return any(board.is_busy() for board in self._boards)

    def close(self) -> bool:
        """Leave what is under way, so that others can take it up. Return whether its threads have ended."""
        self._over.set()
        for board in self._boards:
            board.wake()
        end = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="research", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _watch(self) -> None:
        """Look for studies now and then, and have workers once there is one."""
        while not self._over.wait(GLANCE):
            if self._looked is None or time.monotonic() - self._looked >= LOOK:
                self._looked = time.monotonic()
                self.look()
            if self.is_busy and len(self._threads) == 1:
                for _ in range(AT_ONCE):
                    self._start(self._work)

    def look(self) -> None:
        """Let each study wait for its turn that nobody works on."""
        for project, core in list(self._cores.items()):
            try:
                if core().use(_has_studies):
                    for name, caller in core().use(self._advancing).waiting():
                        self._boards[0].add((project, name), caller)
            except CounterpointError as fault:
                logger.warning("Research is not gone on with: %s %s", fault.message, fault.hint)

    def _work(self) -> None:
        board = self._boards[0]
        while not self._over.is_set():
            key = board.take(GLANCE)
            if key is not None:
                board.put_back(key, goes_on=self._advanced(key))

    def _advanced(self, key: Key) -> bool:
        """Take a study one act further; return whether it goes on."""
        project, name = key
        core = self._cores.get(project)
        if core is None:
            return False
        advancing = core().use(self._advancing)
        try:
            if self._over.is_set():
                advancing.release(name)
                return False
            return advancing.advance(name)
        except CounterpointError as fault:
            # What the store refuses is tried again with the next look.
            logger.warning(
                "Research %s is not gone on with: %s %s", name, fault.message, fault.hint
            )
            return False

    def _advancing(self, context: Context) -> Advancing:
        from counterpoint.dialects.foundry.research.deep import Advancing

        return Advancing(context, self._over.is_set)


def _board_of(context: Context) -> Board:
    return context.ports.remember(Board)


def _has_studies(context: Context) -> bool:
    with context.reading() as view:
        return view.exists(ResearchStudy, kind="deep-research", status="active")

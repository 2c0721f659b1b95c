"""Starts one agent after the other on the run of a spec, as the policy decides.

This is process handling alone: what is seen is handed to `rules.autonomy.supervising`, and what that answers is done.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final, Protocol

from counterpoint.cli.supervise.outcome import Outcome
from counterpoint.cli.supervise.run_files import Log, open_log
from counterpoint.cli.supervise.screens import Screen
from counterpoint.cli.supervise.specrun import RunStatus, SpecRun
from counterpoint.core.model.evidence import Execution
from counterpoint.core.model.runs import Run
from counterpoint.dialects.foundry.runs.rules.signals import AgentState, Decision, Situation, decide
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import Conflict, CounterpointError, Unavailable

POLL_SECONDS: Final = 10.0
"""Between two looks at a run while its agent works."""


class Program(Protocol):
    """What is started for each round; `agent.AgentProgram` is one."""

    def run(
        self, values: Mapping[str, str], heard: Callable[[bytes], None], ends: Callable[[], bool]
    ) -> Execution:
        """Run it to its end. values: of the placeholders. ends: answers once a second whether it is to end."""
        ...


@dataclass(slots=True, kw_only=True)
class StopRequest:
    """Whether somebody asked the supervisor to stop."""

    is_asked: bool = False


@dataclass(slots=True, kw_only=True)
class Supervision:
    """One call of the supervisor.

    folder: of the logs. limit: how many agents may be started. is_seen_to: whether what the run waits for was seen to. record: keeps
    what a round took, from its log; None where that does not say. seconds: a time that never goes back.
    """

    run: SpecRun
    agent: Program
    screen: Screen
    folder: Path
    limit: int
    clock: Clock
    stopping: StopRequest
    is_seen_to: bool = False
    record: Callable[[str, Path], Run | None] = lambda _session, _log: None
    poll_seconds: float = POLL_SECONDS
    seconds: Callable[[], float] = monotonic
    rounds: int = 0
    _state: AgentState = "none"
    _before: tuple[object, ...] = ()
    _looked: float = 0.0
    _stopped_at: float = -1.0
    _log: Path | None = None
    _said: str = ""

    def supervise(self) -> Outcome:
        """Return what came of it; any refusal of the server."""
        self.run.preflight()
        while True:
            look = self.run.look()
            self.screen.looked(look)
            decision = self._decide(look)
            if decision.act != "start":
                return Outcome(
                    decision=decision,
                    is_filed=not decision.is_success or self.run.is_filed(),
                    look=self._left(look),
                    why=look.why,
                    log=self._log,
                    said=self._said,
                )
            if self._bring_to_run(look, decision):
                self._work(look)

    def _decide(self, look: RunStatus) -> Decision:
        lingered = self.seconds() - self._stopped_at if self._stopped_at >= 0 else 0.0
        return decide(
            Situation(
                run=look.state,
                agent=self._state,
                rounds=self.rounds,
                limit=self.limit,
                has_moved=look.mark != self._before,
                lingered=lingered,
                is_asked=self.stopping.is_asked,
                is_seen_to=self.is_seen_to,
            )
        )

    def _bring_to_run(self, look: RunStatus, decision: Decision) -> bool:
        """Begin or resume the run, as it was decided; return whether that was let: what it waits for may not have been seen to."""
        if decision.way == "begin":
            if not look.total:
                raise Conflict(
                    f"there are no tasks in {self.run.spec}",
                    hint="Have an agent add them first: `authoring phase-add-bulk`, or `task add`.",
                )
            self.run.begin()
        elif decision.way == "resume":
            return self._resume(look)
        elif look.is_stale:
            # Or the next call, which is that of an agent who has just been started, would pause it for the one who has gone.
            self.run.pause()
            self.run.resume()
        return True

    def _resume(self, look: RunStatus) -> bool:
        try:
            self.run.resume()
        except CounterpointError as refusal:
            if look.state != "paused_needs_attention":
                raise
            self.screen.refused(refusal)
            self.is_seen_to = False
            return False
        return True

    def _work(self, look: RunStatus) -> None:
        """Have one agent work, until it has ended."""
        self.rounds += 1
        self._before, self._state, self._stopped_at = look.mark, "working", -1.0
        self._looked = self.seconds()
        values = {"spec": self.run.spec, "session": self.run.session, "round": str(self.rounds)}
        try:
            with self._round() as log:
                ended = self.agent.run(values, self._hearing(log), self._is_to_end)
        except (CounterpointError, BrokenPipeError):
            # It could not be started, or nobody looks on any more: its run is not left as if somebody worked on it.
            self._abandon()
            raise
        self._state, self._said = state_of(ended), ended.output
        self.screen.ended(self.rounds, ended, self._recorded())

    def _recorded(self) -> Run | None:
        """Return what the round took, as it was recorded; a fault of that is shown, and ends nothing."""
        try:
            return self.record(self.run.session, self._log) if self._log else None
        except CounterpointError as fault:
            self.screen.refused(fault)
            return None

    @contextmanager
    def _round(self) -> Generator[Log]:
        with open_log(self.folder, self.rounds, self.clock.now()) as log:
            self._log = log.path
            self.screen.started(self.rounds, self.run.session, log.path)
            yield log

    def _hearing(self, log: Log) -> Callable[[bytes], None]:
        def hear(chunk: bytes) -> None:
            log.write(chunk)
            self.screen.heard(chunk)

        return hear

    def _is_to_end(self) -> bool:
        """Return whether the agent that works is to end, by how its run stands; that is looked up now and then."""
        if self.stopping.is_asked:
            return True
        now = self.seconds()
        if now - self._looked < self.poll_seconds:
            return False
        self._looked = now
        try:
            look = self.run.look()
        except Unavailable as fault:
            # The agent may well do without the server for a while: it has work of its own.
            self.screen.refused(fault)
            return False
        self.screen.looked(look)
        if look.state == "running":
            self._stopped_at = -1.0
        elif self._stopped_at < 0:
            self._stopped_at = now
        return self._decide(look).act == "end_agent"

    def _left(self, look: RunStatus) -> RunStatus:
        """Return how the run is left: paused, if it still runs though nobody works on it any more."""
        if look.state != "running" or not self.rounds:
            return look
        try:
            self.run.pause()
            paused = self.run.look()
        except CounterpointError as refusal:
            self.screen.refused(refusal)
            return look
        self.screen.looked(paused)
        return paused

    def _abandon(self) -> None:
        """Pause the run if it runs, for what has gone wrong is told already."""
        with suppress(CounterpointError, BrokenPipeError):
            self._left(self.run.look())


def state_of(ended: Execution) -> AgentState:
    """Return how an agent ended, for the policy. Whoever was asked to end has not failed."""
    if ended.timed_out:
        return "timed_out"
    return "left" if ended.exit_code == 0 or ended.ended_for == "asked" else "failed"

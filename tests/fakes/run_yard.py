"""Brings unattended runs to where the tables of the contract begin: each on a spec of its own, by calls alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.foundry.models.runs import PauseReason, SessionStatus, StepType
from fakes.gates import gated_draft, verified_draft
from fakes.stepping import Stepper

Make = Callable[[str, str, str], Draft]
"""What makes the draft of a spec, of the command that verifies it, its id and the folder of its files."""


@dataclass(kw_only=True)
class Yard:
    """Those who are around runs. fay works in them, gus beside her, jo judges, nat changes specs in the native dialect."""

    workshop: Workshop
    patch: pytest.MonkeyPatch = field(default_factory=pytest.MonkeyPatch)
    number: int = 0
    agents: dict[str, Agent] = field(default_factory=dict[str, Agent])

    def agent(self, name: str, surface: str = "foundry") -> Agent:
        """Answer an agent, the same each time."""
        if name not in self.agents:
            self.agents[name] = self.workshop.agent(name, surface=surface)
        return self.agents[name]

    def spec(self, command: str = "true", make: Make = gated_draft) -> str:
        """Make a spec; answer its id."""
        self.number += 1
        name = f"yard{self.number}-2026-01-02-001"
        self.agent("ada", "native").core.plans.create(make(command, name, self.folder))
        return name

    @property
    def folder(self) -> str:
        """The folder of the spec that was made last: whoever works on a file keeps others from it."""
        return f"src{self.number}"

    def begin(self, command: str = "true", make: Make = gated_draft, **terms: Any) -> Stepper:
        """Begin a run of a spec of its own: a phase of a task and a verification, and one of a task alone."""
        spec, fay = self.spec(command, make), self.agent("fay")
        begun = fay.does("task", action="session", command="start", spec_id=spec, **terms)
        session = begun["data"]["session_id"]
        return Stepper(
            workshop=self.workshop, agent=fay, session=session, spec=spec, folder=self.folder
        )

    def change(self, run: Stepper) -> str:
        """Let another dialect add a task to the spec of a run; answer its item."""
        tree = {"title": "More", "kind": "task"}
        nat = self.agent("nat", "native")
        return nat.does("plan", tree=tree, parent=run.item("phase-1").id)["items"][0]["id"]

    def block(self, run: Stepper, *nodes: str) -> None:
        """Let tasks of a run be blocked."""
        about = {"spec_id": run.spec, "session_id": run.session, "reason": "no key"}
        for node in nodes:
            run.agent.does("task", action="block", task_id=node, **about)

    def acknowledge(self, run: Stepper) -> None:
        """Let somebody else review the gate that waits, and resume the run."""
        attempt = run.status()["gate_attempt_id"]
        given = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": attempt}
        run.manages("resume", self.agent("jo"), **given)

    def failing_gate(self, **terms: Any) -> Stepper:
        """Begin a run whose first phase was judged, and does not pass: what was verified is edited after that."""
        run = self.begin(**terms)
        run.goes_on_to("run_fidelity_gate")
        self.workshop.clock.pass_by(seconds=1)
        run.writes("1")
        run.reviews()
        run.reports()
        return run

    def at_gate(self, **terms: Any) -> Stepper:
        """Begin a run that is at the gate of its first phase."""
        run = self.begin(**terms)
        run.goes_on_to("run_fidelity_gate")
        return run

    def completed(self) -> Stepper:
        """Begin a run of a spec that only has a verification by hand, and bring it to its end."""
        run = self.begin("", verified_draft)
        run.goes_on_to("complete_spec")
        return run


def _user(yard: Yard) -> Stepper:
    run = yard.begin()
    run.does()
    run.manages("pause")
    run.reports()
    return run


def _context_limit(yard: Yard) -> Stepper:
    run = yard.begin()
    run.does()
    run.does(last_step_result=run.result(), context_usage_pct=90)
    return run


def _error_threshold(yard: Yard) -> Stepper:
    run = yard.begin(max_consecutive_errors=2)
    run.does()
    run.reports("failure")
    run.reports("failure")
    return run


def _blocked(yard: Yard) -> Stepper:
    run = yard.begin()
    run.does()
    yard.block(run, "task-1-1", "task-2-1")
    run.reports("skipped")
    return run


def _at_pause(**terms: Any) -> Callable[[Yard], Stepper]:
    def bring(yard: Yard) -> Stepper:
        run = yard.begin(**terms)
        run.goes_on_to("pause")
        return run

    return bring


def _heartbeat_stale(yard: Yard) -> Stepper:
    run = yard.begin()
    yard.workshop.clock.pass_by(minutes=11)
    run.does()
    return run


def _step_stale(yard: Yard) -> Stepper:
    run = yard.begin()
    run.does()
    yard.workshop.clock.pass_by(minutes=61)
    run.does()
    return run


PAUSED: Final[Mapping[PauseReason, Callable[[Yard], Stepper]]] = {
    "user": _user,
    "context_limit": _context_limit,
    "error_threshold": _error_threshold,
    "blocked": _blocked,
    "gate_failed": lambda yard: yard.failing_gate(auto_retry_fidelity_gate=False),
    "gate_review_required": _at_pause(),
    "task_limit": _at_pause(max_tasks_per_session=2),
    "heartbeat_stale": _heartbeat_stale,
    "step_stale": _step_stale,
    "phase_complete": _at_pause(stop_on_phase_completion=True),
    "fidelity_cycle_limit": lambda yard: yard.failing_gate(max_fidelity_review_cycles_per_phase=1),
}
"""What brings a run to each pause, which it is told in its last answer."""


def _paused(yard: Yard) -> Stepper:
    run = yard.begin()
    run.manages("pause")
    return run


def _failed(yard: Yard) -> Stepper:
    run = yard.begin()
    yard.change(run)
    assert run.asks().is_error
    return run


def _ended(yard: Yard) -> Stepper:
    run = yard.begin()
    run.manages("end", reason_code="testing")
    return run


STANDING: Final[Mapping[SessionStatus, Callable[[Yard], Stepper]]] = {
    "running": Yard.begin,
    "paused": _paused,
    "completed": Yard.completed,
    "failed": _failed,
    "ended": _ended,
}
"""What brings a run to each state."""


def _issued(kind: StepType, **terms: Any) -> Callable[[Yard], Stepper]:
    def bring(yard: Yard) -> Stepper:
        run = yard.begin(**terms)
        run.goes_on_to(kind)
        return run

    return bring


ISSUED: Final[Mapping[StepType, Callable[[Yard], Stepper]]] = {
    "implement_task": _issued("implement_task"),
    "execute_verification": _issued("execute_verification"),
    "run_fidelity_gate": _issued("run_fidelity_gate"),
    "address_fidelity_feedback": Yard.failing_gate,
    "pause": _at_pause(stop_on_phase_completion=True),
    "complete_spec": Yard.completed,
}
"""What brings a run to a step of each type, which is out then."""

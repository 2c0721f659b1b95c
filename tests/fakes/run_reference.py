"""What an unattended run has to do, told by states, counts and seconds; no rule of the product is asked."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

PLAN: Final[Mapping[str, tuple[str, ...]]] = {
    "phase-1": ("task-1-1", "task-1-2", "verify-1-1"),
    "phase-2": ("task-2-1",),
    "phase-3": ("task-3-1", "verify-3-1"),
}
"""The phases of the spec at first; the second has no verification, so a person reviews it."""


def is_verify(name: str) -> bool:
    """Tell whether a node is a verification."""
    return name.startswith("verify")


@dataclass
class Reference:
    """What a run has to do, told by counts, sets and seconds.

    gates: none, seen (a person has to look), failed or open. since: steps since the context was told. silent, age: seconds since
    the last sign of life, and since the step that is out was issued; kind, about: of that step, empty without.
    """

    policy: str
    stops: bool
    retries: bool
    state: str = "running"
    reason: str = ""
    plan: dict[str, list[str]] = field(default_factory=lambda: copy.deepcopy({**PLAN}))
    known: str = ""
    done: set[str] = field(default_factory=set[str])
    blocked: set[str] = field(default_factory=set[str])
    gates: dict[str, str] = field(default_factory=dict[str, str])
    waived: set[str] = field(default_factory=set[str])
    cycles: dict[str, int] = field(default_factory=dict[str, int])
    completed: int = 0
    errors: int = 0
    pct: int = 0
    was_told: bool = False
    since: int = 0
    silent: int = 0
    age: int = 0
    kind: str = ""
    about: str = ""
    where: str = ""
    stop: bool = False

    def __post_init__(self) -> None:
        """Begin with every gate closed."""
        self.plan = {phase: list(names) for phase, names in self.plan.items()}
        self.gates = dict.fromkeys(self.plan, "none")
        self.known = repr(self.shape())

    def shape(self) -> list[tuple[str, list[str]]]:
        """Answer what the structure is told by."""
        return [(phase, sorted(names)) for phase, names in self.plan.items()]

    def take(self, outcome: str, verdict: str = "") -> None:
        """Take the report of the step that is out."""
        kind, about, won = self.kind, self.about, outcome == "success"
        self.kind = self.about = ""
        self.since, self.silent = self.since + 1, 0
        if kind in {"implement_task", "execute_verification"}:
            if won:
                self.completed += 1
                self.done |= {about}
            self._blame(outcome)
        if kind == "address_fidelity_feedback":
            self._blame(outcome)
            if won and self.gates[about] != "open":
                self.gates[about] = "none"
        if kind == "run_fidelity_gate":
            if won and self.gates[about] != "open":
                self.gates[about] = self._after(about, verdict)
            if outcome == "failure" or (won and self.gates[about] == "failed"):
                self.cycles[about] = self.cycles.get(about, 0) + 1

    def _blame(self, outcome: str) -> None:
        self.errors = {"success": 0, "failure": self.errors + 1}.get(outcome, self.errors)

    def _after(self, phase: str, verdict: str) -> str:
        by_person = self.policy == "manual" or not any(map(is_verify, self.plan[phase]))
        if by_person:
            return "seen"
        good = {"pass"} if self.policy == "strict" else {"pass", "warn"}
        return "open" if verdict in good else "failed"

    def use(self) -> int:
        """Answer how much of the context is taken to be used."""
        used = self.pct + 3 * self.since
        return min(100, used + 5 if self.was_told and self.since >= 5 else used)

    def busy(self) -> tuple[str, str]:
        """Answer the phase in which something can be done, and what; empty if there is none."""
        for phase, names in self.plan.items():
            left = [name for name in names if name not in self.done]
            work = [name for name in left if not is_verify(name)]
            first = [name for name in (work or left) if name not in self.blocked]
            if first:
                return phase, first[0]
            if not left and self.gates[phase] != "open":
                return phase, ""
        return "", ""

    def is_complete(self, phase: str) -> bool:
        """Tell whether all of a phase is done, and its gate is open."""
        return self.gates[phase] == "open" and not set(self.plan[phase]) - self.done

    def ask(self, *, reported: bool) -> str:
        """Answer what comes next."""
        said = self._ask(reported=reported)
        kind, _, about = said.partition(" ")
        if kind == "pause":
            self.state, self.reason, self.kind, self.about = "paused", about, "pause", ""
            self.stop = self.stop and about != "user"
            self.where = "" if about == "phase_complete" else self.where
        elif kind == "fail":
            self.state, self.reason = "failed", ""
        elif kind == "complete":
            self.state, self.kind, self.where = "completed", "complete_spec", ""
        elif kind in {"implement_task", "execute_verification", "run_fidelity_gate"} or about:
            self.kind, self.about = kind, about
            self.where = next(
                phase for phase, names in self.plan.items() if about in (phase, *names)
            )
        if kind not in {"fail", "over"} and not kind.isupper():
            self.age = 0
        return said

    def _ask(self, *, reported: bool) -> str:
        ended = {"completed": "over", "failed": "SESSION_UNRECOVERABLE"}
        if self.state in ended:
            return ended[self.state]
        if repr(self.shape()) != self.known:
            return "fail SPEC_REBASE_REQUIRED"
        if self.state == "paused":
            return f"pause {self.reason}"
        return self._limits(reported=reported) or self._work()

    def _limits(self, *, reported: bool) -> str:
        phase, task = self.busy()
        limits = {
            # Whoever asks without a report while a step is out finds that step stale.
            "step_stale": bool(self.kind),
            "heartbeat_stale": not reported and self.silent > 600,
            "user": self.stop,
            "context_limit": self.use() >= 60,
            "error_threshold": self.errors >= 2,
            "task_limit": self.completed >= 6 and bool(task),
            "fidelity_cycle_limit": self.cycles.get(phase, 0) >= 2
            and self.gates.get(phase) != "open",
            "blocked": not phase and not all(map(self.is_complete, self.plan)),
            "phase_complete": self.stops
            and self.where in self.plan
            and self.is_complete(self.where),
        }
        return next((f"pause {reason}" for reason, holds in limits.items() if holds), "")

    def _work(self) -> str:
        phase, task = self.busy()
        if not phase:
            return "complete"
        if task:
            kind = "execute_verification" if is_verify(task) else "implement_task"
            return f"{kind} {task}"
        if self.gates[phase] == "seen":
            return "pause gate_review_required"
        if self.gates[phase] == "failed":
            return f"address_fidelity_feedback {phase}" if self.retries else "pause gate_failed"
        return f"run_fidelity_gate {phase}"

    def resume(self) -> None:
        """Go on after a pause."""
        reason = self.reason
        for phase, gate in self.gates.items():
            if reason == "gate_review_required" and gate == "seen":
                self.gates[phase] = "open"
            if reason in {"gate_failed", "fidelity_cycle_limit"} and gate != "open":
                self.gates[phase] = "none"
        if reason == "error_threshold":
            self.errors = 0
        if reason == "fidelity_cycle_limit":
            self.cycles.pop(self.busy()[0] or self.where, None)
        if reason == "context_limit":
            self.pct, self.was_told, self.since = 0, False, 0
        self.state, self.reason, self.silent = "running", "", 0

    def rebase(self, before: dict[str, list[str]]) -> None:
        """Take the spec as it is; before: the spec as it was."""
        names = {name for names in self.plan.values() for name in names} | set(self.plan)
        gone = {name for names in before.values() for name in names} - names
        self.completed = max(0, self.completed - len(gone & self.own()))
        self.errors = 0
        self.cycles = {phase: count for phase, count in self.cycles.items() if phase in names}
        for phase, gate in self.gates.items():
            if gate == "open" and set(before[phase]) != set(self.plan[phase]):
                self.gates[phase] = "none"
        self.known = repr(self.shape())
        self.state, self.reason, self.silent = "running", "", 0

    def own(self) -> set[str]:
        """Answer the tasks that were completed in this run."""
        return self.done

    def tell(self, pct: int) -> None:
        """Hear the use of the context."""
        fell = self.pct - pct
        if fell <= 0 or (fell >= 10 and pct <= 30):
            self.pct = pct
        self.was_told, self.since, self.silent = True, 0, 0

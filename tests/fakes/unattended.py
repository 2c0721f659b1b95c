"""An unattended run in memory, driven by the rules as a verb would."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final

from counterpoint.dialects.foundry.envelope import code_of
from counterpoint.dialects.foundry.models.runs import (
    ContextUse,
    Counters,
    Evidence,
    IssuedStep,
    Limits,
    StopConditions,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    GateEvent,
    PhaseGate,
    Result,
    after_resume,
    after_verdict,
    count_rebase,
    count_result,
    count_resumption,
    count_step,
    current_use,
    integrity_of,
    is_completed,
    report_use,
    required_gate,
    tried_again,
)
from counterpoint.dialects.foundry.runs.rules.deciding import (
    Complete,
    Decision,
    Fail,
    Issue,
    Pause,
    PhaseState,
    Situation,
    TaskRef,
    decide,
    phase_after,
)
from counterpoint.dialects.foundry.runs.rules.results import (
    KeptReceipt,
    ReportContext,
    Structure,
    judge,
    proof_digest,
    read_result,
    rebase,
)
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import CounterpointError
from fakes.run_reference import PLAN, is_verify

START: Final = Timestamp("2026-02-03T04:00:00.000Z")
KEY: Final = b"a key of the project"
COMMAND: Final = sha256(b"pytest -q")
LIMITS: Final = Limits(
    max_tasks_per_session=6,
    max_consecutive_errors=2,
    max_fidelity_review_cycles_per_phase=2,
    context_threshold_pct=60,
)


@dataclass
class Run:
    """The rows of a run, and what a verb does with them: it asks a rule, and writes what that answers."""

    policy: Any = "strict"
    stops: bool = False
    retries: bool = True
    now: Timestamp = START
    status: Any = "running"
    reason: Any = ""
    plan: dict[str, list[str]] = field(
        default_factory=lambda: {phase: list(names) for phase, names in PLAN.items()}
    )
    tasks: dict[str, str] = field(default_factory=dict[str, str])
    gates: dict[str, PhaseGate] = field(default_factory=dict[str, PhaseGate])
    counters: Counters = field(default_factory=Counters)
    context: ContextUse = field(default_factory=ContextUse)
    heartbeat: Timestamp = START
    at_work: str = ""
    stop_requested: bool = False
    structure: Structure = field(default_factory=Structure)
    steps: list[IssuedStep] = field(default_factory=list[IssuedStep])
    is_out: bool = False
    proof: str = ""
    receipts: list[KeptReceipt] = field(default_factory=list[KeptReceipt])
    evidence: Evidence | None = None
    events: list[GateEvent] = field(default_factory=list[GateEvent])
    answers: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Begin with every task open."""
        self.tasks = {name: "open" for names in self.plan.values() for name in names}
        self.structure = self.present()
        self.tidy_gates()

    def present(self) -> Structure:
        """Answer the structure of the spec as it is."""
        pairs = {name: phase for phase, names in self.plan.items() for name in names}
        return Structure(phases=tuple(self.plan), tasks=pairs)

    def tidy_gates(self) -> None:
        """Give each phase the gate that it needs."""
        for phase, names in self.plan.items():
            required = required_gate(has_verify=any(map(is_verify, names)))
            gate = self.gates.setdefault(phase, PhaseGate(phase=phase))
            self.gates[phase] = replace(gate, required=required)

    @property
    def out(self) -> IssuedStep | None:
        """The step that is out."""
        return self.steps[-1] if self.is_out else None

    def phase(self, name: str) -> PhaseState:
        """Answer how a phase stands."""
        names = self.plan[name]
        unfinished = [one for one in names if self.tasks[one] != "done"]
        free = [one for one in unfinished if self.tasks[one] == "open"]
        tasks = [TaskRef(id=one) for one in free if not is_verify(one)]
        checks = [TaskRef(id=one, command=COMMAND) for one in free if is_verify(one)]
        open_checks = sum(map(is_verify, unfinished))
        return PhaseState(
            id=name,
            open_tasks=len(unfinished) - open_checks,
            open_verifications=open_checks,
            task=tasks[0] if tasks else None,
            verification=checks[0] if checks else None,
            gate=self.gates[name],
        )

    def known(self, proof: str) -> ReportContext:
        """Answer what is known when a report comes with a proof."""
        digest = proof_digest(proof)
        waiver = self.gates[self.out.phase].waiver if self.out and self.out.phase else ""
        return ReportContext(
            session="s-1",
            now=self.now,
            outstanding=self.out,
            proven=next((one for one in self.steps if one.proof == digest), None),
            receipts=tuple(self.receipts),
            evidence=self.evidence,
            key=KEY,
            waiver=waiver,
            limits=LIMITS,
        )

    def next(self, report: dict[str, Any] | None) -> str:
        """Report, ask for the next step, and answer what is told, or the code of the refusal; that changes nothing."""
        before = copy.copy(self.__dict__)
        kept = (list(self.steps), dict(self.tasks), dict(self.gates), list(self.events))
        try:
            return self._next(report)
        except CounterpointError as refused:
            self.__dict__.update(before)
            self.steps, self.tasks, self.gates, self.events = kept
            return code_of(refused)

    def _next(self, report: dict[str, Any] | None) -> str:
        result = read_result(report, {})
        judged = judge(result, self.known(result.step_proof if result else ""))
        had_step = judged is not None
        if judged is not None:
            if judged.again:
                return self.answers[judged.again.id]
            step = self.steps[-1]
            self.steps[-1] = replace(step, consumed_at=self.now, report=judged.digest)
            self.is_out = False
            self._record(step, judged.result.outcome)
        decision = decide(self.situation(had_step=had_step))
        self._settle(decision)
        said = self.said(decision)
        if judged is not None:
            self.answers[judged.result.step_id] = said
        return said

    def _record(self, step: IssuedStep, outcome: Any) -> None:
        gate = self.gates.get(step.phase, PhaseGate(phase=step.phase))
        if step.type == "run_fidelity_gate" and outcome == "success" and self.evidence:
            after = after_verdict(gate, self.policy, self.evidence.verdict, step.attempt)
            self._put_gate(after)
            gate = after
        if step.type == "address_fidelity_feedback" and outcome == "success":
            self._put_gate(tried_again(gate))
        result = Result(
            type=step.type, outcome=outcome, task=step.task, phase=step.phase, gate=gate.status
        )
        self.counters = count_result(self.counters, result)
        self.context = count_step(self.context)
        self.heartbeat = self.now
        if is_completed(result) and step.task in self.tasks:
            self.tasks[step.task] = "done"

    def _put_gate(self, gate: PhaseGate) -> None:
        before, self.gates[gate.phase] = self.gates[gate.phase], gate
        if gate.status not in {before.status, "pending"}:
            kind: Any = f"gate_{gate.status}"
            event = GateEvent(phase=gate.phase, kind=kind, attempt=gate.waiver or gate.attempt)
            self.events.append(event)

    def situation(self, *, had_step: bool) -> Situation:
        """Answer what is known when the next step is asked for."""
        return Situation(
            now=self.now,
            status=self.status,
            pause_reason=self.reason,
            limits=LIMITS,
            stop=StopConditions(
                stop_on_phase_completion=self.stops, auto_retry_fidelity_gate=self.retries
            ),
            policy=self.policy,
            counters=self.counters,
            context=current_use(self.context, LIMITS),
            heartbeat_at=self.heartbeat,
            structure=self.present().digest,
            kept_structure=self.structure.digest,
            outstanding=self.out,
            had_step=had_step,
            stop_requested=self.stop_requested,
            phases=tuple(self.phase(name) for name in self.plan),
            at_work=self.at_work,
            events=tuple(self.events),
        )

    def _settle(self, decision: Decision) -> None:
        self.at_work = phase_after(decision, self.at_work)
        match decision:
            case Issue():
                self._issue(decision.type, decision.phase, decision.task)
            case Pause():
                self.status, self.reason = "paused", decision.reason
                self.stop_requested = self.stop_requested and decision.reason != "user"
                self._issue("pause")
            case Fail():
                self.status, self.reason = "failed", ""
            case Complete():
                if not decision.is_over:
                    self.status = "completed"
                    self._issue("complete_spec")

    def _issue(self, kind: Any, phase: str = "", task: TaskRef | None = None) -> None:
        number = len(self.steps) + 1
        self.proof = sha256(f"proof {number}".encode())
        self.steps.append(
            IssuedStep(
                id=f"step-{number}",
                type=kind,
                proof=proof_digest(self.proof),
                issued_at=self.now,
                task=task.id if task else "",
                phase=phase,
                attempt=f"attempt-{number}" if kind == "run_fidelity_gate" else "",
                command=task.command if task else "",
            )
        )
        self.is_out, self.receipts, self.evidence = True, [], None

    def said(self, decision: Decision) -> str:
        """Return a decision in a few words."""
        match decision:
            case Issue():
                about = decision.task.id if decision.task else decision.phase
                return f"{decision.type} {about}"
            case Pause():
                return f"pause {decision.reason}"
            case Fail():
                return f"fail {decision.code}"
            case _:
                return "over" if decision.is_over else "complete"

    def review(self, verdict: str) -> None:
        """Have a reviewer judge the phase of the gate that is out."""
        if self.out is None:
            return
        given: dict[str, Any] = {
            "attempt": self.out.attempt,
            "session": "s-1",
            "step": self.out.id,
            "phase": self.out.phase,
            "verdict": verdict,
            "findings": "[]",
            "reviewer": "deterministic",
            "issued_at": self.now,
        }
        found = Evidence(**given)
        self.evidence = replace(found, integrity=integrity_of(found, KEY))

    def execute(self, code: int) -> dict[str, Any]:
        """Run the verification that is out, and answer its receipt."""
        number = len(self.receipts) + 1
        digest = sha256(f"output {number}".encode())
        self.receipts = [
            *self.receipts,
            KeptReceipt(
                id=f"c{number}",
                command_hash=COMMAND,
                exit_code=code,
                output_digest=digest,
                issued_at=self.now,
            ),
        ]
        return {
            "command_hash": COMMAND,
            "exit_code": code,
            "output_digest": digest,
            "issued_at": self.now,
            "step_id": self.steps[-1].id,
        }

    def resume(self) -> None:
        """Go on, each gate that waited for a person reviewed."""
        for phase in tuple(self.gates):
            self._put_gate(after_resume(self.gates[phase], self.reason))
        self.counters = count_resumption(self.counters, self.reason, self.work_phase())
        if self.reason == "context_limit":
            self.context = ContextUse()
        self.status, self.reason, self.heartbeat = "running", "", self.now

    def work_phase(self) -> str:
        """Answer the phase in which something can be done."""
        found = self.situation(had_step=True).phase
        return found.id if found else self.at_work

    def rebase(self) -> None:
        """Take the spec as it is; gates of phases that were touched are judged afresh."""
        completed = [name for name in self.structure.tasks if self.tasks.get(name) == "done"]
        satisfied = [gate.phase for gate in self.gates.values() if gate.is_satisfied]
        after = self.present()
        found = rebase(self.structure, after, completed, satisfied, force=True)
        for phase in satisfied:
            if phase not in found.kept_gates:
                self.gates[phase] = PhaseGate(phase=phase)
        names = frozenset(after.tasks) | frozenset(after.phases)
        self.counters = count_rebase(self.counters, names, len(found.completed_removed))
        self.structure = after
        self.tidy_gates()
        self.status, self.reason, self.heartbeat = "running", "", self.now

    def waive(self, phase: str) -> None:
        """Have a maintainer waive a gate."""
        if not self.gates[phase].is_satisfied:
            self._put_gate(replace(self.gates[phase], status="waived", waiver=f"w-{phase}"))

    def tell(self, pct: int) -> None:
        """Send a sign of life with the use of the context."""
        self.context = report_use(self.context, pct, self.now, LIMITS)
        self.heartbeat = self.now

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.now = later(self.now, seconds)

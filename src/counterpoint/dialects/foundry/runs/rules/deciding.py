"""Which step is next, and how it is told.

What an unattended run does next, as rules in the order they are asked.

    before  0–3   a report is judged and recorded (`results`, `counting`, `gating.after_verdict`)
    4             the spec is gone, a row is not as it was written, or the structure has changed: the run fails
    5             the run is over, or paused
    6             the step that is out has grown stale
    7             no sign of life, and no step was out; 7b: somebody asked it to stop
    8             context, errors, tasks
    9             review cycles of the phase
    10            nothing can be done: all that is left is blocked
    15 · 13       the phase that was at work is complete · the gate of the next was judged
    11 · 12 · 16  a verification · the gate · a task of the phase at work
    17            all is done, the gates are satisfied, and the ledger says so: the spec is complete

The phase at work is the first in which something can be done. A rule answers a decision or None, and then the next one
is asked. That the items of tasks are completed with their reports leaves nothing to do for what the reference
calls 4b, to forget completions that the spec no longer knows. The limit of tasks holds back another task only:
reviews and the end of the last one are still issued.

The calls that a step requires of an agent, in their order.
Every call that changes the spec names the session, which is what its write lock asks for.

Answers about a run for an agent and its supervisor.
An answer is stored with the report that it was for, without proofs: these are derived when it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, cast

from counterpoint.dialects.foundry.models.runs import (
    LIVE,
    Counters,
    FailureReason,
    GatePolicy,
    IssuedStep,
    Limits,
    PauseReason,
    SessionStatus,
    StepType,
    StopConditions,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    GateEvent,
    PhaseGate,
    Reading,
    refuse_unproven,
    refuse_unsatisfied,
)
from counterpoint.dialects.foundry.runs.rules.results import is_stale
from counterpoint.dialects.foundry.runs.rules.signals import (
    Place,
    Standing,
    loop_signal,
    recommended_actions,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.errors import Conflict, CounterpointError, LedgerBroken, NotFound

Liveness = Literal["well", "late", "stale"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRef:
    """A task that can be done now, by the id of its node. command: the SHA-256 of what a verification runs; empty without."""

    id: str
    title: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseState:
    """How a phase stands, leaf by leaf counted.

    open_tasks, open_verifications: what is not completed. task, verification: the first of each that nothing is in the way of.
    gate: None where none is asked for.
    """

    id: str
    title: str = ""
    open_tasks: int = 0
    open_verifications: int = 0
    task: TaskRef | None = None
    verification: TaskRef | None = None
    gate: PhaseGate | None = None

    @property
    def is_done(self) -> bool:
        """Whether all its tasks and verifications are completed."""
        return not self.open_tasks and not self.open_verifications

    @property
    def is_complete(self) -> bool:
        """Whether it is done and its gate is satisfied."""
        return self.is_done and (self.gate is None or self.gate.is_satisfied)

    @property
    def can_go_on(self) -> bool:
        """Whether something can be done in it now."""
        if self.is_done:
            return not self.is_complete
        return self.task is not None or self._may_verify

    @property
    def _may_verify(self) -> bool:
        return not self.open_tasks and self.verification is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known when the next step is asked for, after the report of the last one was recorded.

    structure, kept_structure: the digest as it is, and as the run knows it. is_sound: whether its rows are as they were
    written. outstanding: a step that nobody reported (only a stale one gets here). had_step: whether one was out when the call came.
    heartbeat_at: the last sign of life; a start or a resumption is one. phases: all of the spec, in their order. at_work: the phase that
    the run was in. events: what the ledger says of gates, oldest first.
    """

    now: Timestamp
    status: SessionStatus = "running"
    pause_reason: PauseReason | Literal[""] = ""
    limits: Limits = field(default_factory=Limits)
    stop: StopConditions = field(default_factory=StopConditions)
    policy: GatePolicy = "strict"
    counters: Counters = field(default_factory=Counters)
    context: Reading
    heartbeat_at: Timestamp
    has_spec: bool = True
    is_sound: bool = True
    structure: str = ""
    kept_structure: str = ""
    outstanding: IssuedStep | None = None
    had_step: bool = False
    stop_requested: bool = False
    phases: tuple[PhaseState, ...] = ()
    at_work: str = ""
    events: tuple[GateEvent, ...] = ()

    @property
    def phase(self) -> PhaseState | None:
        """The phase to work on: the first in which something can be done."""
        return next((phase for phase in self.phases if phase.can_go_on), None)

    @property
    def is_done(self) -> bool:
        """Whether every phase is complete."""
        return all(phase.is_complete for phase in self.phases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A step is issued. needs_attempt: whether it begins an attempt at a gate, which needs an id."""

    type: StepType
    phase: str
    task: TaskRef | None = None
    message: str = ""
    needs_attempt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The run pauses, in a phase; code: what that is called among the codes of refusals, empty without one."""

    reason: PauseReason
    message: str
    phase: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """The run fails; code: of the refusal that the caller hears once this is written."""

    reason: FailureReason
    code: str
    message: str


COMPLETE_MESSAGE: Final = "Every phase is complete and every gate is satisfied."


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """All is done. is_over: whether that was so before, and nothing more is to be reported."""

    message: str = COMPLETE_MESSAGE
    is_over: bool = False


Decision = Issue | Pause | Fail | Complete

PAUSE_CODES: Final[Mapping[PauseReason, str]] = {
    "blocked": "ALL_TASKS_BLOCKED",
    "gate_failed": "GATE_BLOCKED",
    "heartbeat_stale": "HEARTBEAT_STALE",
    "step_stale": "STEP_STALE",
}
"""The pauses that are known as refusals too."""
STEP_MESSAGES: Final[Mapping[StepType, str]] = {
    "implement_task": "Implement {} and report what came of it.",
    "execute_verification": "Execute {} and report what came of it.",
    "run_fidelity_gate": "Have {} reviewed, and report the attempt.",
    "address_fidelity_feedback": "The review of {} did not pass: put right what it found.",
}
"""What is said of a step, with what it is about."""
PAUSE_MESSAGES: Final[Mapping[PauseReason, str]] = {
    "user": "Somebody asked this run to stop.",
    "context_limit": "The context of the agent is nearly used up.",
    "error_threshold": "Too many steps in a row have failed.",
    "blocked": "All that is left is blocked.",
    "gate_failed": "The gate of the phase did not pass.",
    "gate_review_required": "A person has to review the gate of the phase.",
    "task_limit": "This run has completed as many tasks as it may.",
    "heartbeat_stale": "Nothing was heard of the agent for too long.",
    "step_stale": "The step that is out was never reported back.",
    "phase_complete": "The phase is complete.",
    "fidelity_cycle_limit": "The phase was reviewed as often as it may be, without a pass.",
}


GATE_PAUSES: Final[frozenset[PauseReason]] = frozenset(
    {"gate_failed", "gate_review_required", "fidelity_cycle_limit"}
)
"""Pauses that last until a person has judged the phase."""


def decide(situation: Situation) -> Decision:
    """Return what comes next.

    Raises Conflict (SESSION_UNRECOVERABLE, INVALID_STATE_TRANSITION) if the run is over otherwise than by completing, GateClosed
    (REQUIRED_GATE_UNSATISFIED) and LedgerBroken (GATE_AUDIT_FAILURE) if it cannot be completed.
    """
    for rule in RULES:
        if (decision := rule(situation)) is not None:
            return decision
    refuse_unsatisfied(phase.gate for phase in situation.phases if phase.gate is not None)
    gates = [phase.gate for phase in situation.phases if phase.gate is not None]
    refuse_unproven(gates, situation.events)
    return Complete()


def liveness(heartbeat_at: Timestamp, now: Timestamp, limits: Limits) -> Liveness:
    """Return how long ago the last sign of life came: within the grace, within what is stale, or longer."""
    silent = elapsed_ms(heartbeat_at, now)
    if silent > limits.heartbeat_stale_minutes * 60_000:
        return "stale"
    return "late" if silent > limits.heartbeat_grace_minutes * 60_000 else "well"


def warns_of_silence(situation: Situation) -> bool:
    """Whether an answer is to warn that no sign of life comes while steps are out."""
    silence = liveness(situation.heartbeat_at, situation.now, situation.limits)
    return situation.had_step and silence != "well"


def pause(reason: PauseReason, phase: str = "") -> Pause:
    """Return a pause with what is said of it."""
    code = PAUSE_CODES.get(reason, "")
    return Pause(reason=reason, message=PAUSE_MESSAGES[reason], phase=phase, code=code)


def message_of(step: IssuedStep, reason: PauseReason | Literal[""] = "") -> str:
    """Return what was said of a step when it was issued; reason: of a pause."""
    if step.type == "pause":
        return PAUSE_MESSAGES.get(reason or "user", "")
    if step.type == "complete_spec":
        return COMPLETE_MESSAGE
    return STEP_MESSAGES[step.type].format(step.task or step.phase)


def _issued(kind: StepType, phase: str, task: TaskRef | None = None) -> Issue:
    message = STEP_MESSAGES[kind].format(task.id if task else phase)
    needs_attempt = kind == "run_fidelity_gate"
    return Issue(type=kind, phase=phase, task=task, message=message, needs_attempt=needs_attempt)


def _sound(situation: Situation) -> Decision | None:
    if situation.is_sound or situation.status in {"failed", "ended"}:
        return None
    message = "What is kept of this run is not as it was written."
    return Fail(reason="state_corrupt", code="SESSION_UNRECOVERABLE", message=message)


def _structure(situation: Situation) -> Decision | None:
    if situation.status not in LIVE:
        return None
    if not situation.has_spec:
        message = "The spec of this run is not there any more."
        return Fail(reason="spec_not_found", code="SPEC_NOT_FOUND", message=message)
    if situation.structure != situation.kept_structure:
        message = "Phases or tasks were added, moved or removed since this run began."
        return Fail(reason="spec_structure_changed", code="SPEC_REBASE_REQUIRED", message=message)
    return None


def _over(situation: Situation) -> Decision | None:
    if situation.status == "completed":
        return Complete(is_over=True)
    if situation.status == "failed":
        raise LedgerBroken(
            "the run has failed",
            hint="Rebase it to the spec as it is, or reset it and start another.",
            error_code="SESSION_UNRECOVERABLE",
        )
    if situation.status == "ended":
        raise Conflict(
            "the run has ended",
            hint="Start another.",
            error_code="INVALID_STATE_TRANSITION",
        )
    return None


def _paused(situation: Situation) -> Decision | None:
    if situation.status != "paused":
        return None
    return pause(situation.pause_reason or "user", situation.at_work)


def _stale_step(situation: Situation) -> Decision | None:
    step = situation.outstanding
    if step is None or not is_stale(step, situation.now, situation.limits):
        return None
    return pause("step_stale", step.phase)


def _silence(situation: Situation) -> Decision | None:
    # A step that was out is why nothing was heard: whoever reports it is there.
    if situation.had_step:
        return None
    silence = liveness(situation.heartbeat_at, situation.now, situation.limits)
    return pause("heartbeat_stale", situation.at_work) if silence == "stale" else None


def _stop(situation: Situation) -> Decision | None:
    return pause("user", situation.at_work) if situation.stop_requested else None


def _context(situation: Situation) -> Decision | None:
    if situation.context.pct < situation.limits.context_threshold_pct:
        return None
    return pause("context_limit", situation.at_work)


def _errors(situation: Situation) -> Decision | None:
    if situation.counters.consecutive_errors < situation.limits.max_consecutive_errors:
        return None
    return pause("error_threshold", situation.at_work)


def _tasks(situation: Situation) -> Decision | None:
    if situation.counters.tasks_completed < situation.limits.max_tasks_per_session:
        return None
    phase = situation.phase
    return None if phase is None or phase.is_done else pause("task_limit", phase.id)


def _cycles(situation: Situation) -> Decision | None:
    phase = situation.phase
    if phase is None or phase.gate is None or phase.gate.is_satisfied:
        return None
    most = situation.limits.max_fidelity_review_cycles_per_phase
    if situation.counters.cycles_of(phase.id) < most:
        return None
    return pause("fidelity_cycle_limit", phase.id)


def _blocked(situation: Situation) -> Decision | None:
    if situation.phase is not None or situation.is_done:
        return None
    return pause("blocked", situation.at_work)


def _judged_gate(situation: Situation) -> Decision | None:
    phase = situation.phase
    if phase is None or not phase.is_done or phase.gate is None:
        return None
    if phase.gate.awaits_person:
        return pause("gate_review_required", phase.id)
    if phase.gate.status != "failed":
        return None
    if not situation.stop.auto_retry_fidelity_gate:
        return pause("gate_failed", phase.id)
    return _issued("address_fidelity_feedback", phase.id)


def _phase_end(situation: Situation) -> Decision | None:
    if not situation.stop.stop_on_phase_completion or not situation.at_work:
        return None
    worked_phase = next(
        (phase for phase in situation.phases if phase.id == situation.at_work), None
    )
    return (
        pause("phase_complete", worked_phase.id)
        if worked_phase is not None and worked_phase.is_complete
        else None
    )


def _verification(situation: Situation) -> Decision | None:
    phase = situation.phase
    if phase is None or phase.open_tasks or phase.verification is None:
        return None
    return _issued("execute_verification", phase.id, phase.verification)


def _decide_gate(situation: Situation) -> Decision | None:
    phase = situation.phase
    if phase is None or not phase.is_done:
        return None
    return _issued("run_fidelity_gate", phase.id)


def _next_task(situation: Situation) -> Decision | None:
    phase = situation.phase
    if phase is None or phase.task is None:
        return None
    return _issued("implement_task", phase.id, phase.task)


RULES: Final[tuple[Callable[[Situation], Decision | None], ...]] = (
    _sound,
    _structure,
    _over,
    _paused,
    _stale_step,
    _silence,
    _stop,
    _context,
    _errors,
    _tasks,
    _cycles,
    _blocked,
    _phase_end,
    _judged_gate,
    _verification,
    _decide_gate,
    _next_task,
)
"""Every rule in its order; where none answers, the spec is complete."""


def phase_after(decision: Decision, at_work: str) -> str:
    """Return the phase that a run is in after a decision.

    At the end of a phase it is in none: so that end is told once, and the next step says where it goes on.
    """
    if isinstance(decision, Issue):
        return decision.phase
    if isinstance(decision, Pause):
        return "" if decision.reason == "phase_complete" else at_work
    return at_work if isinstance(decision, Fail) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One call: the tool, its action, and what to give it."""

    tool: str
    action: str
    description: str

    def told(self) -> dict[str, Json]:
        """Return it as an answer has it."""
        return {"tool": self.tool, "action": self.action, "description": self.description}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlace:
    """What the instructions of a step name. has_command: whether its verification has one that can be executed."""

    spec: str
    session: str
    step: str
    task: str = ""
    phase: str = ""
    attempt: str = ""
    has_command: bool = False

    @property
    def of_task(self) -> str:
        """The arguments that a call about the task has."""
        return f"spec_id={self.spec} task_id={self.task} session_id={self.session}"


def instructions(step_type: StepType, context: StepPlace) -> tuple[Instruction, ...]:
    """Return what to call for a step of a type."""
    return _BY_TYPE[step_type](context)


def _next(context: StepPlace, text: str) -> Instruction:
    description = (
        f"{text}: command=next session_id={context.session}, with last_step_result of step_id={context.step}"
        " and its step_proof."
    )
    return Instruction(tool="task", action="session-step", description=description)


def _implement(context: StepPlace) -> tuple[Instruction, ...]:
    return (
        Instruction(
            tool="task",
            action="prepare",
            description=f"Read the task and what it builds on: {context.of_task}.",
        ),
        Instruction(
            tool="task",
            action="update-status",
            description=f"Say that you are at it: {context.of_task} status=in_progress.",
        ),
        Instruction(
            tool="task",
            action="complete",
            description=f"Complete it when it is done: {context.of_task}, with a completion_note."
            f" Then report the step with its proof and task_id={context.task}.",
        ),
    )


def _verify(context: StepPlace) -> tuple[Instruction, ...]:
    ends = f"its proof and task_id={context.task}"
    if context.has_command:
        ends = f"its proof, task_id={context.task} and the receipt as verification_receipt"
    execute = Instruction(
        tool="verification",
        action="execute",
        description=f"Run it and keep the receipt: spec_id={context.spec} verify_id={context.task}"
        f" session_id={context.session} step_id={context.step}.",
    )
    read = (
        "Read what is to be verified"
        if context.has_command
        else "Read what is to be verified by hand"
    )
    return (
        Instruction(tool="task", action="info", description=f"{read}: {context.of_task}."),
        *((execute,) if context.has_command else ()),
        Instruction(
            tool="task",
            action="complete",
            description=f"Complete it if it passed: {context.of_task}. Then report the step with {ends}.",
        ),
    )


def _gate_instructions(context: StepPlace) -> tuple[Instruction, ...]:
    return (
        Instruction(
            tool="review",
            action="fidelity-gate",
            description=f"Have the phase reviewed: spec_id={context.spec} phase_id={context.phase}"
            f" session_id={context.session} step_id={context.step}.",
        ),
        _next(context, f"Report it, with phase_id and gate_attempt_id={context.attempt}"),
    )


def _feedback(context: StepPlace) -> tuple[Instruction, ...]:
    return (
        Instruction(
            tool="review",
            action="fidelity",
            description=f"Read what the review found: spec_id={context.spec} phase_id={context.phase}"
            f" session_id={context.session}.",
        ),
        Instruction(
            tool="task",
            action="prepare",
            description="Read the tasks that it is about, put right what was found, and execute the"
            " verifications of the phase again if files were changed:"
            f" spec_id={context.spec} session_id={context.session}.",
        ),
        _next(context, "Report it, with phase_id"),
    )


def _pause(context: StepPlace) -> tuple[Instruction, ...]:
    return (_next(context, "Stop here. Once the run is resumed, report this step"),)


def _complete(context: StepPlace) -> tuple[Instruction, ...]:
    return (_next(context, "Nothing is left to do; report this step"),)


_BY_TYPE: Final[Mapping[StepType, Callable[[StepPlace], tuple[Instruction, ...]]]] = {
    "implement_task": _implement,
    "execute_verification": _verify,
    "run_fidelity_gate": _gate_instructions,
    "address_fidelity_feedback": _feedback,
    "pause": _pause,
    "complete_spec": _complete,
}


PROOF: Final = "step_proof"
STEP: Final = "next_step"
REFUSAL: Final = "refusal"
"""The field of an answer with the refusal that its caller gets, once the answer is stored."""
_TITLE: Final = 300
_NAMES: Final = 1_500
"""Bytes of a list of phases, with two quotes and a comma for each."""
_QUOTES: Final = 3
_KINDS: Final[Mapping[str, type[CounterpointError]]] = {
    "SPEC_NOT_FOUND": NotFound,
    "SPEC_REBASE_REQUIRED": Conflict,
    "SESSION_UNRECOVERABLE": LedgerBroken,
}
_HINTS: Final[Mapping[str, str]] = {
    "SPEC_NOT_FOUND": "End this run; its spec is not there any more.",
    "SPEC_REBASE_REQUIRED": "Rebase the run to the spec as it is. The report was taken: then ask for the next step without one.",
    "SESSION_UNRECOVERABLE": "Have a person look at it, then reset the run and start another.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """How a run stands after a call. spec: the id of its spec; gates: of its phases, in their order."""

    session: str
    spec: str
    status: str
    version: int
    pause_reason: str = ""
    failure_reason: str = ""
    gates: Sequence[PhaseGate] = ()

    @property
    def standing(self) -> Standing:
        """The same as signals see it."""
        return Standing(
            status=self.status,
            pause_reason=self.pause_reason,
            failure_reason=self.failure_reason,
        )


def answer(state: RunState, step: IssuedStep | None, title: str = "", reason: str = "") -> Json:
    """Build the answer about a run. step: the outstanding one; title: of its task; reason: of its pause."""
    awaited = next((gate for gate in state.gates if gate.awaits_person), None)
    about = awaited or next((gate for gate in state.gates if gate.status == "failed"), None)
    place_of_run = Place(
        session=state.session,
        spec=state.spec,
        phase=about.phase if about else "",
        attempt=awaited.attempt if awaited else "",
    )
    required = [gate.phase for gate in state.gates]
    satisfied = [gate.phase for gate in state.gates if gate.is_satisfied]
    missing = [gate.phase for gate in state.gates if not gate.is_satisfied]
    fields: dict[str, Json] = {
        "session_id": state.session,
        "spec_id": state.spec,
        "status": state.status,
        "state_version": state.version,
        STEP: _step(state, step, title, reason) if step else None,
        "required_phase_gates": _few(required),
        "satisfied_gates": _few(satisfied),
        "missing_required_gates": _few(missing),
        "loop_signal": loop_signal(state.standing),
        "recommended_actions": cast("Json", recommended_actions(state.standing, place_of_run)),
    }
    if state.pause_reason:
        fields["pause_reason"] = state.pause_reason
    if awaited is not None:
        fields |= {"phase_id": awaited.phase, "gate_attempt_id": awaited.attempt}
    if state.failure_reason:
        fields["failure_reason"] = state.failure_reason
    return fields


def refused(fail: Fail, session: str) -> Json:
    """Build the stored answer in place of a refusal, so that what was written with it stays."""
    return {REFUSAL: {"code": fail.code, "message": fail.message}, "session_id": session}


def refusal_in(data: Json) -> CounterpointError | None:
    """Return the refusal that an answer stands for; None if it is none."""
    refusal = object_of(object_of(data).get(REFUSAL))
    if not refusal:
        return None
    code = str(refusal["code"])
    kind = _KINDS[code]
    session = object_of(data).get("session_id")
    return kind(
        str(refusal["message"]),
        hint=_HINTS[code],
        remediation=_HINTS[code],
        session_id=session,
        error_code=code,
    )


def step_of(data: Json) -> dict[str, Json]:
    """Return the step of an answer; empty without one."""
    return object_of(object_of(data).get(STEP))


def pause_code(data: Json) -> str:
    """Return the error code of an answer's pause; empty without one."""
    reason = object_of(data).get("pause_reason", "")
    return PAUSE_CODES.get(cast("PauseReason", reason), "")


def _step(state: RunState, step: IssuedStep, title: str, reason: str) -> dict[str, Json]:
    step_context = StepPlace(
        spec=state.spec,
        session=state.session,
        step=step.id,
        task=step.task,
        phase=step.phase,
        attempt=step.attempt,
        has_command=bool(step.command),
    )
    return {
        "step_id": step.id,
        "type": step.type,
        "task_id": step.task or None,
        "phase_id": step.phase or None,
        "task_title": title[:_TITLE] or None,
        "gate_attempt_id": step.attempt or None,
        "instructions": [
            instruction.told() for instruction in instructions(step.type, step_context)
        ],
        "reason": reason or None,
        "message": message_of(step, cast("PauseReason", reason)),
        PROOF: None,
    }


def _few(names: Iterable[str]) -> list[Json]:
    """Return the first of some names, as many as fit."""
    fitting: list[Json] = []
    bytes_left = _NAMES
    for name in names:
        bytes_left -= len(name.encode()) + _QUOTES
        if bytes_left < 0:
            break
        fitting.append(name)
    return fitting

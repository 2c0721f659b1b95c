"""What a run may be told, and what its gates and counters say.

Gates of phases in a run: what opens them, and what proves that it did.
gate           asked of a phase             opened by
fidelity       with a verify node           a verdict that the policy lets pass, or a person under the policy `manual`
manual_review  without one                  a person who has seen what the reviewer found, whatever the policy

policy   passes         fails         waits for a person
strict   pass           warn, fail    –
lenient  pass, warn     fail          –
manual   –              –             every verdict

What the outcomes of steps do to the counters of a run.
step                       outcome            consecutive errors   retries
implement_task,            success            none again           –
execute_verification       failure            one more             one more of the task
                           skipped            –                    one more of the task
address_fidelity_feedback  success            none again           –
                           failure            one more             –
run_fidelity_gate          no pass            –                    one more of the phase
pause, complete_spec       any                –                    –

How much of its context an agent has used: measured, reported or estimated.
What counts, in this order: a file beside the agent's sandbox that is fresh; what the agent said; an estimate. The
estimate is the last reported use plus a share for each step since then. It is never the base of another estimate, so a
run that reports 20 % each time stays there, and one that reports nothing is at the share of its steps, no more. A report
that has grown stale counts a fixed penalty higher.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

from counterpoint.core.model.access import Independence
from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.models.runs import (
    LIVE,
    REASON_CODES,
    TASK_STEPS,
    Command,
    ContextSource,
    ContextUse,
    Counters,
    Evidence,
    GateKind,
    GatePolicy,
    GateStatus,
    IssuedStep,
    Limits,
    Outcome,
    Role,
    SessionStatus,
    StepType,
    Verdict,
    move_of,
)
from counterpoint.dialects.foundry.nodes.rules.shape import is_one_of, quoted
from counterpoint.dialects.foundry.runs.rules.limits import Terms
from counterpoint.dialects.foundry.runs.rules.signals import name_node
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.clock import TOLERANCE_MS, Timestamp, elapsed_ms, moment, stamp
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    Forbidden,
    GateClosed,
    InvalidInput,
    LedgerBroken,
    NotFound,
)

PASSING: Final[Mapping[GatePolicy, frozenset[Verdict]]] = {
    "strict": frozenset({"pass"}),
    "lenient": frozenset({"pass", "warn"}),
    "manual": frozenset(),
}
"""The verdicts that open a gate under each policy."""
SATISFIED: Final[frozenset[GateStatus]] = frozenset({"passed", "waived"})
_VERSION: Final = "v2"

GateEventKind = Literal["gate_passed", "gate_failed", "gate_waived"]
_PROVEN_BY: Final[Mapping[GateStatus, GateEventKind]] = {
    "passed": "gate_passed",
    "waived": "gate_waived",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseGate:
    """The gate of a phase as a run sees it.

    verdict, attempt: of the evidence that was reported last, empty once it is answered: by feedback, or by a person who had the
    gate tried again. waiver: what it was waived with.
    """

    phase: str
    required: GateKind = "fidelity"
    status: GateStatus = "pending"
    verdict: Verdict | Literal[""] = ""
    attempt: str = ""
    waiver: str = ""

    @property
    def is_satisfied(self) -> bool:
        """Whether it stands in the way of nothing."""
        return self.status in SATISFIED

    @property
    def awaits_person(self) -> bool:
        """Whether a reviewer has judged, and a person has to say what comes of it."""
        return self.status == "pending" and bool(self.verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEvent:
    """What the ledger says became of the gate of a phase; attempt: at the gate, or the waiver's id."""

    phase: str
    kind: GateEventKind
    attempt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStep:
    """The step of a run for which somebody wants a phase reviewed; proof: its one, empty if it was not given."""

    spec: str
    session: str
    step: str
    phase: str
    proof: str = ""


def refuse_review(status: SessionStatus, step: IssuedStep | None, request: GateStep) -> IssuedStep:
    """Return the step that is out, if it is the one for which a phase is to be reviewed; Conflict.

    status: of the run. step: the one that is out, None if none is.
    """
    if status != "running":
        raise Conflict(
            f"run {request.session} is {status}",
            hint="A gate is reviewed for a step of a run that goes on.",
            status=status,
            error_code="INVALID_STATE_TRANSITION",
        )
    required = (request.step, "run_fidelity_gate", request.phase)
    if step is None or (step.id, step.type, step.phase) != required:
        out: dict[str, Json] = {"step_id": step.id, "step_type": step.type} if step else {}
        hint = "Ask for the next step; a gate is reviewed for the step that is out."
        raise Conflict(
            f"{quoted(request.step)} is no step of this run that is out, and asks for a review of {request.phase}",
            hint=hint,
            remediation=hint,
            **out,
            error_code="STEP_MISMATCH",
        )
    if request.proof and canonical.text_digest(request.proof) != step.proof:
        hint = "Give step_proof as it came with the step, or leave it out."
        raise Conflict(
            f"the proof is not that of step {step.id}",
            hint=hint,
            remediation=hint,
            step_id=step.id,
            error_code="STEP_PROOF_MISMATCH",
        )
    return step


def policy_for(policy: GatePolicy, reviews: Independence) -> GatePolicy:
    """Return the policy that counts; reviews: what the project asks of whoever judges.

    Where that is a person, no reviewer opens a gate.
    """
    return "manual" if reviews == "person" else policy


def waiver_of(gate: Gate) -> str:
    """Return the id of the waiver of a gate, by whatever command it was waived."""
    return f"waiver-{gate.item}"


def required_gate(*, has_verify: bool) -> GateKind:
    """Return the gate of a phase; has_verify: whether one of its nodes is a verification."""
    return "fidelity" if has_verify else "manual_review"


def judged(required: GateKind, policy: GatePolicy, verdict: Verdict) -> GateStatus:
    """Return how a gate stands after a verdict; `pending` waits for a person."""
    if required == "manual_review" or policy == "manual":
        return "pending"
    return "passed" if verdict in PASSING[policy] else "failed"


def asked_of(gate: Gate | None, *, has_verify: bool) -> GateKind:
    """Return what the gate of a phase asks for at present; has_verify: whether one of its nodes is a verification.

    What was asked of a person first stays so: nobody gets round him by adding a verification.
    """
    if gate is not None and gate.name == "manual_review":
        return "manual_review"
    return required_gate(has_verify=has_verify)


def after_verdict(gate: PhaseGate, policy: GatePolicy, verdict: Verdict, attempt: str) -> PhaseGate:
    """Return a gate after evidence was reported; one that is satisfied stays so."""
    if gate.is_satisfied:
        return gate
    status = judged(gate.required, policy, verdict)
    return replace(gate, status=status, verdict=verdict, attempt=attempt)


def tried_again(gate: PhaseGate) -> PhaseGate:
    """Return a gate that has to be judged afresh; one that is satisfied stays so."""
    return gate if gate.is_satisfied else replace(gate, status="pending", verdict="", attempt="")


def rejected(gate: PhaseGate, attempt: str) -> PhaseGate:
    """Return a gate after a person has sent the phase back; one that is satisfied stays so. attempt: the one that was seen."""
    return (
        gate
        if gate.is_satisfied
        else replace(gate, status="failed", verdict="fail", attempt=attempt)
    )


def acknowledged(gate: PhaseGate) -> PhaseGate:
    """Return a gate that waited for a person after that person has reviewed it."""
    return replace(gate, status="passed") if gate.awaits_person else gate


def after_resume(gate: PhaseGate, reason: str) -> PhaseGate:
    """Return a gate after a run was resumed; reason: of its pause."""
    if reason == "gate_review_required":
        return acknowledged(gate)
    if reason in {"gate_failed", "fidelity_cycle_limit"}:
        return tried_again(gate)
    return gate


def integrity_of(evidence: Evidence, key: bytes) -> str:
    """Return the HMAC-SHA-256 over every other field of evidence as 64 hex digits; key: of the project."""
    fields = {name: value for name, value in asdict(evidence).items() if name != "integrity"}
    body = canonical.dump({"version": _VERSION, **fields})
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def is_genuine(evidence: Evidence, key: bytes) -> bool:
    """Whether evidence has the integrity that it should; without a key nothing has."""
    if not key or not evidence.integrity.isascii():
        return False
    return hmac.compare_digest(evidence.integrity, integrity_of(evidence, key))


def refuse_evidence(step: IssuedStep, session: str, evidence: Evidence | None, key: bytes) -> None:
    """Raise unless there is evidence of a step, and it is as the reviewer left it.

    key: of the project. InvalidInput with INVALID_GATE_EVIDENCE if it is none or of something else, LedgerBroken with
    GATE_INTEGRITY_CHECKSUM if somebody changed it.
    """
    afresh = (
        "Have the gate reviewed for this step, then report it with the attempt that the step names."
    )
    if evidence is None:
        raise InvalidInput(
            f"no review was made for step {step.id}",
            hint=afresh,
            remediation=afresh,
            error_code="INVALID_GATE_EVIDENCE",
        )
    # Its integrity comes first: fields that somebody changed say nothing.
    if not is_genuine(evidence, key):
        hint = f"Have the gate reviewed again, and {Act.AUDIT} to see who changed it."
        raise LedgerBroken(
            f"the evidence of attempt {evidence.attempt} is not as its reviewer left it",
            hint=hint,
            remediation=hint,
            error_code="GATE_INTEGRITY_CHECKSUM",
        )
    identity = (evidence.session, evidence.step, evidence.phase, evidence.attempt)
    if identity != (session, step.id, step.phase, step.attempt):
        raise InvalidInput(
            f"the evidence of attempt {evidence.attempt} is of another step",
            hint=afresh,
            remediation=afresh,
            error_code="INVALID_GATE_EVIDENCE",
        )


def missing(gates: Iterable[PhaseGate]) -> tuple[str, ...]:
    """Return the phases whose gates are not satisfied."""
    return tuple(gate.phase for gate in gates if not gate.is_satisfied)


def refuse_unsatisfied(gates: Iterable[PhaseGate]) -> None:
    """Raise GateClosed while a gate is not satisfied."""
    if names := missing(gates):
        raise GateClosed(
            f"the gates of these phases are not satisfied: {', '.join(names)}",
            hint=f"Have each reviewed, or {Act.WAIVE}.",
            missing_required_gates=list(names),
            error_code="REQUIRED_GATE_UNSATISFIED",
        )


def refuse_unproven(gates: Iterable[PhaseGate], events: Sequence[GateEvent]) -> None:
    """Raise LedgerBroken unless the ledger says of every satisfied gate how it came to be so.

    events: all that the ledger has of these gates, oldest first; the last one of a phase counts.
    """
    last = {event.phase: event for event in events}
    wrong = [gate.phase for gate in gates if not _is_proven(gate, last.get(gate.phase))]
    if wrong:
        hint = f"{Act.AUDIT}, then have these gates reviewed again."
        raise LedgerBroken(
            f"the ledger does not say what the gates of these phases say: {', '.join(wrong)}",
            hint=hint,
            remediation=hint,
            phases=wrong,
            error_code="GATE_AUDIT_FAILURE",
        )


def _is_proven(gate: PhaseGate, event: GateEvent | None) -> bool:
    if not gate.is_satisfied:
        return event is None or event.kind == "gate_failed"
    attempt = gate.waiver if gate.status == "waived" else gate.attempt
    return event is not None and event.kind == _PROVEN_BY[gate.status] and event.attempt == attempt


DETAIL_LIMIT: Final = 2_000
KEY_LIMIT: Final = 128
_SHOWN: Final = 20

Beginning = Literal["begin", "answer", "replace"]
"""What a start does: it begins a run, answers with the one that there is, or ends that and begins another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRef:
    """A run as commands see it. attempt: the one at a gate that waits for a person, with its phase; empty if none does."""

    session: str
    spec: str
    status: SessionStatus
    pause_reason: str = ""
    idempotency: str = ""
    attempt: str = ""
    phase: str = ""
    is_locking: bool = True


def only_run(runs: Sequence[RunRef], selector: str = "") -> RunRef:
    """Return the run that a caller means, of those that fit; NotFound or Conflict.

    selector: what it was named by, the session or the spec; empty if by nothing.
    """
    if not runs:
        raise NotFound(
            f"there is no run of {quoted(selector)}" if selector else "no run is live",
            hint="Start one for the spec.",
            error_code="NO_ACTIVE_SESSION",
        )
    if len(runs) > 1:
        raise Conflict(
            f"{len(runs)} runs are live",
            hint="Name the one that you mean by session_id or `spec_id`.",
            sessions=[{"session_id": run.session, "spec_id": run.spec} for run in runs[:_SHOWN]],
            error_code="AMBIGUOUS_ACTIVE_SESSION",
        )
    return runs[0]


def beginning(run: RunRef | None, key: str, *, force: bool) -> Beginning:
    """Return what a start does; Conflict if another run is live. run: of the spec, the latest; key: of idempotency."""
    if len(key) > KEY_LIMIT:
        raise InvalidInput(f"`idempotency_key` has more than {KEY_LIMIT} characters")
    if run is None or run.status not in LIVE:
        return "begin"
    if key and key == run.idempotency:
        return "answer"
    if force:
        return "replace"
    raise _exists(run, "Go on with it, or end it; `force` ends it and starts another.")


def refuse_second(run: RunRef, live: RunRef | None) -> None:
    """Raise Conflict if a run that is not live is to go on while another one of its spec is. live: that one; None without."""
    if live is not None and live.session != run.session:
        raise _exists(live, "Go on with that one, or end it first.")


def refuse_command(
    command: Command, run: RunRef | None, *, force: bool = False, same_structure: bool = True
) -> SessionStatus:
    """Return the state of a run after a command other than start; raise the refusal of the table.

    same_structure: whether its spec has the structure that it knows.
    """
    move = move_of(command, run.status if run else None)
    if run is None:
        raise NotFound("there is no such run", hint="Start one.", error_code=move.code)
    if move.to is None or ("force" in move.asks and not force):
        raise _illegal(command, run, is_forcible=move.to is not None)
    if "same_structure" in move.asks and not same_structure:
        raise Conflict(
            f"the structure of {run.spec} is not what run {run.session} knows",
            hint="Rebase it to the spec as it is.",
            error_code="SPEC_REBASE_REQUIRED",
        )
    return move.to


def refuse_unacknowledged(run: RunRef, attempt: str, *, is_acknowledged: bool) -> None:
    """Raise while a paused run waits for a person to review a gate, and the caller does not say that this was done.

    attempt: the one that the caller says was reviewed. GateClosed or InvalidInput.
    """
    if run.pause_reason != "gate_review_required":
        return
    facts: dict[str, Json] = {"gate_attempt_id": run.attempt}
    if run.phase:
        facts["about"] = name_node(run.spec, run.phase)
    if not is_acknowledged:
        raise GateClosed(
            f"attempt {run.attempt} at the gate waits for a person",
            hint=f"{Act.REVIEW}, then resume. Whoever reviews it by resuming gives"
            " acknowledge_gate_review and the attempt.",
            **facts,
            error_code="MANUAL_GATE_ACK_REQUIRED",
        )
    if attempt != run.attempt:
        raise InvalidInput(
            f"{quoted(attempt)} is not the attempt that waits to be reviewed",
            hint="Give its id as acknowledged_gate_attempt_id.",
            **facts,
            error_code="INVALID_GATE_ACK",
        )


def refuse_unreasoned(code: Json, detail: Json, *, session_named: bool = True) -> None:
    """Raise InvalidInput unless a run is ended, reset or a gate waived for a reason of the list.

    session_named: whether the run was named by its id, which a reset asks for.
    """
    faults: list[dict[str, Json]] = []
    if not session_named:
        faults.append({"path": "session_id", "problem": "is required"})
    if code is None or code == "":
        faults.append({"path": "reason_code", "problem": "is required"})
    elif not is_one_of(code, REASON_CODES):
        problem = f"is one of {', '.join(REASON_CODES)}, not {quoted(code)}"
        faults.append({"path": "reason_code", "problem": problem})
    if detail is not None and not (isinstance(detail, str) and len(detail) <= DETAIL_LIMIT):
        problem = f"is a text of at most {DETAIL_LIMIT} characters"
        faults.append({"path": "reason_detail", "problem": problem})
    if faults:
        message = "; ".join(f"`{fault['path']}` {fault['problem']}" for fault in faults)
        raise InvalidInput(message, faults=faults)


def refuse_locked(
    run: RunRef | None,
    session: str,
    role: Role = "observer",
    terms: Terms | None = None,
    *,
    bypass: bool = False,
) -> None:
    """Raise while a run works on a spec and somebody else wants to change that. session: the one that the caller gives.

    A maintainer passes with `bypass` if his terms let him. Conflict or Forbidden.
    """
    if run is None or run.status != "running" or not run.is_locking or session == run.session:
        return
    if not bypass:
        raise Conflict(
            f"run {run.session} is working on {run.spec}",
            hint="Give its session_id if you work in it; else pause it first.",
            session_id=run.session,
            error_code="AUTONOMY_WRITE_LOCK_ACTIVE",
        )
    if role != "maintainer" or terms is None or not terms.may_bypass:
        raise Forbidden(
            "the lock of a run may not be bypassed here",
            hint="Pause the run first, or have a maintainer do it.",
            error_code="FORBIDDEN",
        )


def refuse_outside_run(role: Role, run: RunRef | None, session: str) -> None:
    """Raise Forbidden (AUTHORIZATION) unless a call names the run that goes on with its spec. run: that one, if there is one."""
    if run is not None and session == run.session:
        return
    if run is None:
        why, hint = "no run goes on with this spec", "Begin or resume one with `task session`."
    elif session:
        why, hint = f"{quoted(session)} is not the run of {run.spec}", "Name your own run."
    else:
        why, hint = "the call names none", "Give the session_id of your run."
    raise Forbidden(
        f"the role {role} changes a spec only in its own run, and {why}",
        hint=f"{hint} Each step of a run says which calls it asks for.",
        role=role,
        error_code="AUTHORIZATION",
    )


def refuse_stranger(run: RunRef, holder: str, *, is_strict: bool = False) -> None:
    """Raise Conflict for a call that names a run which somebody else is at. holder: who; empty for nobody else.

    Everybody can read the id of a run: to name it proves nothing. is_strict: also where the run keeps nobody out.
    """
    if holder and run.status == "running" and (run.is_locking or is_strict):
        raise Conflict(
            f"{holder} is at run {run.session} of {run.spec}",
            hint="Leave the spec to whoever is at its run, or pause that first.",
            session_id=run.session,
            error_code="AUTONOMY_WRITE_LOCK_ACTIVE",
        )


def refuse_auto_mode(spec_id: str) -> None:
    """Raise InvalidInput if a run is configured without its spec."""
    if not spec_id:
        raise InvalidInput(
            "`auto_mode` is about one spec",
            hint="Give `spec_id`.",
            error_code="AUTO_MODE_SPEC_REQUIRED",
        )


def refuse_waiver(
    phase: str, gates: Mapping[str, PhaseGate], role: Role, terms: Terms
) -> PhaseGate:
    """Return the gate of a phase that may be waived; Forbidden, NotFound or InvalidInput.

    gates: those of the spec by phase. That nobody waives what he worked on himself is the core's to refuse.
    """
    if role != "maintainer" or not terms.may_waive:
        raise Forbidden(
            "gates may not be waived here",
            hint=f"{Act.WAIVE}.",
            error_code="FORBIDDEN",
        )
    gate = gates.get(phase)
    if gate is None:
        raise NotFound(
            f"there is no gate of a phase {quoted(phase)}",
            hint="Use one of available_phases.",
            available_phases=list(gates)[:100],
            error_code="NOT_FOUND",
        )
    if gate.is_satisfied:
        raise InvalidInput(f"the gate of {phase} is {gate.status} already", gate_status=gate.status)
    return gate


def _exists(run: RunRef, hint: str) -> Conflict:
    return Conflict(
        f"run {run.session} of {run.spec} is {run.status}",
        hint=hint,
        session_id=run.session,
        session_status=run.status,
        error_code="SPEC_SESSION_EXISTS",
    )


def _illegal(command: Command, run: RunRef, *, is_forcible: bool) -> CounterpointError:
    ways = "Read how it stands, and use a command that fits."
    return Conflict(
        f"a run that is {run.status} cannot be met with `{command}`",
        hint=f"Say `force` if you mean it. {ways}" if is_forcible else ways,
        session_id=run.session,
        session_status=run.status,
        error_code="INVALID_STATE_TRANSITION",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What was reported of a step. gate: how the gate stands after it, for a step that ran one."""

    type: StepType
    outcome: Outcome
    task: str = ""
    phase: str = ""
    gate: GateStatus = "pending"


def count_result(counters: Counters, result: Result) -> Counters:
    """Return the counters after a step's result."""
    if result.type in TASK_STEPS:
        return _after_task(counters, result)
    if result.type == "address_fidelity_feedback" and result.outcome != "skipped":
        errors = 0 if result.outcome == "success" else counters.consecutive_errors + 1
        return replace(counters, consecutive_errors=errors)
    if result.type == "run_fidelity_gate" and _is_cycle(result):
        return replace(counters, phase_retries=_more(counters.phase_retries, result.phase))
    return counters


def is_completed(result: Result) -> bool:
    """Whether a task is to be completed with this result."""
    return result.type in TASK_STEPS and result.outcome == "success"


def count_resumption(counters: Counters, reason: str, phase: str) -> Counters:
    """Return the counters after a run was resumed; reason: of its pause; phase: the one at work.

    Whoever resumes from a limit of errors or of reviews gives the run as many again. The limit of tasks is of the whole run.
    """
    give = _GIVEN.get(reason)
    return give(counters, phase) if give else counters


def count_rebase(counters: Counters, ids: frozenset[str], completed_removed: int) -> Counters:
    """Return the counters after a rebase; ids: that still exist; completed_removed: completed tasks that do not."""
    return Counters(
        tasks_completed=max(0, counters.tasks_completed - completed_removed),
        consecutive_errors=0,
        task_retries=_only(counters.task_retries, ids),
        phase_retries=_only(counters.phase_retries, ids),
    )


def _after_task(counters: Counters, result: Result) -> Counters:
    if result.outcome == "success":
        done = counters.tasks_completed + 1
        return replace(counters, tasks_completed=done, consecutive_errors=0)
    errors = counters.consecutive_errors + (result.outcome == "failure")
    retries = _more(counters.task_retries, result.task)
    return replace(counters, consecutive_errors=errors, task_retries=retries)


def _is_cycle(result: Result) -> bool:
    """Whether a review ended without a pass; one that waits for a person has not ended."""
    return result.outcome == "failure" or (result.outcome == "success" and result.gate == "failed")


def _more(counts: Mapping[str, int], name: str) -> dict[str, int]:
    return {**counts, name: counts.get(name, 0) + 1}


def _only(counts: Mapping[str, int], ids: frozenset[str]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name in ids}


def _without_errors(counters: Counters, _phase: str) -> Counters:
    return replace(counters, consecutive_errors=0)


def _without_cycles(counters: Counters, phase: str) -> Counters:
    ids = frozenset(counters.phase_retries) - {phase}
    return replace(counters, phase_retries=_only(counters.phase_retries, ids))


_GIVEN: Final[Mapping[str, Callable[[Counters, str], Counters]]] = {
    "error_threshold": _without_errors,
    "fidelity_cycle_limit": _without_cycles,
}


FULL: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The present use of the context, and its source."""

    pct: int
    source: ContextSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """What the file beside a sandbox said, and when it was written."""

    pct: int
    at: Timestamp


def sidecar_of(content: bytes, written: Timestamp) -> Sidecar | None:
    """Parse the file beside a sandbox: `{context_usage_pct, timestamp}`; None if it is invalid.

    written: the time of the file, used where the content has none.
    """
    try:
        fields = object_of(canonical.load(content))
        timestamp = fields.get("timestamp")
        at = _parse_time(timestamp) if isinstance(timestamp, str) else written
    except (InvalidInput, ValueError, OverflowError):
        return None
    pct = fields.get("context_usage_pct")
    if isinstance(pct, bool) or not isinstance(pct, (int, float)) or not 0 <= pct <= FULL:
        return None
    return Sidecar(pct=int(pct), at=at)


def current_use(use: ContextUse, limits: Limits) -> Reading:
    """Return the present use of the context, reported or estimated."""
    if use.source and not use.steps:
        return Reading(pct=use.pct, source=use.source)
    estimate = use.pct + limits.avg_pct_per_step * use.steps
    if use.source and use.steps >= limits.context_staleness_threshold:
        estimate += limits.context_staleness_penalty_pct
    return Reading(pct=min(FULL, estimate), source="estimate")


def count_step(use: ContextUse) -> ContextUse:
    """Return the use after one more step was reported back."""
    return replace(use, steps=use.steps + 1)


def report_use(
    use: ContextUse, pct: int, at: Timestamp, limits: Limits, tokens: int = 0
) -> ContextUse:
    """Return the use after a report of the agent.

    It cannot fall, so that no agent talks itself out of a limit, except as deep as only a fresh context does: by the
    threshold for that or more, to no more than half of what a run stops at. A smaller fall keeps the higher value.
    """
    counted = pct if pct >= use.pct or is_fresh(use, pct, limits) else use.pct
    return ContextUse(pct=counted, source="caller", at=at, tokens=tokens or use.tokens)


def is_fresh(use: ContextUse, pct: int, limits: Limits) -> bool:
    """Whether so low a use says that the agent has a fresh context."""
    is_deep = use.pct - pct >= limits.context_reset_threshold_pct
    return is_deep and 2 * pct <= limits.context_threshold_pct


def measure_use(use: ContextUse, sidecar: Sidecar, now: Timestamp, limits: Limits) -> ContextUse:
    """Return the use measured by the file beside the sandbox; unchanged if that is too old, or of the future."""
    age = elapsed_ms(sidecar.at, now)
    if not -TOLERANCE_MS <= age <= limits.sidecar_max_age_seconds * 1000:
        return use
    pct = min(FULL, max(0, sidecar.pct))
    return ContextUse(pct=pct, source="sidecar", at=sidecar.at, tokens=use.tokens)


def _parse_time(text: str) -> Timestamp:
    """Return a time that has an offset; ValueError for any other text."""
    time = moment(text)
    if time.utcoffset() is None:
        raise ValueError(text)
    return stamp(time)

"""Gates of phases in a run: what opens them, and what proves that it did.

gate           asked of a phase             opened by
fidelity       with a verify node           a verdict that the policy lets pass, or a person under the policy `manual`
manual_review  without one                  a person who has seen what the reviewer found, whatever the policy

policy   passes         fails         waits for a person
strict   pass           warn, fail    –
lenient  pass, warn     fail          –
manual   –              –             every verdict
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal

from counterpoint.core.model.access import Independence
from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.nouns.autonomy import (
    Evidence,
    GateKind,
    GatePolicy,
    GateStatus,
    IssuedStep,
    SessionStatus,
    Verdict,
)
from counterpoint.dialects.foundry.rules.shape import quoted
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, GateClosed, InvalidInput, LedgerBroken

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

"""Reports of steps, judged before anything comes of them.

    what is wrong                                               code
    nothing was reported while a step is out                    STEP_RESULT_REQUIRED
    no proof; one that is not that of the step                  STEP_PROOF_MISSING; STEP_PROOF_MISMATCH
    a proof that was used, with another report                  STEP_PROOF_CONFLICT
    the same one, later than the grace                          STEP_PROOF_EXPIRED
    another step, type, task, phase or attempt                  STEP_MISMATCH
    the step was issued too long ago                            STEP_STALE
    what steps of its type need is missing                      MISSING_REQUIRED
    evidence                                                    INVALID_GATE_EVIDENCE, GATE_INTEGRITY_CHECKSUM
    a gate is said to be waived, and is not                     REQUIRED_GATE_UNSATISFIED
    receipt                                                     VERIFICATION_RECEIPT_MISSING, VERIFICATION_RECEIPT_INVALID

All of it is judged before the proof is used up, so that a wrong field can be corrected and reported with the same proof.
A report that was taken is known by its digest: made again within the grace, it hears its answer again.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from counterpoint.dialects.foundry.nouns.autonomy import (
    CLOSING_STEPS,
    OUTCOMES,
    STEP_TYPES,
    TASK_STEPS,
    Evidence,
    IssuedStep,
    Limits,
    Outcome,
    StepType,
)
from counterpoint.dialects.foundry.rules.autonomy.gating import refuse_evidence
from counterpoint.dialects.foundry.rules.autonomy.receipts import KeptReceipt, refuse_receipt
from counterpoint.dialects.foundry.rules.shape import is_one_of, quoted
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.errors import Conflict, CounterpointError, GateClosed, InvalidInput

GRACE_SECONDS: Final = 30
"""How long a report that was taken hears its answer again."""
FIELDS: Final = (
    *("step_id", "step_type", "outcome", "step_proof", "task_id", "phase_id", "note"),
    *("files_touched", "gate_attempt_id", "verification_receipt"),
)
"""What a report may have."""
NOTE_LIMIT: Final = 10_000
FILES_LIMIT: Final = 1_000
_REQUIRED: Final = ("step_id", "step_type", "outcome")
_NAME_LIMIT: Final = 500
_PURPOSE: Final = "step proof v1"
_REPLAY: Final = "Have the step replayed: it comes again, with a fresh proof and from now on."


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The parsed report of a step; fields that were not given are empty."""

    step_id: str
    step_type: StepType
    outcome: Outcome
    step_proof: str = ""
    task_id: str = ""
    phase_id: str = ""
    note: str = ""
    files_touched: tuple[str, ...] = ()
    gate_attempt_id: str = ""
    verification_receipt: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContext:
    """The facts by which a report is judged.

    outstanding: the step that was issued last, if nothing was reported of it yet. proven: the step of this run whose proof the
    report has, if there is one. receipts: of the node of the outstanding step, since that was issued. evidence: of its attempt.
    key: of the project, for the integrity of evidence. waiver: of the gate of its phase; empty if it is not waived.
    is_paused: whether the run stands still for what the step that is out tells, so that the report of a pause has no effect.
    """

    session: str
    now: Timestamp
    outstanding: IssuedStep | None = None
    proven: IssuedStep | None = None
    receipts: tuple[KeptReceipt, ...] = ()
    evidence: Evidence | None = None
    key: bytes = field(default=b"", repr=False)
    waiver: str = ""
    limits: Limits
    is_paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A report that may be taken. digest: of all of it.

    again: the step that it was taken for before, if it was; or the pause in which the run stands: then it is only answered.
    """

    result: StepResult
    digest: str
    again: IssuedStep | None = None


def read_result(
    nested: Json, flat: Mapping[str, Json], *, is_required: bool = False
) -> StepResult | None:
    """Return what was reported, or None unless that is required; InvalidInput with every fault.

    nested: `last_step_result`, or None. flat: the same fields as arguments of their own, None where not given.
    """
    beside = {name: value for name, value in flat.items() if value is not None}
    if nested is None and not beside and not is_required:
        return None
    if nested is not None and beside:
        raise _refuse_faults(
            [("last_step_result", "is given beside its own fields: give one of both")]
        )
    if nested is not None and not isinstance(nested, dict):
        raise _refuse_faults([("last_step_result", f"is an object, not {quoted(nested)}")])
    path = "" if nested is None else "last_step_result."
    given_fields = object_of(nested) if nested is not None else beside
    fields = {name: value for name, value in given_fields.items() if value is not None}
    if faults := _form_faults(fields):
        raise _refuse_faults([(f"{path}{name[:_NAME_LIMIT]}", problem) for name, problem in faults])
    fields["files_touched"] = tuple(cast("list[str]", fields.get("files_touched", [])))
    return StepResult(**fields)


def proof_digest(proof: str) -> str:
    """Return the digest of a proof that the ledger stores: its SHA-256."""
    return canonical.text_digest(proof)


def proof_of(key: bytes, session: str, step: str, renewed_at: str = "") -> str:
    """Return the proof of a step, 64 hex digits: only the agent that got the step, and whoever has the key, can know it.

    It can be derived again after an answer was lost, also by a server that was started since. key: of the project.
    renewed_at: when the step was last issued again; so that has another proof.
    """
    claims = {"purpose": _PURPOSE, "session": session, "step": step, "renewed_at": renewed_at}
    return hmac.new(key, canonical.dump(claims), hashlib.sha256).hexdigest()


def report_digest(result: StepResult) -> str:
    """Return the digest of a report: that of its canonical JSON, without what is empty."""
    fields = {name: getattr(result, name) for name in FIELDS}
    return canonical.text_digest(
        canonical.dump_any({name: value for name, value in fields.items() if value or value == {}})
    )


def is_stale(step: IssuedStep, now: Timestamp, limits: Limits) -> bool:
    """Whether a step was issued so long ago that its agent is taken to be gone."""
    if step.type in CLOSING_STEPS:
        return False
    since = Timestamp(step.renewed_at or step.issued_at)
    return elapsed_ms(since, now) > limits.step_stale_minutes * 60_000


def judge(result: StepResult | None, context: ReportContext) -> Judged | None:
    """Return the report if it may be taken, None if none is due; raise what is wrong with it.

    None is due too where the step that is out has grown stale: then the run decides about it.
    """
    step = context.outstanding
    if result is None:
        if step is not None and not is_stale(step, context.now, context.limits):
            raise _result_required(step)
        return None
    digest = report_digest(result)
    if context.proven is not None and context.proven.consumed_at:
        return _repeat(result, digest, context.proven, context.now)
    step = _find_proven(result, step)
    _refuse_identity(result, step)
    if is_stale(step, context.now, context.limits):
        raise _refusal(
            Conflict,
            "STEP_STALE",
            f"step {step.id} was issued too long ago",
            _REPLAY,
            step,
        )
    _refuse_fields(result, step)
    _refuse_gate(result, step, context)
    refuse_receipt(result.verification_receipt, step, result.outcome, context.receipts, context.now)
    # Without this an agent that reports whatever it gets would get pauses for ever, with an entry for each.
    stands = step if context.is_paused and step.type == "pause" else None
    return Judged(result=result, digest=digest, again=stands)


def _repeat(result: StepResult, digest: str, taken: IssuedStep, now: Timestamp) -> Judged:
    """Return the report of a step that was taken before; Conflict if it differs, or is late."""
    if taken.report != digest:
        raise _refusal(
            Conflict,
            "STEP_PROOF_CONFLICT",
            "the proof was used for another report",
            "Report the step that is out now, with its own proof.",
            taken,
        )
    if elapsed_ms(Timestamp(taken.consumed_at), now) > GRACE_SECONDS * 1000:
        raise _refusal(
            Conflict,
            "STEP_PROOF_EXPIRED",
            f"this report was taken at {taken.consumed_at}; it is answered for {GRACE_SECONDS} s",
            _REPLAY,
            taken,
        )
    return Judged(result=result, digest=digest, again=taken)


def _find_proven(result: StepResult, step: IssuedStep | None) -> IssuedStep:
    """Return the outstanding step, if the report has its proof; raise the fault of the proof."""
    if not result.step_proof:
        raise _refusal(
            InvalidInput,
            "STEP_PROOF_MISSING",
            "the report has no proof",
            "Give step_proof as it came with the step.",
            step,
        )
    if step is not None and proof_digest(result.step_proof) == step.proof:
        return step
    raise _refusal(
        Conflict,
        "STEP_PROOF_MISMATCH",
        "the proof is not that of the step that is out",
        f"Give step_proof as it came with the step. {_REPLAY}",
        step,
    )


def _refuse_identity(result: StepResult, step: IssuedStep) -> None:
    pairs = {
        "step_id": (result.step_id, step.id),
        "step_type": (result.step_type, step.type),
        "task_id": (result.task_id, step.task),
        "phase_id": (result.phase_id, step.phase),
    }
    if not (step.type == "run_fidelity_gate" and result.outcome == "skipped"):
        pairs["gate_attempt_id"] = (result.gate_attempt_id, step.attempt)
    wrong = [
        f"`{name}` is {quoted(reported)}, not {quoted(issued)}"
        for name, (reported, issued) in pairs.items()
        if reported not in {"", issued}
    ]
    if wrong:
        raise _mismatch("; ".join(wrong), step)


def _refuse_fields(result: StepResult, step: IssuedStep) -> None:
    """Raise InvalidInput for what steps of this type need and the report has not, or has and may not have."""
    needed = [] if step.type not in TASK_STEPS else ["task_id"]
    if step.type == "run_fidelity_gate":
        needed = ["phase_id", "gate_attempt_id"]
    faults = [
        (name, f"is required for a step of the type {step.type}")
        for name in needed
        if not getattr(result, name)
    ]
    if faults:
        raise _refuse_faults(faults, error_code="MISSING_REQUIRED")
    if step.type in CLOSING_STEPS and result.outcome == "failure":
        raise _refuse_faults([("outcome", f"cannot be failure for a step of the type {step.type}")])
    if step.type != "execute_verification" and result.verification_receipt is not None:
        raise _refuse_faults(
            [("verification_receipt", "belongs to a step of the type execute_verification")]
        )


def _refuse_gate(result: StepResult, step: IssuedStep, context: ReportContext) -> None:
    if step.type != "run_fidelity_gate" or result.outcome == "failure":
        return
    if result.outcome == "success":
        refuse_evidence(step, context.session, context.evidence, context.key)
    elif not context.waiver:
        raise GateClosed(
            f"the gate of {step.phase} is not waived, so its step cannot be skipped",
            hint="Have it reviewed, and report the attempt.",
            missing_required_gates=[step.phase],
            error_code="REQUIRED_GATE_UNSATISFIED",
        )
    elif result.gate_attempt_id != context.waiver:
        hint = f"Give the id of the waiver as gate_attempt_id: {context.waiver}."
        raise InvalidInput(
            f"{quoted(result.gate_attempt_id)} is not the waiver of the gate of {step.phase}",
            hint=hint,
            remediation=hint,
            waiver_id=context.waiver,
            error_code="INVALID_GATE_EVIDENCE",
        )


def _form_faults(fields: Mapping[str, Json]) -> list[tuple[str, str]]:
    faults = [(name, "is nothing that a report has") for name in fields if name not in FIELDS]
    faults += [(name, "is required") for name in _REQUIRED if not fields.get(name)]
    faults += [
        (name, f"is one of {', '.join(words)}, not {quoted(fields[name])}")
        for name, words in (("step_type", STEP_TYPES), ("outcome", OUTCOMES))
        if fields.get(name) and not is_one_of(fields[name], words)
    ]
    for name in ("step_id", "step_proof", "task_id", "phase_id", "gate_attempt_id", "note"):
        limit = NOTE_LIMIT if name == "note" else _NAME_LIMIT
        value = fields.get(name, "")
        if not isinstance(value, str) or len(value) > limit:
            faults.append((name, f"is a text of at most {limit} characters"))
    if not _are_paths(fields.get("files_touched", [])):
        faults.append(("files_touched", f"is a list of at most {FILES_LIMIT} paths"))
    if not isinstance(fields.get("verification_receipt", {}), dict):
        faults.append(("verification_receipt", "is an object"))
    return faults


def _are_paths(value: Json) -> bool:
    if not isinstance(value, list) or len(cast("list[Json]", value)) > FILES_LIMIT:
        return False
    paths = cast("list[Json]", value)
    return all(isinstance(path, str) and 0 < len(path) <= _NAME_LIMIT for path in paths)


def _refuse_faults(faults: Sequence[tuple[str, str]], **facts: Json) -> InvalidInput:
    details = [{"path": path, "problem": problem} for path, problem in faults]
    message = "; ".join(f"`{path}` {problem}" for path, problem in faults)
    hint = "Correct these, and report with the same proof: nothing was taken."
    return InvalidInput(message, hint=hint, faults=details, **facts)


def _result_required(step: IssuedStep) -> InvalidInput:
    hint = f"Report what became of it. {_REPLAY}"
    return InvalidInput(
        f"step {step.id} ({step.type}) is out: report it before you ask for the next",
        hint=hint,
        remediation=hint,
        **_step_facts(step),
        error_code="STEP_RESULT_REQUIRED",
    )


def _mismatch(message: str, step: IssuedStep) -> CounterpointError:
    hint = "Report the step that is out, with what it was issued for; the proof still holds."
    return _refusal(Conflict, "STEP_MISMATCH", message, hint, step)


def _refusal(
    kind: type[CounterpointError], code: str, message: str, hint: str, step: IssuedStep | None
) -> CounterpointError:
    return kind(message, hint=hint, remediation=hint, **_step_facts(step), error_code=code)


def _step_facts(step: IssuedStep | None) -> dict[str, Json]:
    """Return the facts of a refusal about a step: never its proof."""
    if step is None:
        return {}
    fields: dict[str, Json] = {"step_id": step.id, "step_type": step.type}
    about = {"task_id": step.task, "phase_id": step.phase, "gate_attempt_id": step.attempt}
    return {**fields, **{name: value for name, value in about.items() if value}}

"""How the report of a step is judged.

Receipts that prove that a verification ran.

    {command_hash, exit_code, output_digest, issued_at, step_id}

Valid if and only if (1) it has these fields and no others, each of its form: both digests 64 lower-case hex digits, the exit
code a whole number, the time with an offset; (2) it is of the step that is reported, and of the command that the step was
issued with; (3) its time lies between the issue of the step and five minutes from now; (4) a success has exit code 0;
(5) the server has a receipt of its own, since the step was issued, with the same command, code, output and time. A
verification without a command needs none.

Reports of steps, judged before anything comes of them.

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

The structure of a spec that a run works on, and what a change means.
The digest is SHA-256 over canonical JSON of the phases in their order and of each task with its phase, both by the ids of
their nodes: titles, metadata and states do not count. Everything below the root that is no phase is a task here.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, cast

from counterpoint.dialects.foundry.models.runs import (
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
from counterpoint.dialects.foundry.models.specs import ROOT
from counterpoint.dialects.foundry.nodes.rules.shape import is_count, is_one_of, natural_key, quoted
from counterpoint.dialects.foundry.nodes.rules.tree import Tree
from counterpoint.dialects.foundry.runs.rules.commands import refuse_evidence
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.clock import Timestamp, elapsed_ms, moment
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    GateClosed,
    InvalidInput,
    NotFound,
)

RECEIPT_FIELDS: Final = ("command_hash", "exit_code", "output_digest", "issued_at", "step_id")
AHEAD: Final = timedelta(minutes=5)
"""How far before the server's the clock may be that stamped a receipt."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_AGAIN: Final = "Have the verification executed for this step, and report the receipt that comes back, unchanged."


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReceipt:
    """What this server keeps of a command that it ran."""

    id: str
    command_hash: str
    exit_code: int
    output_digest: str
    issued_at: Timestamp


def refuse_receipt(
    report: Mapping[str, Json] | None,
    step: IssuedStep,
    outcome: Outcome,
    receipts: Sequence[KeptReceipt],
    now: Timestamp,
) -> None:
    """Raise InvalidInput unless a report of a verification has the receipt that it needs, and that is valid.

    One that is not needed is checked all the same. receipts: of the node, since the step was issued.
    """
    if step.type != "execute_verification":
        return
    if report is None:
        if outcome == "success" and step.command:
            raise InvalidInput(
                f"a success of step {step.id} needs a receipt",
                hint=_AGAIN,
                remediation=_AGAIN,
                error_code="VERIFICATION_RECEIPT_MISSING",
            )
        return
    faults = list(_receipt_faults(report)) or list(_binding_faults(report, step, outcome, now))
    if not faults and receipt_of(report, receipts) is None:
        faults = [("verification_receipt", "is of no run that this server has kept")]
    if faults:
        raise InvalidInput(
            "; ".join(f"`{name}` {problem}" for name, problem in faults),
            hint=_AGAIN,
            remediation=_AGAIN,
            faults=[{"path": name, "problem": problem} for name, problem in faults],
            error_code="VERIFICATION_RECEIPT_INVALID",
        )


def receipt_of(
    report: Mapping[str, Json] | None, receipts: Sequence[KeptReceipt]
) -> KeptReceipt | None:
    """Return the stored receipt that a report names; None without one."""
    return (
        next((receipt for receipt in receipts if _is_of(report, receipt)), None) if report else None
    )


def _receipt_faults(report: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name in RECEIPT_FIELDS:
        if report.get(name) is None:
            yield name, "is required"
    for name in report:
        if name not in RECEIPT_FIELDS:
            yield name[:80], "is nothing that a receipt has"
    for name in ("command_hash", "output_digest"):
        value = report.get(name)
        if value is not None and not (isinstance(value, str) and _DIGEST.fullmatch(value)):
            yield name, f"is 64 lower-case hex digits, not {quoted(value)}"
    code = report.get("exit_code")
    if code is not None and not is_count(code):
        yield "exit_code", f"is a whole number, not {quoted(code)}"
    at = report.get("issued_at")
    if at is not None and _time(at) is None:
        yield (
            "issued_at",
            f"is a time with an offset, such as 2026-11-20T12:00:00Z, not {quoted(at)}",
        )


def _binding_faults(
    report: Mapping[str, Json], step: IssuedStep, outcome: Outcome, now: Timestamp
) -> Iterator[tuple[str, str]]:
    if report["step_id"] != step.id:
        yield "step_id", f"is not {step.id}"
    if report["command_hash"] != step.command:
        yield "command_hash", "is not that of the command of this verification"
    if outcome == "success" and report["exit_code"] != 0:
        yield "exit_code", "has to be 0 for a success"
    at = _time(report["issued_at"])
    if at is not None and not moment(step.issued_at) <= at <= moment(now) + AHEAD:
        yield "issued_at", f"lies outside the window of the step, which began at {step.issued_at}"


def _is_of(report: Mapping[str, Json], receipt: KeptReceipt) -> bool:
    """Whether a reported receipt agrees with a stored one."""
    reported = (report["command_hash"], report["exit_code"], report["output_digest"])
    return reported == (receipt.command_hash, receipt.exit_code, receipt.output_digest) and _time(
        report["issued_at"]
    ) == moment(receipt.issued_at)


def _time(value: Json) -> datetime | None:
    """Return a time that has an offset, or None."""
    if not isinstance(value, str):
        return None
    try:
        time = moment(value)
    except ValueError:
        return None
    return time if time.utcoffset() is not None else None


GRACE_SECONDS: Final = 30
"""How long a report that was taken hears its answer again."""
RESULT_FIELDS: Final = (
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
    if faults := _result_faults(fields):
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
    fields = {name: getattr(result, name) for name in RESULT_FIELDS}
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


def _result_faults(fields: Mapping[str, Json]) -> list[tuple[str, str]]:
    faults = [
        (name, "is nothing that a report has") for name in fields if name not in RESULT_FIELDS
    ]
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


_SHOWN = 50


@dataclass(frozen=True, kw_only=True)
class Structure:
    """The phases of a spec in their order, and the phase of each task; it is empty for a task in none."""

    phases: tuple[str, ...] = ()
    tasks: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def digest(self) -> str:
        """What the structure is known by: 64 hex digits."""
        # Ids as values: a name of an object may only be ASCII.
        pairs = sorted([task, phase] for task, phase in self.tasks.items())
        return canonical.sha256(canonical.dump({"phases": list(self.phases), "tasks": pairs}))

    def tasks_of(self, phase: str) -> frozenset[str]:
        """Return the tasks of a phase."""
        return frozenset(task for task, own in self.tasks.items() if own == phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changed between two structures, in natural order.

    moved_tasks: those that are in another phase. completed_removed: completed tasks that are gone. is_reordered: whether phases that
    are in both have another order. kept_gates: the phases whose gates stay satisfied, for nothing in them changed.
    """

    added_phases: tuple[str, ...] = ()
    removed_phases: tuple[str, ...] = ()
    added_tasks: tuple[str, ...] = ()
    removed_tasks: tuple[str, ...] = ()
    moved_tasks: tuple[str, ...] = ()
    completed_removed: tuple[str, ...] = ()
    is_reordered: bool = False
    kept_gates: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether the two differ at all."""
        lists = (self.added_phases, self.removed_phases, self.added_tasks, self.removed_tasks)
        return any(lists) or bool(self.moved_tasks) or self.is_reordered

    def told(self) -> dict[str, Json]:
        """Return what the answer to a rebase says."""
        return {
            "result": "success" if self.is_change else "no_change",
            "added_phases": list(self.added_phases),
            "removed_phases": list(self.removed_phases),
            "added_tasks": list(self.added_tasks),
            "removed_tasks": list(self.removed_tasks),
            "completed_tasks_removed": len(self.completed_removed),
        }


def structure_of(document: Json) -> Structure:
    """Return the structure of a document of any shape."""
    tree = Tree(document)
    phases = tuple(tree.phases())
    tasks: dict[str, str] = {}
    for phase in phases:
        for name in tree.below(phase):
            if name != phase:
                tasks[name] = phase
    for name in tree.nodes:
        if name != ROOT and name not in tasks and name not in phases:
            tasks[name] = ""
    return Structure(phases=phases, tasks=tasks)


def difference(
    before: Structure,
    after: Structure,
    completed: Collection[str] = (),
    satisfied: Iterable[str] = (),
) -> Difference:
    """Return what changed; completed: tasks that the run completed; satisfied: phases whose gates are."""
    removed = before.tasks.keys() - after.tasks.keys()
    shared = before.tasks.keys() & after.tasks.keys()
    return Difference(
        added_phases=_ordered(set(after.phases) - set(before.phases)),
        removed_phases=_ordered(set(before.phases) - set(after.phases)),
        added_tasks=_ordered(after.tasks.keys() - before.tasks.keys()),
        removed_tasks=_ordered(removed),
        moved_tasks=_ordered(task for task in shared if before.tasks[task] != after.tasks[task]),
        completed_removed=_ordered(removed & frozenset(completed)),
        is_reordered=_shared(before.phases, after.phases) != _shared(after.phases, before.phases),
        kept_gates=_ordered(
            phase for phase in frozenset(satisfied) if is_untouched(phase, before, after)
        ),
    )


def is_untouched(phase: str, before: Structure, after: Structure) -> bool:
    """Whether a phase has the same tasks in both structures."""
    both = phase in before.phases and phase in after.phases
    return both and before.tasks_of(phase) == after.tasks_of(phase)


def rebase(
    before: Structure | None,
    after: Structure,
    completed: Collection[str] = (),
    satisfied: Iterable[str] = (),
    *,
    force: bool = False,
) -> Difference:
    """Return what a rebase has to do with; refuse one that would lose completed work, unless it is forced.

    before: the structure that the run knows, None if it cannot be found any more; then, with force, everything counts as added.
    Raises NotFound (REBASE_BACKUP_MISSING) and InvalidInput (REBASE_COMPLETED_TASKS_REMOVED).
    """
    if before is None and not force:
        raise NotFound(
            "the structure that the run knows cannot be found any more",
            hint="Give `force` to take the spec as it is: every gate is then judged afresh.",
            error_code="REBASE_BACKUP_MISSING",
        )
    changes = difference(before or Structure(), after, completed, satisfied)
    if changes.completed_removed and not force:
        names = ", ".join(changes.completed_removed[:_SHOWN])
        raise InvalidInput(
            f"completed tasks are not in the spec any more: {names}",
            hint="Bring them back, or give `force` to go on without them.",
            completed_tasks_removed=list(changes.completed_removed[:_SHOWN]),
            error_code="REBASE_COMPLETED_TASKS_REMOVED",
        )
    return changes


def _ordered(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=natural_key))


def _shared(phases: Iterable[str], others: Collection[str]) -> list[str]:
    return [phase for phase in phases if phase in others]

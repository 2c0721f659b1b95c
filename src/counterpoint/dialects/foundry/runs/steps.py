"""Issues the steps of a run, and takes their reports.

Loads a run with all that the rules need to know of it.
To judge a report a few rows are read; to decide on the next step, the whole spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from counterpoint.core.ledger.entry import RowImage
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Gate, Item, Label
from counterpoint.core.operations.readiness import ready_among
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.planning.attributes import command_of
from counterpoint.dialects.foundry.models.runs import (
    PAUSE_REASONS,
    STATUSES,
    GateEvidence,
    GateStatus,
    IssuedStep,
    Limits,
    PauseReason,
    SessionStep,
    SpecSession,
    StepType,
)
from counterpoint.dialects.foundry.models.specs import ARCHIVED
from counterpoint.dialects.foundry.nodes.queries import Nodes
from counterpoint.dialects.foundry.runs import rows
from counterpoint.dialects.foundry.runs.gates import Judging, gate_events
from counterpoint.dialects.foundry.runs.rows import (
    SESSION_TYPE,
    STEP_TYPE,
    SpecShape,
    command_in,
    context_in,
    counters_in,
    evidence_in,
    gate_of,
    is_committed,
    last_step,
    mark_answered,
    note_event,
    phase_gates,
    shown_terms,
    status_in,
    step_in,
    terms_in,
    with_context,
    with_counters,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    PhaseGate,
    Result,
    Sidecar,
    count_result,
    count_step,
    current_use,
    measure_use,
    report_use,
    waiver_of,
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
    phase_after,
)
from counterpoint.dialects.foundry.runs.rules.limits import Terms
from counterpoint.dialects.foundry.runs.rules.results import (
    Judged,
    KeptReceipt,
    ReportContext,
    StepResult,
    proof_digest,
    proof_of,
    receipt_of,
)
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput, NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A heartbeat. pct, tokens: how much of its context an agent says it has used; None and 0 where it does not say."""

    pct: int | None = None
    tokens: int = 0


def apply_heartbeat(
    row: SpecSession,
    heartbeat: Heartbeat | None,
    now: Timestamp,
    limits: Limits,
    sidecar: Sidecar | None = None,
) -> SpecSession:
    """Return a run after a call. heartbeat: reported with the call; sidecar: content of the file beside the agent's sandbox."""
    use = context_in(row)
    if heartbeat is not None and heartbeat.pct is not None:
        use = report_use(use, heartbeat.pct, now, limits, heartbeat.tokens)
    if sidecar is not None:
        use = measure_use(use, sidecar, now, limits)
    row = with_context(row, use)
    return row if heartbeat is None else replace(row, heartbeat_at=now)


_RECEIPTS: Final = 100
"""How many of a node's last receipts are searched for the reported one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRun:
    """A run with its spec. last: the step that was issued last; nodes: of its spec.

    is_sound: whether its row is as the product wrote it.
    """

    row: SpecSession
    terms: Terms
    nodes: Nodes
    last: SessionStep | None
    is_sound: bool

    @property
    def outstanding(self) -> SessionStep | None:
        """The step that nobody has reported yet."""
        return self.last if self.last is not None and not self.last.consumed_at else None

    @property
    def out(self) -> IssuedStep | None:
        """The same step as the rules see it."""
        return step_in(self.outstanding, self.nodes) if self.outstanding else None


def load_run(view: Reading, row: SpecSession) -> LoadedRun:
    """Load a run; NotFound (SPEC_NOT_FOUND) if its spec is gone."""
    root = view.find(Item, row.spec)
    if root is None:
        raise NotFound("the spec of this run is gone", error_code="SPEC_NOT_FOUND")
    last = last_step(view, row.session)
    return LoadedRun(
        row=row,
        terms=shown_terms(row),
        nodes=Nodes(view, root),
        last=last,
        is_sound=is_committed(view, row),
    )


def report_context(
    run: LoadedRun, result: StepResult | None, now: Timestamp, key: bytes
) -> ReportContext:
    """Return the facts by which a report is judged. key: of the project.

    The proof of the outstanding step is derived from the key, whatever its row says.
    """
    view, row, out = run.nodes.view, run.row, run.out
    if out is not None:
        proof = proof_of(key, row.session, out.id, out.renewed_at)
        out = replace(out, proof=proof_digest(proof))
    evidence = view.find(GateEvidence, out.attempt) if out and out.attempt else None
    reason = run.outstanding.reason if run.outstanding else ""
    return ReportContext(
        session=row.session,
        now=now,
        outstanding=out,
        proven=_find_proven_step(run, result),
        receipts=receipts_in(run),
        evidence=evidence_in(evidence, run.nodes) if evidence else None,
        key=key,
        waiver=_find_waiver(view, run.outstanding),
        limits=run.terms.limits,
        is_paused=row.status == "paused" and reason == row.pause_reason,
    )


def _find_proven_step(run: LoadedRun, result: StepResult | None) -> IssuedStep | None:
    if result is None or not result.step_proof:
        return None
    digest = proof_digest(result.step_proof)
    steps = run.nodes.view.select(SessionStep, session=run.row.session, proof=digest, limit=1)
    return step_in(steps[0], run.nodes) if steps else None


def _find_waiver(view: Reading, step: SessionStep | None) -> str:
    """Return the waiver of the gate that a step is about; empty if it was not waived."""
    gate: Gate | None = gate_of(view, step.phase) if step and step.phase else None
    return waiver_of(gate) if gate is not None and gate.status == "waived" else ""


def receipts_in(run: LoadedRun) -> tuple[KeptReceipt, ...]:
    """Return this server's receipts for the outstanding verification, since that was issued."""
    step, view = run.outstanding, run.nodes.view
    if step is None or step.type != "execute_verification":
        return ()
    line = command_in(view, step.task)
    argv, fault = command_of(line)
    if fault or text_digest(line) != step.command:
        return ()
    receipts = view.select(Receipt, item=step.task, order="number desc", limit=_RECEIPTS)
    return tuple(
        KeptReceipt(
            id=receipt.id,
            command_hash=step.command,
            exit_code=receipt.exit_code,
            output_digest=receipt.output_sha256,
            issued_at=receipt.ended_at,
        )
        for receipt in receipts
        if receipt.started_at >= step.issued_at
        and tuple(receipt.argv) == argv
        and not receipt.timed_out
    )


def situation_of(
    run: LoadedRun,
    shape: SpecShape,
    holders: Holders,
    *,
    had_step: bool,
    stop_requested: bool,
    unlanded: Sequence[RowImage] = (),
) -> Situation:
    """Return the input of the decision on a run's next step.

    holders: who holds what, as the run's session sees it. unlanded: what this call has written itself. had_step: whether one was reported in this call. stop_requested: whether somebody asks the run to stop.
    """
    row, view = run.row, shape.nodes.view
    gates = {gate.phase: gate for gate in phase_gates(view, shape, row, run.terms)}
    phases = tuple(_phase_states(shape, row, gates, holders))
    # The ledger is asked where everything seems to be complete: what somebody edited gets no further.
    is_complete = all(phase.is_complete for phase in phases)
    events = gate_events(view, shape, unlanded) if is_complete else ()
    return Situation(
        now=holders.now,
        status=status_in(row),
        pause_reason=cast("PauseReason", row.pause_reason),
        limits=run.terms.limits,
        stop=run.terms.stop,
        policy=run.terms.policy,
        counters=counters_in(row),
        context=current_use(context_in(row), run.terms.limits),
        heartbeat_at=row.heartbeat_at,
        is_sound=run.is_sound and _is_sound(row),
        structure=shape.structure.digest,
        kept_structure=row.structure,
        outstanding=run.out,
        had_step=had_step,
        stop_requested=stop_requested,
        phases=phases,
        at_work=run.nodes.id(row.phase),
        events=events,
    )


def _is_sound(row: SpecSession) -> bool:
    """Whether a row has valid terms, status and reason."""
    try:
        terms_in(row)
    except InvalidInput:
        return False
    return row.status in STATUSES and row.pause_reason in {"", *PAUSE_REASONS}


def _phase_states(
    shape: SpecShape, row: SpecSession, gates: dict[str, PhaseGate], holders: Holders
) -> Iterator[PhaseState]:
    is_put_away = shape.nodes.view.find(Label, row.spec, ARCHIVED) is not None
    is_found = False
    for phase in shape.phases:
        name = shape.nodes.id(phase.id)
        open_ = _list_unfinished_leaves(shape, phase)
        checks = [item for item in open_ if shape.types[item.id] == "verify"]
        tasks = [item for item in open_ if shape.types[item.id] != "verify"]
        # Free tasks are searched only in the first phase that can go on.
        is_searched = not (is_found or is_put_away)
        state = PhaseState(
            id=name,
            title=phase.title,
            open_tasks=len(tasks),
            open_verifications=len(checks),
            task=_find_free_task(shape, tasks, holders) if is_searched else None,
            verification=_find_free_task(shape, checks, holders)
            if is_searched and not tasks
            else None,
            gate=gates.get(name),
        )
        is_found = is_found or state.can_go_on
        yield state


def _list_unfinished_leaves(shape: SpecShape, phase: Item) -> list[Item]:
    """Return the unfinished items of a phase that have no unfinished child, in order."""
    unfinished = [item for item in shape.tasks[phase.id] if item.category != "done"]
    holders = {item.parent for item in unfinished}
    return [item for item in unfinished if item.id not in holders]


def _find_free_task(shape: SpecShape, items: Sequence[Item], holders: Holders) -> TaskRef | None:
    """Return the first of some tasks that the run may take up; None."""
    view = shape.nodes.view
    candidates = (
        item
        for item in items
        if item.category in {"open", "active"} and shape.types[item.id] != "group"
    )
    task = next(ready_among(view, candidates, holders), None)
    if task is None:
        return None
    line = command_in(view, task.id) if shape.types[task.id] == "verify" else ""
    digest = text_digest(line) if line else ""
    return TaskRef(id=shape.nodes.id(task.id), title=task.title, command=digest)


STEP_PREFIX: Final = "step"
ATTEMPT_PREFIX: Final = "gate"
"""How the ids of steps, and of attempts at gates, begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedDecision:
    """A run after a decision. step: issued with it; None without one."""

    row: SpecSession
    step: SessionStep | None = None
    title: str = ""


def apply_decision(
    change: Change, run: LoadedRun, decision: Decision, key: bytes
) -> AppliedDecision:
    """Apply a decision to a run; return run and step, which the caller stores. key: of the project."""
    nodes, row = run.nodes, run.row
    before = nodes.id(row.phase)
    goal = phase_after(decision, before)
    if goal != before:
        row = replace(row, phase=nodes.get(goal).id if goal else "")
    if isinstance(decision, Issue):
        return _issue(change, replace(run, row=row), decision, key)
    if isinstance(decision, Pause):
        return _pause(change, replace(run, row=row), decision, key)
    if isinstance(decision, Fail):
        return _fail(change, row, decision)
    return _complete(change, replace(run, row=row), decision, key)


def _issue(change: Change, run: LoadedRun, decision: Issue, key: bytes) -> AppliedDecision:
    task = decision.task
    step = _make_step(
        change,
        run,
        decision.type,
        key,
        task=run.nodes.get(task.id).id if task else "",
        phase=run.row.phase,
        attempt=change.context.ports.mint.mint(ATTEMPT_PREFIX) if decision.needs_attempt else "",
        command=task.command if task else "",
    )
    note_event(
        change,
        run.row,
        f"Step issued: {decision.type} {task.id if task else decision.phase}",
        decision.message,
        type_=STEP_TYPE,
        action="step_issued",
        step_id=step.id,
        step_type=step.type,
        task_id=task.id if task else "",
        phase_id=decision.phase,
        gate_attempt_id=step.attempt,
    )
    return AppliedDecision(row=run.row, step=step, title=task.title if task else "")


def _pause(change: Change, run: LoadedRun, decision: Pause, key: bytes) -> AppliedDecision:
    row, step = run.row, _make_step(change, run, "pause", key, reason=decision.reason)
    rows.hand_over(change, row.session)
    change.add_facts(paused=decision.reason)
    if row.status != "paused":
        row = replace(row, status="paused", paused_at=change.now)
        row = replace(row, pause_reason=decision.reason, last_pause=decision.reason)
        note_event(
            change,
            row,
            "Session paused",
            decision.message,
            type_=SESSION_TYPE,
            action="pause",
            status=row.status,
            pause_reason=decision.reason,
            phase_id=decision.phase,
        )
    return AppliedDecision(row=row, step=step)


def _fail(change: Change, row: SpecSession, decision: Fail) -> AppliedDecision:
    after = replace(row, status="failed", pause_reason="", failure_reason=decision.reason)
    rows.hand_over(change, row.session)
    change.add_facts(failed=decision.reason)
    note_event(
        change,
        after,
        "Session failed",
        decision.message,
        type_=SESSION_TYPE,
        action="fail",
        status="failed",
        failure_reason=decision.reason,
    )
    return AppliedDecision(row=after)


def _complete(change: Change, run: LoadedRun, decision: Complete, key: bytes) -> AppliedDecision:
    if decision.is_over:
        return AppliedDecision(row=run.row)
    step = _make_step(change, run, "complete_spec", key)
    row = replace(run.row, status="completed", pause_reason="")
    note_event(
        change,
        row,
        "Spec completed",
        decision.message,
        type_=SESSION_TYPE,
        action="spec_complete",
        status=row.status,
    )
    rows.end(change, row.session, "completed")
    return AppliedDecision(row=row, step=step)


def _make_step(
    change: Change,
    run: LoadedRun,
    kind: StepType,
    key: bytes,
    *,
    task: str = "",
    phase: str = "",
    attempt: str = "",
    command: str = "",
    reason: str = "",
) -> SessionStep:
    """Build the step that is issued now, with the digest of its proof."""
    row, name = run.row, change.context.ports.mint.mint(STEP_PREFIX)
    change.add_facts(issued=name, type=kind)
    return SessionStep(
        project=row.project,
        session=row.session,
        number=run.last.number + 1 if run.last else 1,
        id=name,
        type=kind,
        task=task,
        phase=phase,
        attempt=attempt,
        reason=reason,
        proof=proof_digest(proof_of(key, row.session, name)),
        command=Prose(command),
        # The clock of receipts, since durations are measured by it.
        issued_at=change.clock,
        renewed_at="",
        consumed_at="",
        outcome="",
        note=Prose(""),
        files=(),
        receipt="",
        report=Prose(""),
        answer=Prose(""),
    )


_MAX_FILES: Final = 50
"""Paths that an event names."""


def judge_gate(context: Context, run: LoadedRun, judged: Judged) -> GateStatus:
    """Apply a report to the gate of its phase, in an entry of its own; return the gate's status after it.

    A report that is about no gate returns `pending`, which says nothing.
    """
    step = run.outstanding
    if step is None or judged.result.outcome != "success":
        return "pending"
    if step.type == "run_fidelity_gate":
        return Judging(context).act_upon(step.attempt)
    if step.type == "address_fidelity_feedback":
        with recording(context, "gate.answered", step.phase) as change:
            change.open_session()
            mark_answered(change, step.session, step.phase)
            change.add_facts(run=step.session)
    return "pending"


def apply_report(
    change: Change,
    row: SpecSession,
    run: LoadedRun,
    out: SessionStep,
    judged: Judged,
    gate: GateStatus,
) -> tuple[SpecSession, SessionStep]:
    """Apply a report to run and step, and write it into the journal; the caller stores both.

    out: the reported step. gate: status of its phase's gate since.
    """
    result = judged.result
    about = Result(
        type=out.type,
        outcome=result.outcome,
        task=run.nodes.id(out.task),
        phase=run.nodes.id(out.phase),
        gate=gate,
    )
    after = with_counters(row, count_result(counters_in(row), about))
    after = with_context(after, count_step(context_in(after)))
    after = replace(after, heartbeat_at=change.clock, evidence_faults=0)
    receipt = receipt_of(result.verification_receipt, receipts_in(run))
    step = replace(
        out,
        consumed_at=change.clock,
        outcome=result.outcome,
        note=Prose(result.note),
        files=result.files_touched,
        receipt=receipt.id if receipt else "",
        report=Prose(judged.digest),
    )
    change.add_facts(step=out.id, outcome=result.outcome)
    note_event(
        change,
        after,
        f"Step reported: {out.type} {about.task or about.phase}".rstrip(),
        result.note or f"It was reported as {result.outcome}.",
        type_=STEP_TYPE,
        action="step_consumed",
        step_id=out.id,
        step_type=out.type,
        outcome=result.outcome,
        task_id=about.task,
        phase_id=about.phase,
        gate_attempt_id=out.attempt,
        files_touched=list(result.files_touched[:_MAX_FILES]),
    )
    return after, step

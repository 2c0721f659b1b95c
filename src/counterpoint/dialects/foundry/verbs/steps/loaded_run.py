"""Loads a run with all that the rules need to know of it.

To judge a report a few rows are read; to decide on the next step, the whole spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from counterpoint.core.ledger.entry import RowImage
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.work import Gate, Item, Label
from counterpoint.core.operations.readiness import ready_among
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.planning.commands import command_of
from counterpoint.dialects.foundry.nouns.autonomy import (
    PAUSE_REASONS,
    STATUSES,
    GateEvidence,
    IssuedStep,
    PauseReason,
    SessionStep,
    SpecSession,
)
from counterpoint.dialects.foundry.nouns.nodes import ARCHIVED
from counterpoint.dialects.foundry.rules.autonomy.contexts import current_use
from counterpoint.dialects.foundry.rules.autonomy.deciding import PhaseState, Situation, TaskRef
from counterpoint.dialects.foundry.rules.autonomy.gating import PhaseGate, waiver_of
from counterpoint.dialects.foundry.rules.autonomy.limits import Terms
from counterpoint.dialects.foundry.rules.autonomy.receipts import KeptReceipt
from counterpoint.dialects.foundry.rules.autonomy.results import (
    ReportContext,
    StepResult,
    proof_digest,
    proof_of,
)
from counterpoint.dialects.foundry.verbs.gates.proving import gate_events
from counterpoint.dialects.foundry.verbs.queries import Nodes
from counterpoint.dialects.foundry.verbs.sessions.gates import gate_of, phase_gates
from counterpoint.dialects.foundry.verbs.sessions.keeping import is_own
from counterpoint.dialects.foundry.verbs.sessions.rows import (
    context_in,
    counters_in,
    evidence_in,
    last_step,
    shown_terms,
    status_in,
    step_in,
    terms_in,
)
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape, command_in
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput, NotFound

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
        is_sound=is_own(view, row),
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

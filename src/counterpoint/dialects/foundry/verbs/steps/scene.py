"""A run with all that rules ask of it.

What a report is judged by is looked up; for what comes next the whole spec is read.
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
from counterpoint.dialects.foundry.rules.autonomy.contexts import reading
from counterpoint.dialects.foundry.rules.autonomy.deciding import PhaseState, Situation, TaskRef
from counterpoint.dialects.foundry.rules.autonomy.gating import PhaseGate, waiver_of
from counterpoint.dialects.foundry.rules.autonomy.limits import Terms
from counterpoint.dialects.foundry.rules.autonomy.receipts import KeptReceipt
from counterpoint.dialects.foundry.rules.autonomy.results import (
    Known,
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
"""How many of the last receipts of a node are looked through for the one that is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A run as it stands. last: the step that was issued last; known: the nodes of its spec.

    is_sound: whether its row is as the product wrote it.
    """

    row: SpecSession
    terms: Terms
    known: Nodes
    last: SessionStep | None
    is_sound: bool

    @property
    def outstanding(self) -> SessionStep | None:
        """The step that nobody has reported yet."""
        return self.last if self.last is not None and not self.last.consumed_at else None

    @property
    def out(self) -> IssuedStep | None:
        """The same as rules see it."""
        return step_in(self.outstanding, self.known) if self.outstanding else None


def scene_of(view: Reading, row: SpecSession) -> Scene:
    """Return a run as it stands; NotFound (SPEC_NOT_FOUND) if its spec is gone."""
    root = view.find(Item, row.spec)
    if root is None:
        raise NotFound("the spec of this run is gone", error_code="SPEC_NOT_FOUND")
    last = last_step(view, row.session)
    return Scene(
        row=row,
        terms=shown_terms(row),
        known=Nodes(view, root),
        last=last,
        is_sound=is_own(view, row),
    )


def known_of(scene: Scene, result: StepResult | None, now: Timestamp, key: bytes) -> Known:
    """Return what a report is judged by. key: of the project.

    The proof of the step that is out is what the key makes of it, whatever its row says.
    """
    view, row, out = scene.known.view, scene.row, scene.out
    if out is not None:
        proof = proof_of(key, row.session, out.id, out.renewed_at)
        out = replace(out, proof=proof_digest(proof))
    found = view.find(GateEvidence, out.attempt) if out and out.attempt else None
    reason = scene.outstanding.reason if scene.outstanding else ""
    return Known(
        session=row.session,
        now=now,
        outstanding=out,
        proven=_proven(scene, result),
        receipts=receipts_in(scene),
        evidence=evidence_in(found, scene.known) if found else None,
        key=key,
        waiver=_waiver(view, scene.outstanding),
        limits=scene.terms.limits,
        is_paused=row.status == "paused" and reason == row.pause_reason,
    )


def _proven(scene: Scene, result: StepResult | None) -> IssuedStep | None:
    if result is None or not result.step_proof:
        return None
    digest = proof_digest(result.step_proof)
    found = scene.known.view.select(SessionStep, session=scene.row.session, proof=digest, limit=1)
    return step_in(found[0], scene.known) if found else None


def _waiver(view: Reading, step: SessionStep | None) -> str:
    """Return what the gate was waived with that a step is about; empty if it was not."""
    gate: Gate | None = gate_of(view, step.phase) if step and step.phase else None
    return waiver_of(gate) if gate is not None and gate.status == "waived" else ""


def receipts_in(scene: Scene) -> tuple[KeptReceipt, ...]:
    """Return what this server ran for the verification that is out, since that was issued."""
    step, view = scene.outstanding, scene.known.view
    if step is None or step.type != "execute_verification":
        return ()
    line = command_in(view, step.task)
    argv, fault = command_of(line)
    if fault or text_digest(line) != step.command:
        return ()
    found = view.select(Receipt, item=step.task, order="number desc", limit=_RECEIPTS)
    return tuple(
        KeptReceipt(
            id=one.id,
            command_hash=step.command,
            exit_code=one.exit_code,
            output_digest=one.output_sha256,
            issued_at=one.ended_at,
        )
        for one in found
        if one.started_at >= step.issued_at and tuple(one.argv) == argv and not one.timed_out
    )


def situation_of(
    scene: Scene,
    shape: SpecShape,
    holders: Holders,
    *,
    had_step: bool,
    stop_requested: bool,
    unlanded: Sequence[RowImage] = (),
) -> Situation:
    """Return what the next step of a run is decided by.

    holders: who holds what, as the run's session sees it. unlanded: what this call has written itself. had_step: whether one was reported in this call. stop_requested: whether somebody asks the run to stop.
    """
    row, view = scene.row, shape.known.view
    gates = {gate.phase: gate for gate in phase_gates(view, shape, row, scene.terms)}
    phases = tuple(_phases(shape, row, gates, holders))
    # The ledger is asked where everything seems to be complete: what somebody edited gets no further.
    is_complete = all(phase.is_complete for phase in phases)
    events = gate_events(view, shape, unlanded) if is_complete else ()
    return Situation(
        now=holders.now,
        status=status_in(row),
        pause_reason=cast("PauseReason", row.pause_reason),
        limits=scene.terms.limits,
        stop=scene.terms.stop,
        policy=scene.terms.policy,
        counters=counters_in(row),
        context=reading(context_in(row), scene.terms.limits),
        heartbeat_at=row.heartbeat_at,
        is_sound=scene.is_sound and _is_sound(row),
        structure=shape.structure.digest,
        kept_structure=row.structure,
        outstanding=scene.out,
        had_step=had_step,
        stop_requested=stop_requested,
        phases=phases,
        at_work=scene.known.id(row.phase),
        events=events,
    )


def _is_sound(row: SpecSession) -> bool:
    """Whether a row says what rows of runs say."""
    try:
        terms_in(row)
    except InvalidInput:
        return False
    return row.status in STATUSES and row.pause_reason in {"", *PAUSE_REASONS}


def _phases(
    shape: SpecShape, row: SpecSession, gates: dict[str, PhaseGate], holders: Holders
) -> Iterator[PhaseState]:
    is_put_away = shape.known.view.find(Label, row.spec, ARCHIVED) is not None
    is_found = False
    for phase in shape.phases:
        name = shape.known.id(phase.id)
        open_ = _unfinished(shape, phase)
        checks = [item for item in open_ if shape.types[item.id] == "verify"]
        tasks = [item for item in open_ if shape.types[item.id] != "verify"]
        # Nobody asks for what can be done in phases beyond the first that can go on.
        looks = not (is_found or is_put_away)
        state = PhaseState(
            id=name,
            title=phase.title,
            open_tasks=len(tasks),
            open_verifications=len(checks),
            task=_free(shape, tasks, holders) if looks else None,
            verification=_free(shape, checks, holders) if looks and not tasks else None,
            gate=gates.get(name),
        )
        is_found = is_found or state.can_go_on
        yield state


def _unfinished(shape: SpecShape, phase: Item) -> list[Item]:
    """Return what is not completed in a phase and has nothing below it that is not, in its order."""
    left = [item for item in shape.tasks[phase.id] if item.category != "done"]
    holders = {item.parent for item in left}
    return [item for item in left if item.id not in holders]


def _free(shape: SpecShape, items: Sequence[Item], holders: Holders) -> TaskRef | None:
    """Return the first of some tasks that the run may take up; None."""
    view = shape.known.view
    asked = (
        item
        for item in items
        if item.category in {"open", "active"} and shape.types[item.id] != "group"
    )
    found = next(ready_among(view, asked, holders), None)
    if found is None:
        return None
    line = command_in(view, found.id) if shape.types[found.id] == "verify" else ""
    digest = text_digest(line) if line else ""
    return TaskRef(id=shape.known.id(found.id), title=found.title, command=digest)

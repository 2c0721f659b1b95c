"""Repeats a step whose answer was lost, and takes heartbeats."""

from __future__ import annotations

from dataclasses import dataclass, replace

from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.autonomy_files import AutonomyFiles
from counterpoint.dialects.foundry.nouns.autonomy import (
    LIVE,
    ContextSource,
    SessionStep,
    SpecSession,
)
from counterpoint.dialects.foundry.rules.autonomy.contexts import current_use
from counterpoint.dialects.foundry.rules.autonomy.gating import PhaseGate
from counterpoint.dialects.foundry.rules.autonomy.results import is_stale, proof_digest, proof_of
from counterpoint.dialects.foundry.verbs.gates.keys import EvidenceKeys
from counterpoint.dialects.foundry.verbs.sessions import holding
from counterpoint.dialects.foundry.verbs.sessions.events import STEP_TYPE, note_event
from counterpoint.dialects.foundry.verbs.sessions.finding import get_run
from counterpoint.dialects.foundry.verbs.sessions.gates import phase_gates
from counterpoint.dialects.foundry.verbs.sessions.keeping import keep
from counterpoint.dialects.foundry.verbs.sessions.rows import context_in, shown_terms
from counterpoint.dialects.foundry.verbs.sessions.shape import shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import RunSelector
from counterpoint.dialects.foundry.verbs.steps.heartbeats import Heartbeat, apply_heartbeat
from counterpoint.dialects.foundry.verbs.steps.loaded_run import LoadedRun, load_run
from counterpoint.dialects.foundry.verbs.steps.stepping import (
    StepAnswer,
    find_lacking_commands,
    step_answer,
)
from counterpoint.kernel.errors import Conflict, NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAnswer:
    """The answer to a heartbeat."""

    session: str
    at: str
    pct: int
    source: ContextSource


class Replaying:
    """Verbs for agents that have lost an answer, or take long over a step."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def replay(self, selector: RunSelector) -> StepAnswer:
        """Return the outstanding step again; a stale one is issued anew, with another proof and another start.

        A run that is over, or has failed, is answered without a step. Raises NotFound if no step is out, AlreadyClaimed or
        Forbidden while somebody else is at the run.
        """
        key = self._context.ports.get(EvidenceKeys).of(self._context)
        with joined(self._context):
            with recording(self._context, "run.looked") as change:
                run = load_run(change.writing, get_run(change.writing, selector))
            row, out = run.row, run.outstanding
            if out is None and row.status in LIVE:
                raise NotFound(
                    f"no step of run {row.session} is out",
                    hint="Ask for the next one.",
                    session_id=row.session,
                )
            inside = self._context
            if row.status in LIVE:
                inside = self._context.in_session(row.session, item=row.spec)
                with recording(inside, "run.entered", row.spec) as change:
                    holding.take_up(change, row.session)
            with recording(inside, "run.replayed", row.spec) as change:
                if out is not None and _needs_new_proof(change, run, out, key):
                    row, out = _reissue_step(change, run, out, key)
                gates, title = _load_gates_and_title(change.writing, run, out)
                lacking = find_lacking_commands(inside, change.writing, out)
                data = step_answer(row, run, gates, out, title)
                return StepAnswer(data=data, lacking=lacking)

    def heartbeat(self, selector: RunSelector, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Record a heartbeat of a run's agent, and how much of its context it has used.

        Raises NotFound, Conflict for a run that is over, AlreadyClaimed or Forbidden while somebody else is at it.
        """
        sidecar = self._context.ports.get(AutonomyFiles).sidecar()
        with joined(self._context):
            with recording(self._context, "run.looked") as change:
                row = get_run(change.writing, selector)
            if row.status not in LIVE:
                raise Conflict(
                    f"run {row.session} is {row.status}",
                    hint="Start another.",
                    session_id=row.session,
                    status=row.status,
                    error_code="INVALID_STATE_TRANSITION",
                )
            inside = self._context.in_session(row.session, item=row.spec)
            with recording(inside, "run.heard", row.spec) as change:
                holding.take_up(change, row.session)
                change.open_session()
                row, limits = change.get(SpecSession, row.session), shown_terms(row).limits
                after = apply_heartbeat(row, heartbeat, change.clock, limits, sidecar)
                keep(change, replace(after, version=after.version + 1, updated_at=change.now))
                use = current_use(context_in(after), limits)
            return HeartbeatAnswer(
                session=row.session, at=after.heartbeat_at, pct=use.pct, source=use.source
            )

    def count_fault(self, selector: RunSelector) -> int:
        """Count a report that rested on invalid evidence; return how many came in a row. NotFound."""
        with recording(self._context, "run.evidence_refused") as change:
            change.open_session()
            row = change.get(SpecSession, get_run(change.writing, selector).session)
            count = row.evidence_faults + 1
            keep(change, replace(row, evidence_faults=count, updated_at=change.now))
            change.add_facts(faults=count)
            return count

    def proof(self, step: str) -> str:
        """Return the proof of a step; empty if it was issued with another key, so that nobody can derive it."""
        key = self._context.ports.get(EvidenceKeys).of(self._context)
        with self._context.reading() as view:
            steps = view.select(SessionStep, id=step, limit=1)
        if not steps:
            return ""
        proof = proof_of(key, steps[0].session, step, steps[0].renewed_at)
        return proof if proof_digest(proof) == steps[0].proof else ""


def _needs_new_proof(change: Change, run: LoadedRun, step: SessionStep, key: bytes) -> bool:
    """Whether a step has grown stale, or the project has another key than when it was issued."""
    out = run.out
    if out is not None and is_stale(out, change.clock, run.terms.limits):
        return True
    return proof_digest(proof_of(key, step.session, step.id, step.renewed_at)) != step.proof


def _reissue_step(
    change: Change, run: LoadedRun, step: SessionStep, key: bytes
) -> tuple[SpecSession, SessionStep]:
    """Issue a step anew; return run and step. The previous proof is no longer valid."""
    change.open_session()
    row = change.get(SpecSession, step.session)
    stored = change.get(SessionStep, step.session, step.number)
    digest = proof_digest(proof_of(key, step.session, step.id, change.clock))
    after = replace(stored, renewed_at=change.clock, proof=digest)
    change.put(after)
    row = replace(row, version=row.version + 1, updated_at=change.now, heartbeat_at=change.clock)
    keep(change, row)
    change.add_facts(step=step.id)
    about = run.nodes.id(step.task) or run.nodes.id(step.phase)
    note_event(
        change,
        row,
        f"Step issued again: {step.type} {about}".rstrip(),
        "It has a fresh proof; the one of before is no more.",
        type_=STEP_TYPE,
        action="step_reissued",
        step_id=step.id,
        step_type=step.type,
    )
    return row, after


def _load_gates_and_title(
    view: Reading, run: LoadedRun, step: SessionStep | None
) -> tuple[tuple[PhaseGate, ...], str]:
    """Return the gates of a spec, and the title of the task of a step."""
    shape = shape_of(view, run.nodes.root)
    task = view.find(Item, step.task) if step and step.task else None
    gates = tuple(phase_gates(view, shape, run.row, run.terms))
    return gates, task.title if task else ""

"""Has phases of unattended runs reviewed, and keeps evidence of that.

Rules: (1) a phase is reviewed for the step that is out, by whoever has the run's session. (2) An attempt is judged once: asked again, it
hears the same. What is put right is judged in the next attempt, so that cycles are counted. (3) Evidence that somebody changed is none, and is
judged anew. (4) A verdict opens nothing before it is reported: then `judging` does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import (
    GateEvidence,
    IssuedStep,
    SpecSession,
    Verdict,
)
from counterpoint.dialects.foundry.reviewers import Reviewers
from counterpoint.dialects.foundry.rules.autonomy.gating import (
    GateStep,
    asked_of,
    integrity_of,
    is_genuine,
    judged,
    refuse_review,
)
from counterpoint.dialects.foundry.rules.autonomy.reviewer import (
    ChangedPromise,
    PhaseWork,
    Review,
    changed_promises,
    kept_findings,
)
from counterpoint.dialects.foundry.rules.shape import items_of
from counterpoint.dialects.foundry.verbs.documents.history import History
from counterpoint.dialects.foundry.verbs.gates.keys import EvidenceKeys
from counterpoint.dialects.foundry.verbs.gates.seeing import Promised, promised, seen
from counterpoint.dialects.foundry.verbs.gates.views import PhaseReview
from counterpoint.dialects.foundry.verbs.reviews.panel import Consulted
from counterpoint.dialects.foundry.verbs.reviews.saving import from_home, is_there, name_of
from counterpoint.dialects.foundry.verbs.reviews.work import (
    REVIEWS,
    ModelReviewer,
    Reviewed,
    written,
)
from counterpoint.dialects.foundry.verbs.sessions.events import STEP_TYPE, note_event
from counterpoint.dialects.foundry.verbs.sessions.finding import run_named
from counterpoint.dialects.foundry.verbs.sessions.gates import gate_of, policy_in
from counterpoint.dialects.foundry.verbs.sessions.rows import (
    evidence_in,
    last_step,
    shown_terms,
    status_in,
    step_in,
)
from counterpoint.dialects.foundry.verbs.sessions.shape import SpecShape, shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import RunOf
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import NotFound

BEGUN: Final = "run.started"
"""The action of the entry with which a run of a spec begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What is to be reviewed: a phase of a spec, for a step of a run."""

    shape: SpecShape
    row: SpecSession
    step: IssuedStep
    phase: Item


class Reviewing:
    """Verbs that have phases reviewed."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def review(
        self, asked: GateStep, wanted: Consulted | None = None, watch: Watch | None = None
    ) -> PhaseReview:
        """Have a phase judged for a step of a run, and keep what was found.

        wanted: which models judge beside the rules; None: none. What the rules fail is not shown to them, since no model makes it milder.
        Raises NotFound, Conflict for another step than the one that is out, Forbidden to whoever has not the run's session,
        Unavailable if the signer or a reviewer cannot be asked: without integrity there is no evidence.
        """
        key = self._context.ports.get(EvidenceKeys).of(self._context)
        with self._context.reading() as view:
            place = _place(view, asked)
            if (before := _found(view, place, key)) is not None:
                return self._told(view, place, before, again=True)
            said = promised(view, place.shape, place.phase)
        # Before the transaction: nobody waits to write while git or a reviewer is asked.
        work = work_of(self._context, said, place.row)
        review, models = judged_by(self._context, work), None
        if wanted is not None and review.verdict != "fail":
            models = self._models(place, wanted, watch, work)
            review = models.beside(review) if models else review
        inside = self._context.in_session(asked.session)
        with recording(inside, "gate.reviewed", place.phase.id) as change:
            change.open_session()
            # Asked again: the step may have been reported meanwhile, or another call have judged it.
            place = _place(change.writing, asked)
            if (before := _found(change.writing, place, key)) is not None:
                return self._told(change.writing, place, before, again=True)
            if models is not None:
                name = f"{place.shape.known.spec}-{place.step.phase}-{place.step.attempt}"
                written(self._context, change, name, models, review)
            evidence = _evidence(change, place, review, key, models)
            _tell(change, place, evidence)
            found = self._told(change.writing, place, evidence)
            return replace(found, settled=models.settled) if models else found

    def preview(self, asked: GateStep) -> PhaseReview:
        """Return what the rules would find of a phase now; nothing is kept, and no model is asked. What `review` raises of steps."""
        with self._context.reading() as view:
            place = _place(view, asked)
            said = promised(view, place.shape, place.phase)
        review = judged_by(self._context, work_of(self._context, said, place.row))
        found = [one.told() for one in kept_findings(review.findings)]
        name = self._context.ports.get(Reviewers).phases.name
        with self._context.reading() as view:
            return _as_told(view, place, review.verdict, name, list(found))

    def _told(
        self, view: Reading, place: _Place, found: GateEvidence, *, again: bool = False
    ) -> PhaseReview:
        """Return what was found in an attempt, with its file if models had a part in it and that is there."""
        told = _told(view, place, found, again=again)
        if found.reviewer == self._context.ports.get(Reviewers).phases.name:
            return told
        path = name_of(REVIEWS, f"{told.spec}-{told.phase}-{told.attempt}")
        found_at = path if is_there(self._context, path) else ""
        return replace(told, path=from_home(self._context, found_at))

    def _models(
        self, place: _Place, wanted: Consulted, watch: Watch | None, work: PhaseWork
    ) -> Reviewed | None:
        """Return what models say of a phase; None where nobody can be asked."""
        models = ModelReviewer(
            context=self._context,
            wanted=wanted,
            spec=place.shape.known.spec,
            about=place.phase.id,
            sample=place.step.attempt,
            watch=watch,
        )
        return models.review((work,)) if models.can_be_asked() else None


def work_of(context: Context, said: Promised, row: SpecSession | None) -> PhaseWork:
    """Return what reviewers see of a phase, or of a part of it; row: the run that works on it, if one does.

    Asked while no transaction is open: git takes its time.
    """
    work = seen(context, said)
    if row is None:
        return work
    return replace(work, promises=_changed(context, row, said))


def judged_by(context: Context, work: PhaseWork) -> Review:
    """Return what the reviewer of a project says, who needs no model; no transaction is open."""
    return context.ports.get(Reviewers).phases.review(work)


def _changed(context: Context, row: SpecSession, said: Promised) -> tuple[ChangedPromise, ...]:
    """Return what nodes promised when a run began, and do not any more."""
    with context.reading() as view:
        # A spec has one run that goes on, and that is the one that was begun last.
        begun = view.sequences(subject=row.spec, action=BEGUN, limit=1)
    if not begun:
        return ()
    history = History(context)
    before = history.document(row.spec, str(begun[0]))
    return changed_promises(before, history.present(row.spec)[1], said.work.phase)


def _place(view: Reading, asked: GateStep) -> _Place:
    row = run_named(view, RunOf(session=asked.session, spec=asked.spec))
    shape = shape_of(view, view.find(Item, row.spec) or _gone(row))
    phase = shape.known.find(asked.phase)
    if phase is None or phase not in shape.phases:
        raise NotFound(
            f"the spec {shape.known.spec} has no phase {asked.phase!r}",
            error_code="PHASE_NOT_FOUND",
        )
    last = last_step(view, row.session)
    out = step_in(last, shape.known) if last is not None and not last.consumed_at else None
    wanted = replace(asked, phase=shape.known.id(phase.id))
    step = refuse_review(status_in(row), out, wanted)
    return _Place(shape=shape, row=row, step=step, phase=phase)


def _gone(row: SpecSession) -> Item:
    raise NotFound(f"the spec of run {row.session} is gone", error_code="SPEC_NOT_FOUND")


def _found(view: Reading, place: _Place, key: bytes) -> GateEvidence | None:
    """Return what was found in this attempt already, if that is as the reviewer left it."""
    found = view.find(GateEvidence, place.step.attempt)
    is_kept = found is not None and is_genuine(evidence_in(found, place.shape.known), key)
    return found if is_kept else None


def _evidence(
    change: Change, place: _Place, review: Review, key: bytes, models: Reviewed | None
) -> GateEvidence:
    """Keep what was found, with its integrity, and answer it."""
    told = [one.told() for one in kept_findings(review.findings)]
    drafted = GateEvidence(
        project=place.row.project,
        id=place.step.attempt,
        session=place.row.session,
        step=place.step.id,
        phase=place.phase.id,
        verdict=review.verdict,
        findings=Prose(canonical.dump_any(told)),
        reviewer=models.named if models else change.context.ports.get(Reviewers).phases.name,
        issued_at=change.now,
        integrity="",
        reported_at="",
        answered_at="",
    )
    # Masked before: its integrity is over what is kept.
    clean = change.masked(drafted)
    proof = integrity_of(evidence_in(clean, place.shape.known), key)
    evidence = replace(clean, integrity=proof)
    change.put(evidence)
    return evidence


def _tell(change: Change, place: _Place, found: GateEvidence) -> None:
    name = place.step.phase
    change.add_facts(
        run=place.row.session, step=found.step, attempt=found.id, verdict=found.verdict
    )
    count = len(_findings(found))
    note_event(
        change,
        place.row,
        f"Gate of {name} reviewed: {found.verdict}",
        f"The {found.reviewer} reviewer found {count} things.",
        type_=STEP_TYPE,
        action="gate_reviewed",
        step_id=found.step,
        phase_id=name,
        gate_attempt_id=found.id,
        verdict=found.verdict,
    )


def _told(view: Reading, place: _Place, found: GateEvidence, *, again: bool = False) -> PhaseReview:
    told = _as_told(view, place, found.verdict, found.reviewer, _findings(found))
    return replace(told, again=again)


def _as_told(
    view: Reading, place: _Place, verdict: Verdict, reviewer: str, findings: list[canonical.Json]
) -> PhaseReview:
    policy = policy_in(view, shown_terms(place.row).policy)
    gate = gate_of(view, place.phase.id)
    required = asked_of(gate, has_verify=place.shape.verifies(place.phase))
    is_open = gate is not None and gate.status != "closed"
    return PhaseReview(
        spec=place.shape.known.spec,
        session=place.row.session,
        phase=place.step.phase,
        step=place.step.id,
        attempt=place.step.attempt,
        verdict=verdict,
        policy=policy,
        opens=is_open or judged(required, policy, verdict) == "passed",
        reviewer=reviewer,
        findings=findings,
    )


def _findings(found: GateEvidence) -> list[canonical.Json]:
    """Return what was found; nothing if it was redacted."""
    text = str(found.findings)
    return items_of(canonical.load(text)) if text not in {"", REDACTED} else []

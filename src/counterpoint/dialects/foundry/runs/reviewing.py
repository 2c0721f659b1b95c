"""Has phases of unattended runs reviewed, and stores the evidence.

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
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.documents.history import History
from counterpoint.dialects.foundry.models.runs import GateEvidence, IssuedStep, SpecSession, Verdict
from counterpoint.dialects.foundry.nodes.rules.shape import items_of
from counterpoint.dialects.foundry.reviews.operations import (
    WORK_REVIEWS,
    ModelReviewer,
    Reviewed,
    write_review,
)
from counterpoint.dialects.foundry.reviews.panel import (
    ReviewerChoice,
    Reviewers,
    from_home,
    is_there,
    name_of,
)
from counterpoint.dialects.foundry.reviews.rules.material import (
    ChangedPromise,
    PhaseWork,
    Review,
    changed_promises,
    kept_findings,
)
from counterpoint.dialects.foundry.runs.gates import (
    EvidenceKeys,
    PhasePromises,
    PhaseReview,
    gather_work,
    load_promises,
)
from counterpoint.dialects.foundry.runs.rows import (
    STEP_TYPE,
    RunSelector,
    SpecShape,
    evidence_in,
    gate_of,
    get_run,
    last_step,
    note_event,
    policy_in,
    shape_of,
    shown_terms,
    status_in,
    step_in,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    GateStep,
    asked_of,
    integrity_of,
    is_genuine,
    judged,
    refuse_review,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import NotFound
from counterpoint.kernel.plurals import counted

BEGUN: Final = "run.started"
"""The action of the entry with which a run of a spec begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReviewTarget:
    """What is to be reviewed: a phase of a spec, for a step of a run."""

    shape: SpecShape
    row: SpecSession
    step: IssuedStep
    phase: Item


class Reviewing(Verbs):
    """Verbs that have phases reviewed."""

    def review(
        self, request: GateStep, choice: ReviewerChoice | None = None, watch: Watch | None = None
    ) -> PhaseReview:
        """Have a phase judged for a step of a run, and store the findings.

        choice: which models judge beside the rules; None: none. What the rules fail is not shown to them, since no model makes it milder.
        Raises NotFound, Conflict for another step than the one that is out, Forbidden to whoever has not the run's session,
        Unavailable if the signer or a reviewer cannot be request: without integrity there is no evidence.
        """
        key = self._context.ports.get(EvidenceKeys).of(self._context)
        with self._context.reading() as view:
            target = _load_target(view, request)
            if (before := _find_genuine_evidence(view, target, key)) is not None:
                return self._answer_with_file(view, target, before, again=True)
            promises = load_promises(view, target.shape, target.phase)
        # Before the transaction: nobody waits to write while git or a reviewer is asked.
        work = work_of(self._context, promises, target.row)
        review, models = review_by_rules(self._context, work), None
        if choice is not None and review.verdict != "fail":
            models = self._review_by_models(target, choice, watch, work)
            review = models.beside(review) if models else review
        inside = self._context.in_session(request.session)
        with recording(inside, "gate.reviewed", target.phase.id) as change:
            change.open_session()
            # Asked again: the step may have been reported meanwhile, or another call have judged it.
            target = _load_target(change.writing, request)
            if (before := _find_genuine_evidence(change.writing, target, key)) is not None:
                return self._answer_with_file(change.writing, target, before, again=True)
            if models is not None:
                name = f"{target.shape.nodes.spec}-{target.step.phase}-{target.step.attempt}"
                write_review(self._context, change, name, models, review)
            evidence = _store_evidence(change, target, review, key, models)
            _record_review(change, target, evidence)
            answer = self._answer_with_file(change.writing, target, evidence)
            return replace(answer, settled=models.settled) if models else answer

    def preview(self, request: GateStep) -> PhaseReview:
        """Return what the rules would find of a phase now, without storing it or asking a model. Raises what `review` raises of steps."""
        with self._context.reading() as view:
            target = _load_target(view, request)
            promises = load_promises(view, target.shape, target.phase)
        review = review_by_rules(self._context, work_of(self._context, promises, target.row))
        findings = [finding.told() for finding in kept_findings(review.findings)]
        name = self._context.ports.get(Reviewers).phases.name
        with self._context.reading() as view:
            return _phase_review(view, target, review.verdict, name, list(findings))

    def _answer_with_file(
        self, view: Reading, target: _ReviewTarget, evidence: GateEvidence, *, again: bool = False
    ) -> PhaseReview:
        """Return the answer about an attempt, with its file if models took part and it exists."""
        answer = _build_answer(view, target, evidence, again=again)
        if evidence.reviewer == self._context.ports.get(Reviewers).phases.name:
            return answer
        path = name_of(WORK_REVIEWS, f"{answer.spec}-{answer.phase}-{answer.attempt}")
        existing_path = path if is_there(self._context, path) else ""
        return replace(answer, path=from_home(self._context, existing_path))

    def _review_by_models(
        self, target: _ReviewTarget, choice: ReviewerChoice, watch: Watch | None, work: PhaseWork
    ) -> Reviewed | None:
        """Have models review a phase; None where no reviewer is available."""
        models = ModelReviewer(
            context=self._context,
            choice=choice,
            spec=target.shape.nodes.spec,
            about=target.phase.id,
            sample=target.step.attempt,
            watch=watch,
        )
        return models.review((work,)) if models.can_be_asked() else None


def work_of(context: Context, promises: PhasePromises, row: SpecSession | None) -> PhaseWork:
    """Return what reviewers see of a phase, or of a part of it; row: the run that works on it, if one does.

    Asked while no transaction is open: git takes its time.
    """
    work = gather_work(context, promises)
    if row is None:
        return work
    return replace(work, promises=_find_changed_promises(context, row, promises))


def review_by_rules(context: Context, work: PhaseWork) -> Review:
    """Review work by the rules of a project, which needs no model; no transaction is open."""
    return context.ports.get(Reviewers).phases.review(work)


def _find_changed_promises(
    context: Context, row: SpecSession, promises: PhasePromises
) -> tuple[ChangedPromise, ...]:
    """Return the promises of nodes that changed since a run began."""
    with context.reading() as view:
        # A spec has one run that goes on, and that is the one that was begun last.
        begun = view.sequences(subject=row.spec, action=BEGUN, limit=1)
    if not begun:
        return ()
    history = History(context)
    before = history.document(row.spec, str(begun[0]))
    return changed_promises(before, history.present(row.spec)[1], promises.work.phase)


def _load_target(view: Reading, request: GateStep) -> _ReviewTarget:
    row = get_run(view, RunSelector(session=request.session, spec=request.spec))
    shape = shape_of(view, view.find(Item, row.spec) or _raise_gone(row))
    phase = shape.nodes.find(request.phase)
    if phase is None or phase not in shape.phases:
        raise NotFound(
            f"the spec {shape.nodes.spec} has no phase {request.phase!r}",
            error_code="PHASE_NOT_FOUND",
        )
    last = last_step(view, row.session)
    out = step_in(last, shape.nodes) if last is not None and not last.consumed_at else None
    own_request = replace(request, phase=shape.nodes.id(phase.id))
    step = refuse_review(status_in(row), out, own_request)
    return _ReviewTarget(shape=shape, row=row, step=step, phase=phase)


def _raise_gone(row: SpecSession) -> Item:
    raise NotFound(f"the spec of run {row.session} is gone", error_code="SPEC_NOT_FOUND")


def _find_genuine_evidence(view: Reading, target: _ReviewTarget, key: bytes) -> GateEvidence | None:
    """Return the evidence of this attempt, if it exists as the reviewer left it."""
    evidence = view.find(GateEvidence, target.step.attempt)
    is_kept = evidence is not None and is_genuine(evidence_in(evidence, target.shape.nodes), key)
    return evidence if is_kept else None


def _store_evidence(
    change: Change, target: _ReviewTarget, review: Review, key: bytes, models: Reviewed | None
) -> GateEvidence:
    """Store and return the evidence of a review, with its integrity."""
    findings = [finding.told() for finding in kept_findings(review.findings)]
    draft = GateEvidence(
        project=target.row.project,
        id=target.step.attempt,
        session=target.row.session,
        step=target.step.id,
        phase=target.phase.id,
        verdict=review.verdict,
        findings=Prose(canonical.dump_any(findings)),
        reviewer=models.reviewers if models else change.context.ports.get(Reviewers).phases.name,
        issued_at=change.now,
        integrity="",
        reported_at="",
        answered_at="",
    )
    # Masked before: its integrity is over what is kept.
    clean = change.masked(draft)
    proof = integrity_of(evidence_in(clean, target.shape.nodes), key)
    evidence = replace(clean, integrity=proof)
    change.put(evidence)
    return evidence


def _record_review(change: Change, target: _ReviewTarget, evidence: GateEvidence) -> None:
    name = target.step.phase
    change.add_facts(
        run=target.row.session, step=evidence.step, attempt=evidence.id, verdict=evidence.verdict
    )
    count = len(_findings_in(evidence))
    note_event(
        change,
        target.row,
        f"Gate of {name} reviewed: {evidence.verdict}",
        f"The {evidence.reviewer} reviewer found {counted(count, 'thing')}.",
        type_=STEP_TYPE,
        action="gate_reviewed",
        step_id=evidence.step,
        phase_id=name,
        gate_attempt_id=evidence.id,
        verdict=evidence.verdict,
    )


def _build_answer(
    view: Reading, target: _ReviewTarget, evidence: GateEvidence, *, again: bool = False
) -> PhaseReview:
    answer = _phase_review(
        view, target, evidence.verdict, evidence.reviewer, _findings_in(evidence)
    )
    return replace(answer, again=again)


def _phase_review(
    view: Reading,
    target: _ReviewTarget,
    verdict: Verdict,
    reviewer: str,
    findings: list[canonical.Json],
) -> PhaseReview:
    policy = policy_in(view, shown_terms(target.row).policy)
    gate = gate_of(view, target.phase.id)
    required = asked_of(gate, has_verify=target.shape.verifies(target.phase))
    is_open = gate is not None and gate.status != "closed"
    return PhaseReview(
        spec=target.shape.nodes.spec,
        session=target.row.session,
        phase=target.step.phase,
        step=target.step.id,
        attempt=target.step.attempt,
        verdict=verdict,
        policy=policy,
        opens=is_open or judged(required, policy, verdict) == "passed",
        reviewer=reviewer,
        findings=findings,
    )


def _findings_in(evidence: GateEvidence) -> list[canonical.Json]:
    """Return the findings of evidence; none if they were redacted."""
    text = str(evidence.findings)
    return items_of(canonical.load(text)) if text not in {"", REDACTED} else []

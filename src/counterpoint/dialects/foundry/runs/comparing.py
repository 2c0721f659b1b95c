"""Compares work with its spec, as the reviewer of its gates does.

Of the rules nothing is kept: whoever repairs what a gate has found sees what is left of it, with what people asked for when they sent a phase
back. What models say was paid for, and is written down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from counterpoint.core.model.journal import Verdict
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.models.runs import SpecSession
from counterpoint.dialects.foundry.nodes.queries import get_spec
from counterpoint.dialects.foundry.reviews.operations import (
    ModelReviewer,
    recommendations_in,
    write,
)
from counterpoint.dialects.foundry.reviews.panel import ReviewerChoice
from counterpoint.dialects.foundry.reviews.rules.material import (
    Finding,
    Looking,
    PhaseWork,
    Review,
    verdict_of,
)
from counterpoint.dialects.foundry.runs.gates import Comparison, PhasePromises, load_promises
from counterpoint.dialects.foundry.runs.reviewing import review_by_rules, work_of
from counterpoint.dialects.foundry.runs.rows import (
    RunSelector,
    SpecShape,
    gate_of,
    get_run,
    latest_run,
    shape_of,
)
from counterpoint.kernel.errors import InvalidInput, NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """Work to compare. about: the item it is compared for; works: its phases, as far as they belong to that item."""

    shape: SpecShape
    about: Item
    scope: str
    works: tuple[PhaseWork, ...]
    findings: tuple[Finding, ...]
    requests: tuple[str, ...]


class Comparing(Verbs):
    """Verbs that compare work with its spec."""

    def compare(self, spec: str, phase: str = "", task: str = "", session: str = "") -> Comparison:
        """Compare a spec, or one phase or task of it, with the rules; session: of a run of it, empty: the last.

        Raises NotFound, InvalidInput for a phase and a task at once.
        """
        return _comparison(self._load_subject(spec, phase, task, session))

    def judge(
        self,
        spec: str,
        where: tuple[str, str, str],
        looking: Looking,
        choice: ReviewerChoice,
        watch: Watch | None = None,
    ) -> Comparison:
        """Compare by rules and by models, and write that down; the same as `compare` where no reviewer is available.

        where: phase, task and session, each empty if none is meant. Raises what `compare` and `Panel.ask` do, and NotFound, PathOutside or InvalidInput for a
        file that is named and cannot be shown.
        """
        subject = self._load_subject(spec, *where)
        comparison = _comparison(subject)
        models = ModelReviewer(
            context=self._context,
            choice=choice,
            spec=comparison.spec,
            about=subject.about.id,
            looking=looking,
            watch=watch,
        )
        if not models.can_be_asked():
            return comparison
        reviewed = models.review(subject.works)
        if reviewed is None:
            return replace(comparison, is_unchanged=True)
        rules = Review(verdict=verdict_of(subject.findings), findings=subject.findings)
        both = reviewed.beside(rules)
        name = f"{comparison.spec}-{subject.shape.nodes.id(subject.about.id)}"
        path = write(self._context, subject.about.id, name, reviewed, both)
        is_unsure = reviewed.settled.verdict == "unknown" and rules.verdict != "fail"
        return replace(
            comparison,
            verdict="unknown" if is_unsure else both.verdict,
            models=[finding.told() for finding in reviewed.review.findings],
            asked=[*comparison.asked, *recommendations_in(reviewed.settled.said)],
            settled=reviewed.settled,
            path=path,
            left=reviewed.material.left,
        )

    def _load_subject(self, spec: str, phase: str, task: str, session: str) -> _Subject:
        if phase and task:
            raise InvalidInput(
                "a comparison is of a phase or of a task", hint="Leave one of the two out."
            )
        with self._context.reading() as view:
            shape = shape_of(view, get_spec(view, spec))
            row = _find_run(view, shape, session)
            phases, about = _select_phases(shape, phase, task)
            promises = [_keep_task(load_promises(view, shape, item), task) for item in phases]
            requests = tuple(text for item in phases for text in _requested_fixes(view, item))
        works = tuple(work_of(self._context, phase_promises, row) for phase_promises in promises)
        findings = (
            finding for work in works for finding in review_by_rules(self._context, work).findings
        )
        return _Subject(
            shape=shape,
            about=about,
            scope="task" if task else "phase" if phase else "spec",
            works=works,
            findings=tuple(finding for finding in findings if task in {"", finding.about}),
            requests=requests,
        )


def _comparison(subject: _Subject) -> Comparison:
    return Comparison(
        spec=subject.shape.nodes.spec,
        title=subject.about.title,
        scope=subject.scope,
        verdict=verdict_of(subject.findings),
        findings=[finding.told() for finding in subject.findings],
        asked=subject.requests,
    )


def _find_run(view: Reading, shape: SpecShape, session: str) -> SpecSession | None:
    if session:
        return get_run(view, RunSelector(session=session, spec=shape.nodes.spec))
    return latest_run(view, shape.nodes.root.id)


def _select_phases(shape: SpecShape, phase: str, task: str) -> tuple[Sequence[Item], Item]:
    """Return the compared phases, and the item that they are compared for."""
    if not phase and not task:
        return shape.phases, shape.nodes.root
    code = "PHASE_NOT_FOUND" if phase else "TASK_NOT_FOUND"
    item = shape.nodes.get(phase or task, code)
    for candidate in shape.phases:
        if candidate == item if phase else item in shape.tasks[candidate.id]:
            return (candidate,), item
    what = "phase" if phase else "task of a phase"
    raise NotFound(f"{phase or task!r} is no {what} of {shape.nodes.spec}", error_code=code)


def _keep_task(promises: PhasePromises, task: str) -> PhasePromises:
    """Return the promises of one node alone, if one is named."""
    if not task:
        return promises
    work = replace(
        promises.work,
        tasks=tuple(node for node in promises.work.tasks if node.id == task),
        verifications=tuple(check for check in promises.work.verifications if check.id == task),
    )
    return replace(promises, work=work)


def _requested_fixes(view: Reading, phase: Item) -> list[str]:
    """Return what people asked for when they sent a phase back, while its gate is closed."""
    gate = gate_of(view, phase.id)
    if gate is None or gate.status != "closed":
        return []
    last = view.select(Verdict, item=phase.id, order="number desc", limit=1)
    return [
        text
        for verdict in last
        if verdict.decision == "reject"
        for text in (verdict.reason, *verdict.fixes)
    ]

"""Has specs reviewed before work begins, beside their plans or by themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.foundry.rules.reviews import prompts
from counterpoint.dialects.foundry.rules.reviews.feedback import merged, remarks_of
from counterpoint.dialects.foundry.rules.reviews.forms import (
    ALIGNMENTS,
    BESIDE_PLAN,
    FEEDBACK,
    ReviewType,
)
from counterpoint.dialects.foundry.rules.reviews.pages import beside_plan_page, headed, remarks_page
from counterpoint.dialects.foundry.rules.reviews.verdicts import alignment_of
from counterpoint.dialects.foundry.rules.shape import metadata_of, text_of
from counterpoint.dialects.foundry.verbs.queries import get_spec
from counterpoint.dialects.foundry.verbs.reviews.panel import Panel, ReviewerChoice, Settled, Task
from counterpoint.dialects.foundry.verbs.reviews.saving import from_home, load, name_of, save
from counterpoint.dialects.foundry.verbs.reviews.views import SpecReview
from counterpoint.dialects.foundry.verbs.specs import line_of_spec, whole
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound, PathOutside

REVIEWS: Final = ".spec-reviews"
"""Where reviews of specs lie in the folder of specs."""
_UNTOLD: Final = ("journal", "spec_id", "generated", "last_updated")
"""Parts of a document that say nothing of what is to be done; times would make each question another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The question to the reviewers of a spec. with_plan: whether its plan can be read."""

    review: SpecReview
    task: Task
    root: str
    with_plan: bool


class SpecReviews:
    """Verbs that have specs reviewed."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def preview(self, spec: str, kind: ReviewType) -> SpecReview:
        """Return the review that would be held, without asking anyone; NotFound."""
        return self._prepare_question(spec, kind).review

    def review(self, spec: str, kind: ReviewType, choice: ReviewerChoice) -> SpecReview:
        """Have a spec reviewed, and write the review to a file; NotFound, and what `Panel.ask` raises."""
        question = self._prepare_question(spec, kind)
        settled = Panel(self._context, self._watch).ask(question.task, choice)
        findings = _combine_findings(settled, with_plan=question.with_plan)
        name = question.review.line.spec
        facts = [
            ("Spec", name),
            ("Reviewers", ", ".join(settled.reviewers)),
            ("Verdict", settled.verdict),
        ]
        title = f"Spec review: {question.review.line.root.title}"
        page = headed(title, facts, _render_body(settled, with_plan=question.with_plan))
        with recording(self._context, "review.written", question.root) as change:
            change.open_session()
            written = save(
                self._context,
                change,
                {name_of(REVIEWS, name, "spec-review"): page},
                review="spec",
                verdict=settled.verdict,
                reviewers=list(settled.reviewers),
            )
        return replace(
            question.review,
            found=findings,
            settled=settled,
            path=from_home(self._context, "".join(written)),
        )

    def _prepare_question(self, spec: str, kind: ReviewType) -> _Question:
        with self._context.reading() as view:
            root = get_spec(view, spec)
            line, document = line_of_spec(view, root, counted=True), whole(view, root)
        plan = self._plan(text_of(metadata_of(document).get("plan_path")))
        content = {name: value for name, value in document.items() if name not in _UNTOLD}
        text = canonical.dump_any(content)
        if plan:
            template = "SPEC_REVIEW_VS_PLAN_V1"
            task = Task(
                system=prompts.BESIDE_PLAN,
                text=prompts.material([("The plan", plan), ("The spec", text)]),
                form=BESIDE_PLAN,
                purpose="review-spec",
                item=root.id,
                judge=alignment_of,
                order=ALIGNMENTS,
            )
        else:
            template = f"PLAN_REVIEW_{kind.upper()}_V1"
            task = Task(
                system=prompts.review_of("spec", kind),
                text=prompts.material([("The spec", text)]),
                form=FEEDBACK,
                purpose="review-spec",
                item=root.id,
            )
        review = SpecReview(line=line, template=template, found={})
        return _Question(review=review, task=task, root=root.id, with_plan=bool(plan))

    def _plan(self, path: str) -> str:
        """Return the plan of a spec; empty where there is none that can be read."""
        if not path:
            return ""
        try:
            return load(self._context, path)
        except (NotFound, PathOutside, InvalidInput):
            return ""


def _combine_findings(settled: Settled, *, with_plan: bool) -> dict[str, Json]:
    """Return the findings of all reviewers; beside a plan those of the first whose verdict counts."""
    if with_plan:
        own = next(
            (judged for judged in settled.judged if judged.verdict == settled.verdict),
            settled.judged[0],
        )
        return dict(own.found)
    remarks = merged([remarks_of(judged.found, judged.name) for judged in settled.judged])
    sections: dict[str, list[Json]] = {}
    for remark in remarks:
        sections.setdefault(remark.section, []).append(
            {name: part for name, part in remark.told().items() if name != "section"}
        )
    summary = settled.judged[0].found["summary"]
    return {"summary": summary, **sections}


def _render_body(settled: Settled, *, with_plan: bool) -> str:
    if with_plan:
        return "\n\n".join(beside_plan_page(judged.name, judged.found) for judged in settled.judged)
    remarks = merged([remarks_of(judged.found, judged.name) for judged in settled.judged])
    summaries = [(judged.name, text_of(judged.found.get("summary"))) for judged in settled.judged]
    return remarks_page(summaries, remarks)

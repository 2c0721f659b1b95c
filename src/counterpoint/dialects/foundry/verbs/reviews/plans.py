"""Has plans reviewed, and parses remarks that people wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.foundry.places import PLAN_REVIEWS
from counterpoint.dialects.foundry.rules.reviews import prompts
from counterpoint.dialects.foundry.rules.reviews.feedback import (
    Remark,
    merged,
    modifications_of,
    read_markdown,
    remarks_of,
)
from counterpoint.dialects.foundry.rules.reviews.forms import FEEDBACK, ReviewType
from counterpoint.dialects.foundry.rules.reviews.pages import headed, remarks_page
from counterpoint.dialects.foundry.rules.shape import text_of
from counterpoint.dialects.foundry.verbs.queries import get_spec, spec_id
from counterpoint.dialects.foundry.verbs.reviews.panel import (
    Judged,
    Panel,
    ReviewerChoice,
    Settled,
    Task,
)
from counterpoint.dialects.foundry.verbs.reviews.saving import load, name_of, save
from counterpoint.dialects.foundry.verbs.reviews.views import Parsed, PlanReview
from counterpoint.dialects.foundry.verbs.specs import Specs
from counterpoint.kernel.errors import InvalidInput


class PlanReviews:
    """Verbs for reviews of plans."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def preview(self, path: str) -> PlanReview:
        """Return which plan would be reviewed, without asking anyone; NotFound, PathOutside, InvalidInput for an empty one."""
        return self._read(path)[0]

    def review(self, path: str, kind: ReviewType, choice: ReviewerChoice) -> PlanReview:
        """Have a plan reviewed, and write the review to a file; raises what `preview` and `Panel.ask` do."""
        review, text = self._read(path)
        task = Task(
            system=prompts.review_of("plan", kind),
            text=prompts.material([("The plan", text)]),
            form=FEEDBACK,
            purpose="review-plan",
        )
        settled = Panel(self._context, self._watch).ask(task, choice)
        remarks = _merge_remarks(settled)
        main = name_of(PLAN_REVIEWS, review.name, "review", kind)
        several = settled.judged if len(settled.judged) > 1 else ()
        of_one = {
            name_of(PLAN_REVIEWS, review.name, "review", kind, judged.name): judged
            for judged in several
        }
        pages = {
            path: _render_page(review, (judged,), remarks_of(judged.found))
            for path, judged in of_one.items()
        }
        pages[main] = _render_page(review, settled.judged, remarks)
        with recording(self._context, "review.written") as change:
            change.open_session()
            written = save(
                self._context,
                change,
                pages,
                review="plan",
                plan=review.plan,
                reviewers=list(settled.reviewers),
            )
        own = {judged.name: path for path, judged in of_one.items() if path in written}
        whole = main if main in written else ""
        return replace(review, remarks=remarks, settled=settled, path=whole, own=own)

    def parse(self, spec: str, path: str, choice: ReviewerChoice | None) -> Parsed:
        """Return the remarks of a file with the changes of a spec that they ask for, and change nothing.

        A file with the sections of a review is read by rule. Of any other a model puts the remarks in order: what `Panel.ask` raises;
        wanted: who does, None: nobody.
        """
        with self._context.reading() as view:
            root = get_spec(view, spec)
            name = spec_id(view, root)
        plan_path = Specs(self._context).plan_file(path)
        text = load(self._context, plan_path)
        remarks, settled = read_markdown(text), None
        if choice is not None and not remarks and text.strip():
            task = Task(
                system=prompts.PARSING,
                text=prompts.material([("The remarks", text)]),
                form=FEEDBACK,
                purpose="review-feedback",
                item=root.id,
            )
            settled = Panel(self._context, self._watch).ask(task, choice)
            remarks = _merge_remarks(settled)
        modifications = modifications_of(remarks, name)
        return Parsed(
            spec=name, path=plan_path, remarks=remarks, asked=modifications, settled=settled
        )

    def _read(self, path: str) -> tuple[PlanReview, str]:
        plan_path = Specs(self._context).plan_file(path)
        text = load(self._context, plan_path)
        if not text.strip():
            raise InvalidInput(f"the plan {plan_path!r} is empty", hint="Write the plan first.")
        return PlanReview(plan=plan_path, name=PurePosixPath(plan_path).stem), text


def _merge_remarks(settled: Settled) -> tuple[Remark, ...]:
    return merged([remarks_of(judged.found, judged.name) for judged in settled.judged])


def _render_page(
    review: PlanReview, answers: tuple[Judged, ...], remarks: tuple[Remark, ...]
) -> str:
    summaries = [(judged.name, text_of(judged.found.get("summary"))) for judged in answers]
    facts = [("Plan", review.plan), ("Reviewers", ", ".join(judged.name for judged in answers))]
    return headed(f"Plan review: {review.name}", facts, remarks_page(summaries, remarks))

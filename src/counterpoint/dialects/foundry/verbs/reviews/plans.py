"""Has plans reviewed, and puts remarks in order that somebody made."""

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
from counterpoint.dialects.foundry.verbs.queries import spec_id, spec_named
from counterpoint.dialects.foundry.verbs.reviews.panel import (
    Consulted,
    Judged,
    Panel,
    Settled,
    Task,
)
from counterpoint.dialects.foundry.verbs.reviews.saving import load, name_of, save
from counterpoint.dialects.foundry.verbs.reviews.views import Parsed, PlanReview
from counterpoint.dialects.foundry.verbs.specs import Specs
from counterpoint.kernel.errors import InvalidInput


class PlanReviews:
    """Verbs for what is said of plans."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def preview(self, path: str) -> PlanReview:
        """Return which plan would be reviewed, and ask nobody; NotFound, PathOutside, InvalidInput for an empty one."""
        return self._read(path)[0]

    def review(self, path: str, kind: ReviewType, wanted: Consulted) -> PlanReview:
        """Return what reviewers say of a plan, and write it down; what `preview` and `Panel.ask` raise."""
        found, text = self._read(path)
        task = Task(
            system=prompts.review_of("plan", kind),
            text=prompts.material([("The plan", text)]),
            form=FEEDBACK,
            purpose="review-plan",
        )
        settled = Panel(self._context, self._watch).ask(task, wanted)
        remarks = _remarks(settled)
        main = name_of(PLAN_REVIEWS, found.name, "review", kind)
        several = settled.judged if len(settled.judged) > 1 else ()
        of_one = {
            name_of(PLAN_REVIEWS, found.name, "review", kind, one.name): one for one in several
        }
        pages = {path: _page(found, (one,), remarks_of(one.found)) for path, one in of_one.items()}
        pages[main] = _page(found, settled.judged, remarks)
        with recording(self._context, "review.written") as change:
            change.open_session()
            written = save(
                self._context,
                change,
                pages,
                review="plan",
                plan=found.plan,
                reviewers=list(settled.reviewers),
            )
        own = {one.name: path for path, one in of_one.items() if path in written}
        whole = main if main in written else ""
        return replace(found, remarks=remarks, settled=settled, path=whole, own=own)

    def parse(self, spec: str, path: str, wanted: Consulted | None) -> Parsed:
        """Return the remarks of a file with the changes of a spec that they ask for, and change nothing.

        A file with the sections of a review is read by rule. Of any other a model puts the remarks in order: what `Panel.ask` raises;
        wanted: who does, None: nobody.
        """
        with self._context.reading() as view:
            root = spec_named(view, spec)
            name = spec_id(view, root)
        named = Specs(self._context).plan_file(path)
        text = load(self._context, named)
        remarks, settled = read_markdown(text), None
        if wanted is not None and not remarks and text.strip():
            task = Task(
                system=prompts.PARSING,
                text=prompts.material([("The remarks", text)]),
                form=FEEDBACK,
                purpose="review-feedback",
                item=root.id,
            )
            settled = Panel(self._context, self._watch).ask(task, wanted)
            remarks = _remarks(settled)
        asked = modifications_of(remarks, name)
        return Parsed(spec=name, path=named, remarks=remarks, asked=asked, settled=settled)

    def _read(self, path: str) -> tuple[PlanReview, str]:
        named = Specs(self._context).plan_file(path)
        text = load(self._context, named)
        if not text.strip():
            raise InvalidInput(f"the plan {named!r} is empty", hint="Write the plan first.")
        return PlanReview(plan=named, name=PurePosixPath(named).stem), text


def _remarks(settled: Settled) -> tuple[Remark, ...]:
    return merged([remarks_of(one.found, one.name) for one in settled.judged])


def _page(found: PlanReview, said: tuple[Judged, ...], remarks: tuple[Remark, ...]) -> str:
    summaries = [(one.name, text_of(one.found.get("summary"))) for one in said]
    facts = [("Plan", found.plan), ("Reviewers", ", ".join(one.name for one in said))]
    return headed(f"Plan review: {found.name}", facts, remarks_page(summaries, remarks))

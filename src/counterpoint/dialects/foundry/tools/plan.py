"""Plans in Markdown that specs are made from."""

from __future__ import annotations

from typing import Final, cast

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.reviews.operations import PlanFile, PlanReviews, Plans
from counterpoint.dialects.foundry.reviews.panel import PlanReview
from counterpoint.dialects.foundry.reviews.rules.feedback import counted, in_short
from counterpoint.dialects.foundry.reviews.rules.material import fitted
from counterpoint.dialects.foundry.tools import review_fields
from counterpoint.dialects.foundry.tools.review_fields import (
    CUT,
    DRY,
    UNSAVED,
    consensus_of,
    is_cached,
    usage_of,
)
from counterpoint.dialects.foundry.tools.shown import llm_status
from counterpoint.dialects.foundry.words import Cursor, DryRun, LongLimit, Name
from counterpoint.dialects.paging import clip, pages_of
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action, of_actions
from counterpoint.protocol.parameters import Progress

_SECONDS: Final = 120.0
_ROOM: Final = 5_500
"""The most bytes of remarks in an answer; all of them stand in the file."""


@action(reads=False)
def create(call: Call, name: Name) -> Json:
    """Write the skeleton of one."""
    slug, path = call.core.use(Plans).create(name)
    return present({"plan_name": name, "plan_slug": slug, "plan_path": path})


@action(reads=True, plain=True)
def list_(call: Call, limit: LongLimit = 100, cursor: Cursor = "") -> Json:
    """Plans with their reviews."""
    plans = call.core.use(Plans)
    pages = pages_of(call, cursor, "plans", first="")
    every = plans.list()
    rows = [plan for plan in every if plan.name > str(pages.at)]
    lines, further = pages.rows(rows[: limit + 1], limit, _plan, lambda plan: plan.name)
    data: dict[str, Json] = {"plans": lines, "count": len(lines), "plans_dir": plans.folder()}
    return present(data, pagination=page(further, len(lines), len(every)))


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=("ai_timeout", "model", "ai_tools", "review_type", "consultation_cache"),
)
def review(
    call: Call,
    progress: Progress,
    plan_path: review_fields.PlanPath,
    ai_provider: review_fields.ReviewProvider = "",
    ai_tools: review_fields.Providers = [],  # noqa: B006 -- never changed; the schema shows it
    model: review_fields.Model = "",
    ai_timeout: review_fields.Seconds = _SECONDS,
    review_type: review_fields.ReviewType = "full",
    *,
    consultation_cache: review_fields.Cache = True,
    dry_run: DryRun = False,
) -> Json:
    """Have a model review one."""
    reviews = call.core.use(lambda context: PlanReviews(context, watching(progress)))
    if dry_run:
        review = reviews.preview(plan_path)
        more: dict[str, Json] = {"dry_run": True, "llm_status": llm_status(call), "message": DRY}
        return present({**_named(review, review_type), **more})
    choice = review_fields.consulted(
        ai_provider, ai_tools, model, ai_timeout, 0, caches=consultation_cache
    )
    data, warnings = reviewed(reviews.review(plan_path, review_type, choice), review_type)
    return present(data, warnings=warnings)


def reviewed(review: PlanReview, review_type: str) -> tuple[dict[str, Json], list[str]]:
    """Return a review of a plan as the action tells it, with warnings."""
    settled = review.settled
    counts = counted(review.remarks)
    fields = {"remarks": [remark.told() for remark in review.remarks]}
    part, is_cut = fitted(fields, _ROOM)
    own = review.own
    data: dict[str, Json] = {
        **_named(review, review_type),
        "dry_run": False,
        "review_path": review.path or None,
        "summary": cast("Json", counts),
        "inline_summary": in_short(counts),
        **part,
        "provider_reviews": [
            {"provider_id": name.partition(":")[0], "path": path} for name, path in own.items()
        ],
        "cached": is_cached(settled),
        "consensus": consensus_of(settled),
        **usage_of(settled),
    }
    warnings = [CUT] if is_cut else []
    return data, warnings if review.path else [*warnings, UNSAVED]


plan = of_actions("plan", "Plans that specs are made from.", (create, list_, review))


def _named(review: PlanReview, review_type: str) -> dict[str, Json]:
    return {
        "plan_path": clip(review.plan, 300),
        "plan_name": clip(review.name, 200),
        "review_type": review_type,
    }


def _plan(file: PlanFile) -> Json:
    reviews = list(file.reviews)
    return {
        "name": file.name,
        "path": file.path,
        "size_bytes": file.size_bytes,
        "modified": file.modified,
        "reviews": reviews,
        "has_review": bool(reviews),
    }

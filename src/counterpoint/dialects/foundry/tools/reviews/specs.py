"""Reviews of specs, remarks put in order, and who can review, as they are told."""

from __future__ import annotations

from typing import Final, cast

from counterpoint.core.model.models.asking import Provider
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.rules.reviews.feedback import Modification
from counterpoint.dialects.foundry.rules.reviews.forms import fitted
from counterpoint.dialects.foundry.tools.models.status import llm_status, standing_of
from counterpoint.dialects.foundry.tools.reviews import words
from counterpoint.dialects.foundry.tools.reviews.shown import (
    CUT,
    DRY,
    ROOM,
    UNSAVED,
    consensus_of,
    is_cached,
    usage_of,
)
from counterpoint.dialects.foundry.tools.shown import SAID, in_pages
from counterpoint.dialects.foundry.verbs.reviews.panel import SECONDS
from counterpoint.dialects.foundry.verbs.reviews.plans import PlanReviews
from counterpoint.dialects.foundry.verbs.reviews.specs import SpecReviews
from counterpoint.dialects.foundry.verbs.reviews.views import SpecReview
from counterpoint.dialects.foundry.words import Cursor, DryRun, SpecId
from counterpoint.dialects.paging import clip
from counterpoint.dialects.progress import watching
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action
from counterpoint.protocol.parameters import Progress

_TYPES: Final = {
    "full-review": "Completeness, architecture, sequencing, feasibility, risk and clarity",
    "quick-review": "What keeps work from beginning, and open questions",
    "security-review": "Authentication, authorization, protection of data, unsafe defaults",
    "feasibility-review": "Hidden complexity, dependencies, limits and estimates",
}
_TEXT: Final = 300


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=("model", "review_type", "consensus_threshold"),
)
def spec(
    call: Call,
    progress: Progress,
    spec_id: SpecId,
    ai_provider: words.Provider = "",
    ai_tools: words.Providers = [],  # noqa: B006 -- never changed; the schema shows it
    model: words.Model = "",
    ai_timeout: words.Seconds = SECONDS,
    review_type: words.ReviewType = "full",
    consensus_threshold: words.Agreeing = 0,
    *,
    consultation_cache: words.Cache = True,
    dry_run: DryRun = False,
) -> Json:
    """Have it reviewed, beside its plan if it has one."""
    reviews = call.core.use(lambda context: SpecReviews(context, watching(progress)))
    if dry_run:
        fields = {**_asked(reviews.preview(spec_id, review_type)), "llm_status": llm_status(call)}
        more: dict[str, Json] = {"ai_provider": ai_provider or None, "model": model or None}
        more |= {"consultation_cache": consultation_cache, "dry_run": True, "message": DRY}
        return present({**fields, **more})
    choice = words.consulted(
        ai_provider, ai_tools, model, ai_timeout, consensus_threshold, caches=consultation_cache
    )
    data, warnings = reviewed(reviews.review(spec_id, review_type, choice))
    return present({**data, "consultation_cache": consultation_cache}, warnings=warnings)


@action(reads=False, idempotent=False, open_world=True, hidden=("cursor",))
def parse_feedback(
    call: Call,
    progress: Progress,
    spec_id: SpecId,
    review_path: words.ReviewPath,
    ai_provider: words.Provider = "",
    ai_timeout: words.Seconds = SECONDS,
    cursor: Cursor = "",
    *,
    consultation_cache: words.Cache = True,
    dry_run: DryRun = False,
) -> Json:
    """Calls that a review asks for; makes none."""
    choice = words.consulted(ai_provider, [], "", ai_timeout, 0, caches=consultation_cache)
    reviews = call.core.use(lambda context: PlanReviews(context, watching(progress)))
    parsed = reviews.parse(spec_id, review_path, None if dry_run else choice)
    counts: dict[str, int] = {}
    for remark in parsed.remarks:
        counts[remark.section] = counts.get(remark.section, 0) + 1
    report: dict[str, Json] = {
        "spec_id": parsed.spec,
        "review_path": clip(parsed.path, _TEXT),
        "summary": cast("Json", counts),
        "modifications": [_modification(modification) for modification in parsed.asked],
        **({"consensus": consensus_of(parsed.settled)} if parsed.settled else {}),
        **({"dry_run": True, "llm_status": llm_status(call), "message": DRY} if dry_run else {}),
    }
    query = ("review parse-feedback", spec_id, review_path)
    return in_pages(call, query, cursor, report, "modifications")


@action(reads=True, plain=True)
def list_tools(call: Call) -> Json:
    """Who can review."""
    every = standing_of(call).every
    tools = [_tool(provider) for provider in every]
    count = sum(provider.is_available for provider in every)
    return present(
        {
            "tools": tools,
            "llm_status": llm_status(call),
            "available_count": count,
            "total_count": len(tools),
        }
    )


@action(reads=True, plain=True)
def list_plan_tools(call: Call) -> Json:
    """Sorts of plan review."""
    status = llm_status(call)
    tools: list[Json] = [
        {
            "name": name,
            "description": described,
            "capabilities": ["consensus", "feedback"],
            "llm_required": True,
            "estimated_time": "1-6 minutes",
        }
        for name, described in _TYPES.items()
    ]
    message = (
        'Have a plan reviewed with `plan action="review"` before `authoring action="spec-create"`.'
        if status["available"]
        else "No model can be asked: have a person run `counterpoint provider login NAME`."
    )
    return present({"plan_tools": tools, "llm_status": status, "recommendations": [message]})


def reviewed(review: SpecReview) -> tuple[dict[str, Json], list[str]]:
    """Return a review of a spec as the action tells it, with warnings."""
    settled = review.settled
    part, is_cut = fitted(review.found, ROOM)
    warnings = [CUT] if is_cut else []
    verdict: dict[str, Json] = {"verdict": settled.verdict} if settled.verdict else {}
    data: dict[str, Json] = {
        **_asked(review),
        "dry_run": False,
        **verdict,
        "response": canonical.dump_any(part),
        "cached": is_cached(settled),
        "consensus": consensus_of(settled),
        **usage_of(settled),
        "review_path": review.path or None,
    }
    return data, warnings if review.path else [*warnings, UNSAVED]


def _asked(review: SpecReview) -> dict[str, Json]:
    tally = review.line.tally
    return {
        "spec_id": review.line.spec,
        "title": clip(review.line.root.title, _TEXT),
        "template_id": review.template,
        "stats": {
            "total_tasks": tally.total,
            "completed_tasks": tally.completed,
            "progress_percentage": tally.percentage,
        },
    }


def _tool(provider: Provider) -> Json:
    return {
        "name": provider.name,
        "available": provider.is_available,
        "status": "available" if provider.is_available else "unavailable",
        "reason": clip(provider.reason, _TEXT) or None,
        "checked_at": None,
    }


def _modification(modification: Modification) -> Json:
    remark = {
        name: clip(part, SAID) if isinstance(part, str) else part
        for name, part in modification.remark.told().items()
    }
    return {
        "remark": remark,
        "tool": modification.tool,
        "action": modification.action,
        "arguments": _clipped(modification),
    }


def _clipped(modification: Modification) -> Json:
    return {
        name: clip(part, SAID) if isinstance(part, str) else part
        for name, part in modification.arguments.items()
    }

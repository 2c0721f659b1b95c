"""The tool `review`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from counterpoint.core.model.models import Provider
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.reviews.operations import PlanReviews, SpecReviews
from counterpoint.dialects.foundry.reviews.panel import SECONDS, SpecReview
from counterpoint.dialects.foundry.reviews.rules.feedback import Modification
from counterpoint.dialects.foundry.reviews.rules.material import Looking, fitted
from counterpoint.dialects.foundry.runs.comparing import Comparing
from counterpoint.dialects.foundry.runs.gates import Comparison, PhaseReview
from counterpoint.dialects.foundry.runs.reviewing import Reviewing
from counterpoint.dialects.foundry.runs.rules.commands import GateStep
from counterpoint.dialects.foundry.tools import review_fields
from counterpoint.dialects.foundry.tools.review_fields import (
    CUT,
    DRY,
    ROOM,
    UNSAVED,
    consensus_of,
    is_cached,
    usage_of,
)
from counterpoint.dialects.foundry.tools.shown import SAID, in_pages, llm_status, standing_of
from counterpoint.dialects.foundry.words import Cursor, DryRun, PhaseId, SpecId, TaskId
from counterpoint.dialects.paging import clip, size_of
from counterpoint.dialects.progress import watching
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.plurals import agree
from counterpoint.protocol.actions import action, of_actions
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
    ai_provider: review_fields.ReviewProvider = "",
    ai_tools: review_fields.Providers = [],  # noqa: B006 -- never changed; the schema shows it
    model: review_fields.Model = "",
    ai_timeout: review_fields.Seconds = SECONDS,
    review_type: review_fields.ReviewType = "full",
    consensus_threshold: review_fields.Agreeing = 0,
    *,
    consultation_cache: review_fields.Cache = True,
    dry_run: DryRun = False,
) -> Json:
    """Have it reviewed, beside its plan if it has one."""
    reviews = call.core.use(lambda context: SpecReviews(context, watching(progress)))
    if dry_run:
        fields = {**_asked(reviews.preview(spec_id, review_type)), "llm_status": llm_status(call)}
        more: dict[str, Json] = {"ai_provider": ai_provider or None, "model": model or None}
        more |= {"consultation_cache": consultation_cache, "dry_run": True, "message": DRY}
        return present({**fields, **more})
    choice = review_fields.consulted(
        ai_provider, ai_tools, model, ai_timeout, consensus_threshold, caches=consultation_cache
    )
    data, warnings = reviewed(reviews.review(spec_id, review_type, choice))
    return present({**data, "consultation_cache": consultation_cache}, warnings=warnings)


@action(reads=False, idempotent=False, open_world=True, hidden=("cursor",))
def parse_feedback(
    call: Call,
    progress: Progress,
    spec_id: SpecId,
    review_path: review_fields.ReviewPath,
    ai_provider: review_fields.ReviewProvider = "",
    ai_timeout: review_fields.Seconds = SECONDS,
    cursor: Cursor = "",
    *,
    consultation_cache: review_fields.Cache = True,
    dry_run: DryRun = False,
) -> Json:
    """Calls that a review asks for; makes none."""
    choice = review_fields.consulted(ai_provider, [], "", ai_timeout, 0, caches=consultation_cache)
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


_SHOWN: Final = 10
"""How many findings are told, the heaviest first."""
_MODELS: Final = 4_000
"""The most bytes of what models found in an answer."""
_LEFT: Final = 5
_UNCHANGED: Final = "No file has changed since the last review: no model was asked."
_RULES: Final[dict[str, Json]] = {
    "mode": "deterministic",
    "threshold": 1,
    "provider_id": None,
    "model_used": None,
    "synthesis_performed": False,
}


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=("step_proof", "model", "consensus_threshold"),
)
def fidelity_gate(
    call: Call,
    progress: Progress,
    spec_id: SpecId,
    phase_id: PhaseId,
    session_id: review_fields.RunId,
    step_id: review_fields.StepId,
    step_proof: review_fields.StepProof = "",
    ai_provider: review_fields.ReviewProvider = "",
    ai_tools: review_fields.Providers = [],  # noqa: B006 -- never changed; the schema shows it
    model: review_fields.Model = "",
    ai_timeout: review_fields.Seconds = SECONDS,
    consensus_threshold: review_fields.Agreeing = 0,
    *,
    consultation_cache: review_fields.Cache = True,
    dry_run: DryRun = False,
) -> Json:
    """Judge a phase for its gate; keeps evidence for the step's report."""
    step = GateStep(
        spec=spec_id, session=session_id, step=step_id, phase=phase_id, proof=step_proof
    )
    choice = review_fields.consulted(
        ai_provider, ai_tools, model, ai_timeout, consensus_threshold, caches=consultation_cache
    )
    reviewing = call.core.use(Reviewing)
    if dry_run:
        more: dict[str, Json] = {"dry_run": True, "llm_status": llm_status(call), "message": DRY}
        return _judged(reviewing.preview(step), more)
    return _judged(reviewing.review(step, choice, watching(progress)), {})


def _judged(review: PhaseReview, more: Mapping[str, Json]) -> Json:
    omitted = len(review.findings) - _SHOWN
    data: dict[str, Json] = {
        "spec_id": review.spec,
        "session_id": review.session,
        "phase_id": review.phase,
        "step_id": review.step,
        "gate_attempt_id": review.attempt,
        "verdict": review.verdict,
        "gate_policy": review.policy,
        "gate_passed_preview": review.opens,
        "findings": list(review.findings[:_SHOWN]),
        "reviewer": review.reviewer,
        "review_path": review.path or None,
        **more,
    }
    if review.settled.judged:
        data |= {"consensus": consensus_of(review.settled), **usage_of(review.settled)}
    return present(
        data,
        warnings=[f"{omitted} more findings, none heavier, are not shown."] if omitted > 0 else (),
    )


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=(
        *("files", "include_tests", "base_branch", "incremental"),
        *("model", "consensus_threshold"),
    ),
)
def fidelity(
    call: Call,
    progress: Progress,
    spec_id: SpecId,
    phase_id: PhaseId = "",
    task_id: TaskId = "",
    session_id: review_fields.RunId = "",
    files: review_fields.Files = [],  # noqa: B006 -- never changed; the schema shows it
    base_branch: review_fields.Branch = "main",
    ai_provider: review_fields.ReviewProvider = "",
    ai_tools: review_fields.Providers = [],  # noqa: B006 -- never changed; the schema shows it
    model: review_fields.Model = "",
    ai_timeout: review_fields.Seconds = SECONDS,
    consensus_threshold: review_fields.Agreeing = 0,
    cursor: Cursor = "",
    *,
    include_tests: review_fields.Tests = True,
    incremental: review_fields.Incremental = False,
    consultation_cache: review_fields.Cache = True,
    dry_run: DryRun = False,
) -> Json:
    """Compare work with its spec, or one phase or task."""
    comparing, where = call.core.use(Comparing), (phase_id, task_id, session_id)
    query = ("review fidelity", spec_id, *where)
    if cursor or dry_run:
        comparison = comparing.compare(spec_id, *where)
    else:
        looking = Looking(
            files=tuple(files),
            include_tests=include_tests,
            base=base_branch,
            incremental=incremental,
        )
        choice = review_fields.consulted(
            ai_provider, ai_tools, model, ai_timeout, consensus_threshold, caches=consultation_cache
        )
        comparison = comparing.judge(spec_id, where, looking, choice, watching(progress))
    more: dict[str, Json] = (
        {"dry_run": True, "llm_status": llm_status(call), "message": DRY} if dry_run else {}
    )
    return _in_pages(call, query, cursor, comparison, more)


def _in_pages(
    call: Call, query: Sequence[Json], cursor: str, comparison: Comparison, more: Mapping[str, Json]
) -> Json:
    """Return a comparison; its later pages are of what the rules found, and of nobody who is asked again."""
    report = compared(comparison)
    models = _fitting(comparison.models)
    keeps: dict[str, Json] = {}
    if comparison.settled.judged:
        short = {name: object_of(report["consensus"])[name] for name in _RULES}
        keeps = {"verdict": comparison.verdict, "consensus": short}
    return in_pages(
        call,
        query,
        cursor,
        {**report, **more},
        *("deviations", "recommendations"),
        ahead={"deviations": models},
        keeps=keeps,
        warnings=_warnings(comparison, is_cut=len(models) < len(comparison.models)),
    )


def compared(comparison: Comparison) -> dict[str, Json]:
    """Return a comparison as the action tells it; what models found is not among its deviations yet."""
    settled = comparison.settled
    report: dict[str, Json] = {
        "spec_id": comparison.spec,
        "title": clip(comparison.title, 500),
        "scope": comparison.scope,
        "verdict": comparison.verdict,
        "deviations": list(comparison.findings),
        "recommendations": [clip(recommendation, SAID) for recommendation in comparison.asked],
        "consensus": consensus_of(settled) if settled.judged else _RULES,
        "review_path": comparison.path or None,
    }
    return {**report, **usage_of(settled)} if settled.judged else report


def _warnings(comparison: Comparison, *, is_cut: bool) -> list[str]:
    warnings: list[str] = [CUT] if is_cut else []
    if comparison.settled.judged and not comparison.path:
        warnings.append(UNSAVED)
    if comparison.is_unchanged:
        warnings.append(_UNCHANGED)
    if comparison.left:
        names = ", ".join(clip(path, 100) for path in comparison.left[:_LEFT])
        warnings.append(
            f"{agree(len(comparison.left), 'file', 'was')} too much to be shown to models: {names}"
        )
    return warnings


def _fitting(findings: Sequence[Json]) -> list[Json]:
    fitting: list[Json] = []
    bytes_left = _MODELS
    for finding in findings:
        bytes_left -= size_of(finding) + 1
        if bytes_left < 0:
            break
        fitting.append(finding)
    return fitting


review = of_actions(
    "review",
    "Review specs, and work beside them.",
    (spec, fidelity, fidelity_gate, parse_feedback, list_tools, list_plan_tools),
)

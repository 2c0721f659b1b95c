"""Work beside its spec, and the gates of runs, as the tool of reviews tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.rules.autonomy.gating import GateStep
from counterpoint.dialects.foundry.rules.reviews.material import Looking
from counterpoint.dialects.foundry.tools.models.status import llm_status
from counterpoint.dialects.foundry.tools.reviews import words
from counterpoint.dialects.foundry.tools.reviews.shown import (
    CUT,
    DRY,
    UNSAVED,
    consensus_of,
    usage_of,
)
from counterpoint.dialects.foundry.tools.shown import SAID, in_pages
from counterpoint.dialects.foundry.verbs.gates.comparing import Comparing
from counterpoint.dialects.foundry.verbs.gates.reviewing import Reviewing
from counterpoint.dialects.foundry.verbs.gates.views import Comparison, PhaseReview
from counterpoint.dialects.foundry.verbs.reviews.panel import SECONDS
from counterpoint.dialects.foundry.words import Cursor, DryRun, PhaseId, SpecId, TaskId
from counterpoint.dialects.paging import clip, size_of
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.plurals import agree
from counterpoint.protocol.actions import action
from counterpoint.protocol.parameters import Progress

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
    session_id: words.RunId,
    step_id: words.StepId,
    step_proof: words.StepProof = "",
    ai_provider: words.Provider = "",
    ai_tools: words.Providers = [],  # noqa: B006 -- never changed; the schema shows it
    model: words.Model = "",
    ai_timeout: words.Seconds = SECONDS,
    consensus_threshold: words.Agreeing = 0,
    *,
    consultation_cache: words.Cache = True,
    dry_run: DryRun = False,
) -> Json:
    """Judge a phase for its gate; keeps evidence for the step's report."""
    step = GateStep(
        spec=spec_id, session=session_id, step=step_id, phase=phase_id, proof=step_proof
    )
    choice = words.consulted(
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
    session_id: words.RunId = "",
    files: words.Files = [],  # noqa: B006 -- never changed; the schema shows it
    base_branch: words.Branch = "main",
    ai_provider: words.Provider = "",
    ai_tools: words.Providers = [],  # noqa: B006 -- never changed; the schema shows it
    model: words.Model = "",
    ai_timeout: words.Seconds = SECONDS,
    consensus_threshold: words.Agreeing = 0,
    cursor: Cursor = "",
    *,
    include_tests: words.Tests = True,
    incremental: words.Incremental = False,
    consultation_cache: words.Cache = True,
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
        choice = words.consulted(
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

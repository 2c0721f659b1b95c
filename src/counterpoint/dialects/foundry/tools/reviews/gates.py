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
    asked = GateStep(
        spec=spec_id, session=session_id, step=step_id, phase=phase_id, proof=step_proof
    )
    wanted = words.consulted(
        ai_provider, ai_tools, model, ai_timeout, consensus_threshold, caches=consultation_cache
    )
    reviewing = call.core.use(Reviewing)
    if dry_run:
        more: dict[str, Json] = {"dry_run": True, "llm_status": llm_status(call), "message": DRY}
        return _judged(reviewing.preview(asked), more)
    return _judged(reviewing.review(asked, wanted, watching(progress)), {})


def _judged(found: PhaseReview, more: Mapping[str, Json]) -> Json:
    left = len(found.findings) - _SHOWN
    data: dict[str, Json] = {
        "spec_id": found.spec,
        "session_id": found.session,
        "phase_id": found.phase,
        "step_id": found.step,
        "gate_attempt_id": found.attempt,
        "verdict": found.verdict,
        "gate_policy": found.policy,
        "gate_passed_preview": found.opens,
        "findings": list(found.findings[:_SHOWN]),
        "reviewer": found.reviewer,
        "review_path": found.path or None,
        **more,
    }
    if found.settled.judged:
        data |= {"consensus": consensus_of(found.settled), **usage_of(found.settled)}
    return present(
        data, warnings=[f"{left} more findings, none heavier, are not shown."] if left > 0 else ()
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
        found = comparing.compare(spec_id, *where)
    else:
        looking = Looking(
            files=tuple(files),
            include_tests=include_tests,
            base=base_branch,
            incremental=incremental,
        )
        wanted = words.consulted(
            ai_provider, ai_tools, model, ai_timeout, consensus_threshold, caches=consultation_cache
        )
        found = comparing.judge(spec_id, where, looking, wanted, watching(progress))
    more: dict[str, Json] = (
        {"dry_run": True, "llm_status": llm_status(call), "message": DRY} if dry_run else {}
    )
    return _in_pages(call, query, cursor, found, more)


def _in_pages(
    call: Call, query: Sequence[Json], cursor: str, found: Comparison, more: Mapping[str, Json]
) -> Json:
    """Return a comparison; its later pages are of what the rules found, and of nobody who is asked again."""
    report = compared(found)
    models = _fitting(found.models)
    keeps: dict[str, Json] = {}
    if found.settled.judged:
        short = {name: object_of(report["consensus"])[name] for name in _RULES}
        keeps = {"verdict": found.verdict, "consensus": short}
    return in_pages(
        call,
        query,
        cursor,
        {**report, **more},
        *("deviations", "recommendations"),
        ahead={"deviations": models},
        keeps=keeps,
        warnings=_warnings(found, is_cut=len(models) < len(found.models)),
    )


def compared(found: Comparison) -> dict[str, Json]:
    """Return a comparison as the action tells it; what models found is not among its deviations yet."""
    settled = found.settled
    report: dict[str, Json] = {
        "spec_id": found.spec,
        "title": clip(found.title, 500),
        "scope": found.scope,
        "verdict": found.verdict,
        "deviations": list(found.findings),
        "recommendations": [clip(one, SAID) for one in found.asked],
        "consensus": consensus_of(settled) if settled.judged else _RULES,
        "review_path": found.path or None,
    }
    return {**report, **usage_of(settled)} if settled.judged else report


def _warnings(found: Comparison, *, is_cut: bool) -> list[str]:
    warnings: list[str] = [CUT] if is_cut else []
    if found.settled.judged and not found.path:
        warnings.append(UNSAVED)
    if found.is_unchanged:
        warnings.append(_UNCHANGED)
    if found.left:
        names = ", ".join(clip(one, 100) for one in found.left[:_LEFT])
        warnings.append(f"{len(found.left)} files were too much to be shown to models: {names}")
    return warnings


def _fitting(found: Sequence[Json]) -> list[Json]:
    shown: list[Json] = []
    room = _MODELS
    for one in found:
        room -= size_of(one) + 1
        if room < 0:
            break
        shown.append(one)
    return shown

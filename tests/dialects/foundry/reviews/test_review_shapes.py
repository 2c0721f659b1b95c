"""The shapes of what reviews by models answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import Agent
from fakes.reviews import Servers, point, remarks
from fakes.shapes import SPEC, misshapen, row

MODELS = "{configured: bool, available: bool, providers: [str], priority: [str]}"
REVIEWERS = (
    "consensus: {mode: str, threshold: int, provider_id: str|null, model_used: str|null,"
    " synthesis_performed: bool, providers: [{provider_id: str, model_used: str, tokens_used: int,"
    " cached: bool, repaired: bool, verdict?: str}]}, tokens_used: int, cost_usd: num"
)
STATS = "stats: {total_tasks: int, completed_tasks: int, progress_percentage: int}"
PLAN = {"plan_path": ".plans/a.md"}
ROWS = (
    row(
        "review spec",
        "{spec_id: str, title: str, template_id: str, dry_run: bool, consultation_cache: bool,"
        f" {STATS}, response: str, cached: bool, {REVIEWERS}, review_path: str}}",
        spec_id=SPEC,
    ),
    row(
        "review spec",
        f"{{spec_id: str, title: str, template_id: str, dry_run: bool, llm_status: {MODELS},"
        " ai_provider: str|null, model: str|null, consultation_cache: bool, message: str,"
        f" {STATS}}}",
        spec_id=SPEC,
        dry_run=True,
    ),
    row(
        "review parse-feedback",
        "{spec_id: str, review_path: str, summary: {*id: int}, modifications: [{remark:"
        " {*id: any}, tool: str, action: str, arguments: {*id: any}}]}",
        ("plan review", PLAN),
        spec_id=SPEC,
        review_path=".plan-reviews/a-review-full.md",
    ),
    row(
        "review list-tools",
        "{tools: [{name: str, available: bool, status: str, reason: str|null, checked_at: null}],"
        f" llm_status: {MODELS}, available_count: int, total_count: int}}",
    ),
    row(
        "review list-plan-tools",
        "{plan_tools: [{name: str, description: str, capabilities: [str], llm_required: bool,"
        f" estimated_time: str}}], llm_status: {MODELS}, recommendations: [str]}}",
    ),
    row(
        "plan review",
        "{plan_path: str, plan_name: str, review_type: str, dry_run: bool, review_path: str,"
        " summary: {critical_blockers: int, major_suggestions: int, minor_suggestions: int,"
        " questions: int, praise: int}, inline_summary: str, remarks: [{*id: any}],"
        f" provider_reviews: [{{provider_id: str, path: str}}], cached: bool, {REVIEWERS}}}",
        **PLAN,
    ),
    row(
        "plan review",
        "{plan_path: str, plan_name: str, review_type: str, dry_run: bool,"
        f" llm_status: {MODELS}, message: str}}",
        **PLAN,
        dry_run=True,
    ),
)


@pytest.mark.parametrize("tool", ["review", "plan"])
def test_every_answer_of_reviewers_has_its_shape(
    tool: str, made: Callable[..., str], ada: Agent, servers: Servers, repository: Path
) -> None:
    """In one page."""
    servers((remarks(critical_blockers=[point("No undo")]),))
    (repository / "specs/.plans").mkdir(parents=True)
    (repository / "specs/.plans/a.md").write_text("# A\n")
    assert list(misshapen(ROWS, tool, made, ada)) == []

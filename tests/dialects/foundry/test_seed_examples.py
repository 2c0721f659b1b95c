"""The examples of the published reference, word for word."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import Agent

SPECS = ("my-spec", "my-feature-spec", "my-feature-spec-001")
PLANS = (".plans/my-new-feature.md", ".plan-reviews/my-new-feature-review-full.md")


@pytest.fixture
def project(repository: Path, made: Callable[..., str], foundry: Agent) -> Agent:
    """Answer an agent in a project with the specs and plans of the examples."""
    for name in PLANS:
        (repository / "specs" / name).parent.mkdir(parents=True)
        (repository / "specs" / name).write_text("# A feature\n")
    for spec in SPECS:
        made(phases=3, spec=spec)
    foundry.does("lifecycle", action="activate", spec_id="my-spec")
    return foundry


EXAMPLES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("spec", '{"action": "list", "status": "active"}', {"count": 1}),
    (
        "spec",
        '{"action": "validate", "spec_id": "my-feature-spec-001"}',
        {"spec_id": "my-feature-spec-001"},
    ),
    (
        "authoring",
        (
            '{"action": "spec-create", "name": "my-new-feature", "plan_path": ".plans/my-new-feature.md",'
            ' "plan_review_path": ".plan-reviews/my-new-feature-review-full.md"}'
        ),
        {
            "spec_id": "my-new-feature-2026-01-02-001",
            "spec_path": "specs/pending/my-new-feature-2026-01-02-001.json",
            "template": "empty",
        },
    ),
    (
        "authoring",
        '{"action": "phase-move", "spec_id": "my-spec", "phase_id": "phase-3", "position": 1}',
        {"old_position": 3, "new_position": 1, "moved": True},
    ),
    (
        "review",
        '{"action": "fidelity", "spec_id": "my-spec", "task_id": "task-1-2"}',
        {"scope": "task", "verdict": "fail"},
    ),
    (
        "authoring",
        '{"action": "constraint-add", "spec_id": "my-spec", "text": "Must work offline"}',
        {"text": "Must work offline", "index": 1},
    ),
    (
        "authoring",
        (
            '{"action": "risk-add", "spec_id": "my-spec", "description": "API rate limits",'
            ' "likelihood": "medium", "impact": "high", "mitigation": "Add retry with backoff"}'
        ),
        {
            "risk": {
                "description": "API rate limits",
                "likelihood": "medium",
                "impact": "high",
                "mitigation": "Add retry with backoff",
            },
            "index": 1,
        },
    ),
    (
        "authoring",
        '{"action": "question-add", "spec_id": "my-spec", "text": "Which auth provider?"}',
        {"text": "Which auth provider?", "index": 1},
    ),
    (
        "authoring",
        (
            '{"action": "success-criterion-add", "spec_id": "my-spec",'
            ' "text": "All endpoints return <200ms p95"}'
        ),
        {"text": "All endpoints return <200ms p95", "index": 1},
    ),
    (
        "lifecycle",
        '{"action": "activate", "spec_id": "my-feature-spec"}',
        {"from_folder": "pending", "new_path": "specs/active/my-feature-spec.json"},
    ),
    (
        "lifecycle",
        '{"action": "complete", "spec_id": "my-spec", "force": true}',
        {"from_folder": "active", "new_path": "specs/completed/my-spec.json"},
    ),
)
"""The tool, what is given, and some of what is answered."""


@pytest.mark.parametrize("tool", sorted({tool for tool, _, _ in EXAMPLES}))
def test_the_examples_of_the_reference_work(project: Agent, tool: str) -> None:
    """Each answers what it is said to."""
    for name, example, told in EXAMPLES:
        if name == tool:
            data = project.does(tool, **json.loads(example))["data"]
            assert {part: data[part] for part in told} == told, example


def test_an_example_about_a_time_before_the_spec_is_refused(project: Agent) -> None:
    example = '{"action": "diff", "spec_id": "my-spec", "target": "20251227T120000"}'
    refusal = project.is_refused("spec", **json.loads(example))
    assert refusal["data"]["error_code"] == "NOT_FOUND"
    assert "20251227T120000" in refusal["error"]

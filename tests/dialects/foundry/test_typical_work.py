"""Typical work, as a model calls for it that has read nothing but the list of the tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import Agent
from counterpoint.dialects.registry import surface

SPEC = "csv-export-2026-01-02-001"
WORK: tuple[tuple[str, dict[str, Any]], ...] = (
    ("plan", {"action": "create", "name": "CSV export"}),
    (
        "authoring",
        {
            "action": "spec-create",
            "name": "CSV export",
            "plan_path": ".plans/csv-export-2026-01-02.md",
            "plan_review_path": ".plan-reviews/csv-export.md",
            "mission": "People take their data along",
            "category": "implementation",
        },
    ),
    (
        "authoring",
        {
            "action": "phase-add-bulk",
            "phase": {"title": "Write it", "description": "The file"},
            "tasks": [
                {
                    "title": "Write rows",
                    "description": "Rows become lines",
                    "file_path": "src/rows.py",
                    "acceptance_criteria": ["commas are quoted"],
                    "estimated_hours": 2,
                    "complexity": "low",
                },
                {"title": "Write heads", "description": "Names", "file_path": "src/heads.py"},
                {
                    "title": "Try it",
                    "type": "verify",
                    "verification_type": "run-tests",
                    "command": "true",
                },
            ],
        },
    ),
    ("authoring", {"action": "phase-add", "title": "Tell of it", "purpose": "People find it"}),
    (
        "task",
        {
            "action": "add",
            "parent": "phase-2",
            "title": "Write a page",
            "description": "How to export",
            "file_path": "docs/export.md",
            "estimated_hours": 1.5,
            "position": 0,
        },
    ),
    (
        "authoring",
        {"action": "risk-add", "description": "Large files", "likelihood": "low", "impact": "high"},
    ),
    ("spec", {"action": "validate"}),
    ("lifecycle", {"action": "activate"}),
    ("task", {"action": "next"}),
    ("task", {"action": "prepare", "task_id": "task-1-1"}),
    ("task", {"action": "start", "task_id": "task-1-1", "note": "Rows first"}),
    (
        "journal",
        {
            "action": "add",
            "task_id": "task-1-1",
            "title": "Quotes",
            "content": "As RFC 4180 has them",
            "entry_type": "decision",
        },
    ),
    (
        "task",
        {
            "action": "block",
            "task_id": "task-1-1",
            "reason": "No sample",
            "blocker_type": "resource",
            "ticket": "T-1",
        },
    ),
    ("task", {"action": "list-blocked"}),
    ("task", {"action": "unblock", "task_id": "task-1-1", "resolution": "There is one"}),
    ("task", {"action": "complete", "task_id": "task-1-1", "completion_note": "Rows are written"}),
    ("task", {"action": "prepare-batch", "max_tasks": 2}),
    ("task", {"action": "start-batch", "task_ids": ["task-1-2"]}),
    (
        "task",
        {
            "action": "complete-batch",
            "completions": [{"task_id": "task-1-2", "success": True, "completion_note": "Done"}],
        },
    ),
    ("verification", {"action": "execute", "verify_id": "verify-1-1", "record": True}),
    (
        "verification",
        {"action": "add", "verify_id": "verify-1-2", "result": "PARTIAL", "issues": "No heads"},
    ),
    ("task", {"action": "move", "task_id": "task-2-1", "parent": "phase-1", "position": 1}),
    (
        "task",
        {
            "action": "update-metadata",
            "task_id": "task-2-1",
            "acceptance_criteria": ["it is linked"],
            "custom_metadata": {"audience": "people"},
        },
    ),
    (
        "task",
        {
            "action": "add-dependency",
            "task_id": "task-2-1",
            "target_id": "verify-2-1",
            "dependency_type": "blocks",
        },
    ),
    ("task", {"action": "metadata-batch", "pattern": "^Write", "labels": {"area": "export"}}),
    ("task", {"action": "query", "status": "pending", "parent": "phase-1", "limit": 5}),
    ("task", {"action": "progress"}),
    ("spec", {"action": "diff"}),
    ("lifecycle", {"action": "complete", "force": True}),
)
"""The calls in their order; each about the one spec that the second makes."""


@pytest.fixture
def reviewed(repository: Path) -> Path:
    """Answer a project with the review of a plan."""
    review = repository / "specs/.plan-reviews/csv-export.md"
    review.parent.mkdir(parents=True)
    review.write_text("# Good\n")
    return repository


@pytest.mark.usefixtures("reviewed")
def test_what_the_list_says_is_enough_to_call_by(foundry: Agent) -> None:
    """Every call has words of the list alone, and does what was wanted at the first try."""
    listed = {tool.name: tool.parameters.schema["properties"] for tool in surface("foundry").tools}
    for tool, words in WORK:
        parts: dict[str, Any] = listed[tool]
        assert all(value in parts[name].get("enum", [value]) for name, value in words.items())
        needs_spec = "spec_id" in parts and words["action"] != "spec-create"
        foundry.does(tool, **words, **({"spec_id": SPEC} if needs_spec else {}))
    ended = foundry.does("lifecycle", action="state", spec_id=SPEC)["data"]
    assert (ended["folder"], ended["progress_percentage"]) == ("completed", 100)

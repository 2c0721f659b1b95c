"""What an agent is told beside a task."""

from __future__ import annotations

import pytest
from hypothesis import given

from counterpoint.dialects.foundry.tasks.rules import (
    auto_mode_hints,
    commit_hint,
    estimated_complexity,
    position_label,
)
from fakes.spec_documents import ANY_JSON


@pytest.mark.parametrize(
    ("metadata", "complexity"),
    [
        ({"complexity": "HIGH", "estimated_hours": 0.1}, "high"),
        ({"complexity": "simple"}, "low"),
        ({"complexity": "odd", "estimated_hours": 3}, "high"),
        ({"estimated_hours": 2}, "medium"),
        ({"estimated_hours": 0.5}, "low"),
        ({"estimated_hours": float("nan")}, "medium"),
        ({"estimated_hours": True}, "medium"),
        ({}, "medium"),
    ],
)
def test_complexity_is_said_or_follows_from_the_hours(metadata, complexity):
    """What cannot be told is medium."""
    assert estimated_complexity(metadata) == complexity


def test_decisions_and_investigations_may_need_a_person():
    """A verify node beside the task is told too."""
    assert auto_mode_hints({"task_category": "Decision"}, ["task", "verify"]) == {
        "estimated_complexity": "medium",
        "has_sibling_verify": True,
        "may_require_user_input": True,
    }
    assert auto_mode_hints({"task_category": "implementation"})["may_require_user_input"] is False


@given(ANY_JSON, ANY_JSON, ANY_JSON)
def test_any_metadata_has_hints(complexity, hours, category):
    """Of whatever types they are."""
    hints = auto_mode_hints(
        {"complexity": complexity, "estimated_hours": hours, "task_category": category}
    )
    assert hints["estimated_complexity"] in {"low", "medium", "high"}


@pytest.mark.parametrize(
    ("cadence", "phase", "scope", "message"),
    [
        ("task", "", "task", "task-1-1: Do it"),
        ("task", "phase-1", "task", "task-1-1: Do it"),
        ("phase", "phase-1", "phase", "phase-1: First"),
        ("phase", "", None, None),
        ("manual", "phase-1", None, None),
    ],
)
def test_a_commit_is_suggested_as_often_as_is_wanted(cadence, phase, scope, message):
    """After a task, after a phase, or never."""
    assert commit_hint(cadence, "task-1-1", "Do\n it", phase, "First" if phase else "") == {
        "suggest_commit": scope is not None,
        "commit_scope": scope,
        "commit_message_hint": message,
    }


def test_a_long_title_makes_a_short_message():
    """Of one line."""
    message = commit_hint("task", "task-1-1", "word " * 50)["commit_message_hint"]
    assert len(message) <= 72
    assert message.endswith("…")
    assert position_label(2, 5) == "2 of 5"

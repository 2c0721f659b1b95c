"""The tools `task_update` and `task_toggle`."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent


def test_a_task_takes_every_status(opus: Agent, plan: str) -> None:
    """The answer says the new one, with its notes; which leads where is tried on the verb."""
    asked = {"plan_slug": plan, "phase_order": 1, "task_identifier": 0}
    for status in ("in_progress", "blocked", "completed", "skipped", "pending"):
        answer = opus.does("task_update", **asked, status=status, notes=f"to {status}")
        assert (answer["task"]["status"], answer["task"]["notes"]) == (status, f"to {status}")


def test_a_task_is_answered_with_the_progress_around_it(opus: Agent, plan: str) -> None:
    """Its phase counts tasks, its plan counts phases."""
    asked = {"plan_slug": plan, "phase_order": 1}
    answer = opus.does("task_update", **asked, task_identifier="TemplatePart", status="completed")
    assert answer["task"] == {"index": 0, "name": "TemplatePart", "status": "completed"}
    assert answer["phase"]["task_progress"]["completed"] == 1
    assert answer["phase"]["task_progress"]["percentage"] == 50
    assert answer["plan_progress"]["in_progress"] == 1
    last = opus.does("task_update", **asked, task_index=1, status="completed")
    assert last["phase"]["task_progress"]["percentage"] == 100
    assert opus.does("phase_get", **asked)["phase"]["status"] == "in_progress"


def test_notes_alone_move_nothing(opus: Agent, plan: str) -> None:
    """And an empty note takes them away."""
    asked = {"plan_slug": plan, "phase_order": 1, "task_identifier": 0}
    answer = opus.does("task_update", **asked, notes="careful")
    assert (answer["task"]["status"], answer["task"]["notes"]) == ("pending", "careful")
    assert "notes" not in opus.does("task_update", **asked, notes="")["task"]
    assert opus.is_refused("task_update", **asked)["code"] == "validation_error"


def test_a_task_is_toggled(opus: Agent, plan: str) -> None:
    """Completed becomes pending, all else becomes completed."""
    asked = {"plan_slug": plan, "phase_order": 1, "task_identifier": 1}
    assert opus.does("task_toggle", **asked)["task"]["status"] == "completed"
    assert opus.does("task_toggle", **asked)["task"]["status"] == "pending"
    opus.does("task_update", **asked, status="blocked", notes="why")
    assert opus.does("task_toggle", **asked)["task"]["status"] == "completed"


@pytest.mark.parametrize("place", [9, "Nothing", -1])
def test_a_task_that_is_not_there_is_refused(opus: Agent, plan: str, place: Any) -> None:
    """An index counts from 0."""
    asked = {"plan_slug": plan, "phase_order": 1, "task_identifier": place}
    refusal = opus.is_refused("task_toggle", **asked)
    assert refusal["code"] == ("validation_error" if place == -1 else "not_found")


def test_a_retry_under_a_key_happens_once(opus: Agent, plan: str) -> None:
    """A toggle that is repeated by a client that lost the answer does not toggle back."""
    asked = {"plan_slug": plan, "phase_order": 1, "task_identifier": 0}
    first = opus.does("task_toggle", **asked, idempotency_key="k1")
    assert opus.does("task_toggle", **asked, idempotency_key="k1") == first
    assert first["task"]["status"] == "completed"

"""The tools `task_update` and `task_toggle`."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop


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


def test_whoever_says_in_progress_holds_the_task(
    opus: Agent, haiku: Agent, plan: str, workshop: Workshop
) -> None:
    """Others are refused while the lease runs; said again it is renewed; any end gives it back."""
    asked = {"plan_slug": plan, "phase_order": 1, "task_identifier": 0}
    opus.does("task_update", **asked, status="in_progress")
    (held,) = opus.core.overview.held()
    workshop.clock.pass_by(minutes=20)
    for status in ("in_progress", "completed", "pending"):
        refusal = haiku.is_refused("task_update", **asked, status=status)
        assert refusal["details"]["kind"] == "already_claimed"
    opus.does("task_update", **asked, status="in_progress")
    (renewed,) = opus.core.overview.held()
    assert renewed.claim.token == held.claim.token
    assert renewed.claim.leased_until > held.claim.leased_until
    workshop.clock.pass_by(minutes=31)
    haiku.does("task_update", **asked, status="in_progress", notes="taken over")
    assert opus.is_refused("task_update", **asked, status="completed")
    haiku.does("task_update", **asked, status="completed")
    assert haiku.core.overview.held() == ()


def test_a_task_held_in_another_session_of_ones_own_is_ones_own(
    opus: Agent, haiku: Agent, plan: str, session: str
) -> None:
    asked = {"plan_slug": plan, "phase_order": 1}
    opus.does("task_update", **asked, task_identifier=0, status="in_progress")
    opus.does("task_update", **asked, task_identifier=1, status="in_progress")
    opus.does("session_start", agent_type="opus")
    opus.does("task_update", **asked, task_identifier=0, status="in_progress", notes="still")
    opus.does("task_update", **asked, task_identifier=0, status="completed")
    opus.does("session_handoff", session_id=session, summary="half")
    assert opus.is_refused("task_update", **asked, task_identifier=1, status="in_progress")
    haiku.does("session_resume", session_id=session)
    assert opus.is_refused("task_update", **asked, task_identifier=1, status="completed")
    haiku.does("task_update", **asked, task_identifier=1, status="completed")


def test_a_task_that_is_in_progress_is_no_work_for_others(
    opus: Agent, plan: str, workshop: Workshop
) -> None:
    asked = {"plan_slug": plan, "phase_order": 1, "task_identifier": 0}
    opus.does("task_update", **asked, status="in_progress")
    ada = workshop.agent("ada")
    assert [one["title"] for one in ada.does("next")["ready"]] == ["Review"]

"""The tools `phase_get`, `phase_update_status` and `phase_add_checkpoint`."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent
from counterpoint.dialects.agentic.verbs.steps import Steps


def test_a_phase_is_shown_with_everything(opus: Agent, plan: str) -> None:
    """By its order, its name, or a text that is its order."""
    shown = opus.does("phase_get", plan_slug=plan, phase_order=2)["phase"]
    assert shown["name"] == "Build"
    assert shown["dependencies"] == [1]
    assert [task["name"] for task in shown["tasks"]] == ["Code", "Test", "Ship"]
    assert shown["checkpoints"] == []
    assert shown["task_progress"]["total"] == 3
    for way in ("2", "Build"):
        assert opus.does("phase_get", plan_slug=plan, phase=way)["phase"] == shown


def test_a_phase_starts_and_its_plan_with_it(opus: Agent, plan: str) -> None:
    """A draft is begun by its first phase."""
    answer = opus.does("phase_update_status", plan_slug=plan, phase_order=1, status="in_progress")
    assert answer["phase"] == {"order": 1, "name": "Design", "status": "in_progress"}
    assert answer["plan"]["status"] == "active"
    assert opus.does("plan_get", slug=plan)["plan"]["current_phase"] == 1


def test_a_phase_does_not_start_before_what_it_needs(opus: Agent, plan: str) -> None:
    """Nor does a task of it, which would start it."""
    asked = {"plan_slug": plan, "phase_order": 2}
    refusal = opus.is_refused("phase_update_status", **asked, status="in_progress")
    assert refusal["code"] == "validation_error"
    assert refusal["details"]["kind"] == "not_ready"
    assert "Design" in refusal["error"]
    opus.is_refused("task_update", **asked, task_identifier=0, status="completed")
    opus.does("phase_update_status", plan_slug=plan, phase_order=1, status="skipped", reason="old")
    opus.does("phase_update_status", **asked, status="in_progress")


def test_the_last_phase_completes_the_plan(opus: Agent, plan: str) -> None:
    """A skipped one counts as done."""
    first = opus.does("phase_update_status", plan_slug=plan, phase_order=1, status="completed")
    assert first["skipped"] == ["TemplatePart", "Review"]
    assert first["plan_progress"]["percentage"] == 50
    last = opus.does("phase_update_status", plan_slug=plan, phase_order=2, status="skipped")
    assert last["plan"]["status"] == "completed"
    assert last["plan_progress"]["percentage"] == 100
    again = opus.does("phase_update_status", plan_slug=plan, phase_order=2, status="pending")
    assert again["plan"]["status"] == "active"


def test_a_blocked_phase_has_a_reason(opus: Agent, ada: Agent, plan: str) -> None:
    """It is an open blocker for everybody, and resolved when it goes on; it is never completed."""
    asked = {"plan_slug": plan, "phase_order": 1}
    answer = opus.does("phase_update_status", **asked, status="blocked", reason="no key")
    assert answer["phase"]["status"] == "blocked"
    assert answer["plan_progress"]["completed"] == 0
    assert answer["plan_progress"]["blocked"] == 1
    shown = opus.does("phase_get", **asked)["phase"]
    assert (shown["status"], shown["reason"]) == ("blocked", "no key")
    phase = opus.core.use(Steps).phase(plan, 1).item
    assert any("no key" in reason for reason in ada.core.ready.judge(phase).reasons)
    opus.does("phase_update_status", **asked, status="in_progress", notes="found")
    assert "reason" not in opus.does("phase_get", **asked)["phase"]


def test_what_is_completed_can_be_blocked(opus: Agent, plan: str) -> None:
    asked = {"plan_slug": plan, "phase_order": 1}
    opus.does("phase_update_status", **asked, status="completed")
    opus.does("phase_update_status", **asked, status="blocked", reason="broken")
    assert opus.does("plan_get", slug=plan)["plan"]["progress"]["completed"] == 0


def test_a_skipped_phase_says_why(opus: Agent, plan: str) -> None:
    asked = {"plan_slug": plan, "phase_order": 1}
    opus.does("phase_update_status", **asked, status="skipped", reason="not needed")
    assert opus.does("phase_get", **asked)["phase"]["reason"] == "not needed"
    opus.does("phase_update_status", **asked, status="pending")
    assert "reason" not in opus.does("phase_get", **asked)["phase"]


def test_criteria_are_shown(opus: Agent) -> None:
    """What must be true at the end stands with the phase."""
    phases = [{"name": "A", "completion_criteria": ["Tests are green"]}]
    slug = opus.does("plan_create", title="A", phases=phases)["plan"]["slug"]
    shown = opus.does("phase_get", plan_slug=slug, phase_order=1)["phase"]
    assert shown["completion_criteria"] == [{"text": "Tests are green", "met": False}]


def test_criteria_are_marked_as_met(opus: Agent, ada: Agent) -> None:
    """By index or text, once; whoever completes the phase hears what is not met, and is not refused."""
    phases = [{"name": "A", "completion_criteria": ["Green", "Read", "Shipped"]}]
    slug = opus.does("plan_create", title="A", phases=phases)["plan"]["slug"]
    asked: dict[str, Any] = {"plan_slug": slug, "phase_order": 1}
    move = {**asked, "status": "in_progress", "criteria_met": [1, "Green"]}
    assert opus.does("phase_update_status", **move)["unmet_criteria"] == ["Shipped"]
    size = opus.ledger_size
    opus.does("phase_update_status", **move)
    assert opus.ledger_size == size
    shown = opus.does("phase_get", **asked)["phase"]["completion_criteria"]
    assert [one["met"] for one in shown] == [True, True, False]
    answer = opus.does("phase_update_status", **asked, status="completed")
    assert (answer["phase"]["status"], answer["unmet_criteria"]) == ("completed", ["Shipped"])
    last = opus.does("phase_update_status", **asked, status="completed", criteria_met=["Shipped"])
    assert "unmet_criteria" not in last


@pytest.mark.parametrize("place", [3, "Blue", "3"])
def test_a_criterion_that_is_not_there_changes_nothing(opus: Agent, place: Any) -> None:
    """Nor is the phase moved, nor the criterion before it marked."""
    phases = [{"name": "A", "completion_criteria": ["Green"]}]
    slug = opus.does("plan_create", title="A", phases=phases)["plan"]["slug"]
    asked: dict[str, Any] = {"plan_slug": slug, "phase_order": 1}
    move = {**asked, "status": "in_progress", "criteria_met": [0, place]}
    assert opus.is_refused("phase_update_status", **move)["code"] == "not_found"
    shown = opus.does("phase_get", **asked)["phase"]
    assert shown["status"] == "pending"
    assert shown["completion_criteria"] == [{"text": "Green", "met": False}]


def test_checkpoints_stay_with_their_phase(opus: Agent, plan: str) -> None:
    """In order, with what was added; any number of them."""
    asked = {"plan_slug": plan, "phase_order": 1}
    for number in range(3):
        answer = opus.does(
            "phase_add_checkpoint", **asked, note=f"at {number}", context={"n": number}
        )
        assert answer["checkpoint"]["note"] == f"at {number}"
    shown = opus.does("phase_get", **asked)["phase"]["checkpoints"]
    assert [(one["note"], one["context"]) for one in shown] == [
        (f"at {number}", {"n": number}) for number in range(3)
    ]


def test_a_large_phase_comes_in_pages(opus: Agent) -> None:
    """Tasks and checkpoints both go on behind one cursor."""
    tasks = [f"Task {number} " + "x" * 60 for number in range(150)]
    slug = opus.does("plan_create", title="L", phases=[{"tasks": tasks}])["plan"]["slug"]
    asked: dict[str, Any] = {"plan_slug": slug, "phase_order": 1}
    for number in range(12):
        opus.does("phase_add_checkpoint", **asked, note=f"{number} " + "y" * 900)
    found: list[int] = []
    notes = 0
    for _ in range(30):
        reply = opus.call("phase_get", asked)
        assert len(reply.text.encode()) <= 10_000
        found += [task["index"] for task in reply.answer["phase"].get("tasks", [])]
        notes += len(reply.answer["phase"].get("checkpoints", []))
        if "next_cursor" not in reply.answer:
            break
        asked["cursor"] = reply.answer["next_cursor"]
    assert found == list(range(150))
    assert notes == 12


@pytest.mark.parametrize("status", ["blocked", "skipped"])
def test_another_reason_for_what_a_phase_is_already_is_kept(
    opus: Agent, plan: str, status: str
) -> None:
    """The same one again changes nothing."""
    asked = {"plan_slug": plan, "phase_order": 1, "status": status}
    for reason in ("one", "two"):
        opus.does("phase_update_status", **asked, reason=reason)
        shown = opus.does("phase_get", plan_slug=plan, phase_order=1)["phase"]
        assert (shown["status"], shown["reason"]) == (status, reason)
    size = opus.ledger_size
    opus.does("phase_update_status", **asked, reason="two")
    assert opus.ledger_size == size
    opus.does("phase_update_status", **(asked | {"status": "pending"}))
    again = opus.does("phase_get", plan_slug=plan, phase_order=1)["phase"]
    assert (again["status"], again.get("reason")) == ("pending", None)

"""The tool `get_context`."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.drafts import Draft
from fakes.flows import Flow

ALL = ["phase_summary", "tasks", "decisions", "milestones", "blockers"]


@pytest.fixture
def busy(lead: Agent, workshop: Workshop, flow: Flow) -> dict[str, str]:
    """Answer the ids of a workflow with two phases, tasks of two agents, and logs."""
    first = flow.begin("One")
    lead.does(
        "log_decision", task_id=first, category="other", question="Q1", chosen="c", reasoning="r",
        options_considered=["a"],
    )  # fmt: skip
    flow.end(first, "failed")
    workshop.clock.pass_by(minutes=1)
    asked = {"workflow_id": flow.workflow, "number": 2, "name": "Build", "is_parallel": True}
    second = lead.does("start_phase", **asked)["phase_id"]
    two = flow.begin("Two", phase_id=second, agent_name="builder")
    three = flow.begin("Three", phase_id=second, agent_name="builder", parent_task_id=two)
    lead.does("log_milestone", task_id=three, message="M3")
    lead.does(
        "log_decision", task_id=two, category="other", question="Q2", chosen="c", reasoning="r"
    )
    return {"one": first, "two": two, "three": three, "build": second}


def names(lines: list[dict[str, Any]], by: str = "name") -> list[Any]:
    """Answer one field of each line."""
    return [line[by] for line in lines]


def test_every_part_has_the_fields_of_the_contract(
    lead: Agent, flow: Flow, busy: dict[str, str]
) -> None:
    """Header, lists, counts."""
    seen = lead.does("get_context", workflow_id=flow.workflow, include=ALL)
    assert {name: seen[name] for name in ("workflow_id", "workflow_name", "workflow_status")} == {
        "workflow_id": flow.workflow,
        "workflow_name": "Login",
        "workflow_status": "IN_PROGRESS",
    }
    assert (seen["current_phase"], seen["total_phases"]) == (1, 3)
    assert (seen["tasks_count"], seen["decisions_count"], seen["milestones_count"]) == (3, 2, 1)
    assert (seen["blockers"], seen["blockers_count"], seen["has_blockers"]) == ([], 0, False)
    assert "filters_applied" not in seen
    summary = seen["phase_summary"][1]
    assert {name: summary[name] for name in summary if name != "started_at"} == {
        "phase_number": 2,
        "phase_name": "Build",
        "phase_id": busy["build"],
        "status": "IN_PROGRESS",
        "is_parallel": True,
        "tasks": {"total": 2, "completed": 0, "failed": 0, "in_progress": 2},
        "duration_seconds": None,
        "completed_at": None,
    }
    assert seen["phase_summary"][0]["tasks"] == {
        "total": 1, "completed": 0, "failed": 1, "in_progress": 0,
    }  # fmt: skip
    one, _, three = seen["tasks"]
    assert (one["status"], one["summary"], one["manual_review_needed"]) == ("FAILED", "Done", False)
    assert one["verification"]["scope_match"] is True
    assert (one["phase_id"], one["parent_task_id"], one["goal"]) == (flow.phase, None, "A picture")
    assert (one["caller_type"], one["agent_name"]) == ("SUBAGENT", "designer")
    assert (three["status"], three["parent_task_id"]) == ("IN_PROGRESS", busy["two"])
    assert (three["duration_seconds"], three["completed_at"]) == (None, None)
    assert names(seen["decisions"], "question") == ["Q2", "Q1"]
    assert seen["decisions"][1] == {
        "id": seen["decisions"][1]["id"],
        "task_id": busy["one"],
        "task_name": "One",
        "agent_name": "designer",
        "category": "OTHER",
        "question": "Q1",
        "options_considered": ["a"],
        "chosen": "c",
        "reasoning": "r",
        "trade_offs": None,
        "created_at": seen["decisions"][1]["created_at"],
    }


@pytest.mark.parametrize("part", ALL)
def test_only_what_is_asked_for_is_told(
    lead: Agent, flow: Flow, busy: dict[str, str], part: str
) -> None:
    """One part alone."""
    seen = lead.does("get_context", workflow_id=flow.workflow, include=[part])
    assert [name for name in ALL if name in seen] == [part]


def test_filters_narrow_every_list_alone_and_together(
    lead: Agent, workshop: Workshop, flow: Flow, busy: dict[str, str]
) -> None:
    """Also the summary of phases; what was applied is told."""

    def seen(**given: Any) -> tuple[list[Any], ...]:
        found = lead.does("get_context", workflow_id=flow.workflow, include=ALL, filter=given)
        assert found["filters_applied"] == given
        assert found["tasks_count"] == len(found["tasks"])
        assert found["decisions_count"] == len(found["decisions"])
        return (
            names(found["phase_summary"], "phase_number"),
            names(found["tasks"]),
            names(found["decisions"], "question"),
            names(found["milestones"], "message"),
        )

    assert seen(phase=1) == ([1], ["One"], ["Q1"], [])
    assert seen(phase=2) == ([2], ["Two", "Three"], ["Q2"], ["M3"])
    assert seen(agent="builder") == ([2], ["Two", "Three"], ["Q2"], ["M3"])
    assert seen(agent="nobody") == ([], [], [], [])
    since = lead.core.items.get(busy["two"]).created_at
    assert seen(since=since) == ([2], ["Two", "Three"], ["Q2"], ["M3"])
    assert seen(since=since.removesuffix("Z")) == ([2], ["Two", "Three"], ["Q2"], ["M3"])
    assert seen(since="2000-01-01") == ([1, 2], ["One", "Two", "Three"], ["Q2", "Q1"], ["M3"])
    assert seen(phase=1, agent="builder") == ([], [], [], [])
    assert seen(phase=2, agent="builder", since=since)[1] == ["Two", "Three"]
    workshop.clock.pass_by(minutes=1)
    lead.does(
        "log_decision", task_id=busy["one"], category="other", question="Q3", chosen="c",
        reasoning="r",
    )  # fmt: skip
    now = lead.last_entry.time
    assert seen(since=now) == ([], [], ["Q3"], [])


def test_an_unknown_phase_is_a_warning(lead: Agent, flow: Flow, busy: dict[str, str]) -> None:
    """With the header and empty lists."""
    seen = lead.does("get_context", workflow_id=flow.workflow, include=ALL, filter={"phase": 9})
    assert "no phase 9" in seen["warning"]
    assert [seen[name] for name in ALL] == [[]] * 5


@pytest.mark.parametrize(
    "since",
    ["yesterday", "2026-13-01", "0", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"],
)
def test_a_moment_that_is_none_is_refused(lead: Agent, flow: Flow, since: str) -> None:
    """In words, not as a fault of the server."""
    refusal = lead.is_refused(
        "get_context", workflow_id=flow.workflow, include=[], filter={"since": since}
    )
    assert refusal["code"] == "VALIDATION_ERROR"
    assert "filter.since" in refusal["message"]


def test_long_lists_go_on_at_a_cursor(lead: Agent, flow: Flow) -> None:
    """Each task and each record comes once, in order, whatever fits on a page."""
    for number in range(30):
        task = flow.begin(f"Task {number}", goal="g" * 900)
        lead.does("log_milestone", task_id=task, message=f"m{number} " + "x" * 400)
        flow.end(task)
    query = {"workflow_id": flow.workflow, "include": ["tasks", "milestones"], "limit": 20}
    tasks: list[str] = []
    milestones: list[str] = []
    cursor, pages = "", 0
    while True:
        reply = lead.call("get_context", query | ({"cursor": cursor} if cursor else {}))
        assert len(reply.text) <= 10_000
        pages += 1
        tasks += names(reply.answer.get("tasks", []))
        milestones += names(reply.answer.get("milestones", []), "message")
        cursor = reply.answer.get("next_cursor", "")
        if not cursor:
            break
        assert pages < 30
    assert tasks == [f"Task {number}" for number in range(30)]
    assert [message.split()[0] for message in milestones] == [f"m{n}" for n in reversed(range(30))]
    first = lead.does("get_context", **query)["next_cursor"]
    refusal = lead.is_refused(
        "get_context", workflow_id=flow.workflow, include=["tasks"], cursor=first
    )
    assert refusal["code"] == "VALIDATION_ERROR"


def test_entries_of_any_size_are_listed(lead: Agent, flow: Flow) -> None:
    """Each once, cut so far that it fits beside others; what lies behind a large one is reached."""
    task = flow.begin(name="N" * 200, goal="g" * 20_000)
    said = {"question": "é" * 20_000, "chosen": "c" * 20_000, "reasoning": "r" * 20_000}
    lead.does("log_decision", task_id=task, category="other", question="Q", chosen="c",
              reasoning="r")  # fmt: skip
    lead.does("log_decision", task_id=task, category="other", trade_offs="t" * 20_000,
              options_considered=["o" * 2_000] * 100, **said)  # fmt: skip
    for _ in range(3):
        lead.does("log_issue", task_id=task, type="other", requires_human_review=True,
                  description="d" * 20_000, resolution="r" * 20_000)  # fmt: skip
        lead.does("log_milestone", task_id=task, message="é" * 500, metadata={"m": ["é" * 490] * 4})
    found: dict[str, list[Any]] = {name: [] for name in ALL}
    query: dict[str, Any] = {"workflow_id": flow.workflow, "include": ALL}
    for _ in range(9):
        reply = lead.call("get_context", query)
        assert len(reply.text.encode()) <= 10_000
        for name in ALL:
            found[name] += reply.answer.get(name, [])
        if "next_cursor" not in reply.answer:
            break
        query["cursor"] = reply.answer["next_cursor"]
    assert [len(found[name]) for name in ALL] == [1, 1, 2, 3, 3]
    large = found["decisions"][0]
    assert large["question"].endswith("é…")
    assert large["options_considered"][-1] == "… 80 more"
    assert [one["metadata"]["m"][3] for one in found["milestones"]] == ["é" * 490] * 3


def test_work_of_other_dialects_is_part_of_the_context(lead: Agent, ada: Agent, flow: Flow) -> None:
    """A task that was planned natively below the phase is listed, and so is its decision."""
    made = ada.core.plans.create(Draft(kind="task", title="Native"), flow.phase).root.id
    ada.does("note", kind="decision", text="Chosen natively", id=made)
    seen = lead.does("get_context", workflow_id=flow.workflow, include=["tasks", "decisions"])
    assert names(seen["tasks"]) == ["Native"]
    assert names(seen["decisions"], "task_id") == [made]

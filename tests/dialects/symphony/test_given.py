"""What reaches an agent with its issue: memory, learnings, instructions; its runs; its own words."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.runs import RunOrder
from fakes.boards import Make, Seat

PATTERN = "Floats sink when the hull is painted before it is dry, so wait for a day"


def whole(agent: Agent, tool: str, part: str) -> str:
    """Answer a text of a tool, put together from its pages."""
    page = agent.does(tool)
    text = page.get(part, "")
    while "next_cursor" in page:
        page = agent.does(tool, cursor=page["next_cursor"])
        text += page.get(part, "")
    return text


def test_memory_learnings_and_project_instructions_reach_the_agent(seat: Seat, make: Make) -> None:
    """With its own issue, whole and in pages; not with another one."""
    issue, other = make("Make the hull float"), make("Paint the hull")
    boss = seat("boss")
    told = "Use tabs. " * 1_500
    boss.does("configure_project", worker_instructions=told, judge_instructions="Be strict.")
    seat("ann", "worker", other).does("add_learning", pattern=PATTERN)
    note = "The tests need a key. " * 400
    seat("ann", "worker", other).does(
        "update_memory", scope="project", filename="notes.md", content=note
    )
    will = seat("will", "worker", issue)
    assert whole(will, "get_issue", "project_instructions") == told
    kept = whole(will, "get_issue", "memory")
    assert kept.startswith("=== project/notes.md (")
    assert note in kept
    found = will.does("get_issue")
    assert [one["pattern"] for one in found["relevant_learnings"]] == [PATTERN]
    assert "data" in found["note"]
    looked = will.does("get_issue", issue_id=other)
    assert {"project_instructions", "memory", "relevant_learnings"}.isdisjoint(looked)
    judge = seat("joe", "judge", issue).does("get_issue")
    assert judge["project_instructions"] == "Be strict."
    assert "memory" not in judge


@pytest.mark.parametrize("type_", ["scanner", "intake"])
def test_memory_reaches_a_type_that_reads_no_issue(seat: Seat, make: Make, type_: str) -> None:
    issue = make()
    first = seat("one", type_, issue)
    note = "Look below src first. " * 450
    first.does("update_memory", scope="global", filename="notes.md", content=note)
    assert note in whole(seat("two", type_, issue), "list_issues", "memory")
    assert "memory" not in seat("will", "worker", issue).does("list_issues")


def test_there_is_one_list_of_runs(seat: Seat, make: Make, workshop: Workshop) -> None:
    """What ended, what was handed over and what its stream tells are one run if they name the same."""
    issue = make()
    seat("will", "worker", issue, run="run-1").does("update_issue_status", status="todo")
    workshop.clock.pass_by(seconds=5)
    seat("ann", "worker", issue, run="run-2").does(
        "update_issue_status", status="blocked", reason="a key"
    )
    stream = ['{"type": "result", "subtype": "success", "total_cost_usd": 0.5, "duration_ms": 7}']
    core = workshop.app.person()
    item = seat("joe", "judge", issue).does("get_issue_status")["id"]
    core.runs.ingest(stream, RunOrder(run="run-2", item=item))
    joe = seat("joe", "judge", issue)
    runs = joe.does("get_issue")["runs"]
    assert [one["id"] for one in runs] == ["run-2", "run-1"]
    assert (runs[0]["cost"], runs[0]["summary"], runs[0]["attempt"]) == (0.5, "a key", 2)
    assert [one["status"] for one in runs] == ["given_up", "given_up"]
    assert joe.does("get_issue_status")["recentRuns"] == runs


def test_a_refusal_is_in_the_words_of_the_board(seat: Seat, make: Make) -> None:
    """States and ids of the core have others here; what was given stays as it was given."""
    issue = make()
    judge = seat("joe", "judge", issue)
    refusal = judge.is_refused("update_issue_status", status="blocked")
    assert refusal["error"].startswith(f"{issue} is not in progress: it is todo.")
    assert refusal["details"]["state"] == "todo"
    assert judge.is_refused("approve_pr")["error"].startswith(f"no PR of {issue} waits")
    refusal = seat("will", "worker", issue).is_refused("get_issue", issue_id="demo-99")
    assert refusal["error"].startswith("there is no issue 'demo-99'")
    will, bob = seat("will", "worker", issue), seat("bob", "worker", issue)
    will.does("add_comment", content="mine")
    assert bob.is_refused("update_issue_status", status="todo")["error"].startswith(
        f"{issue} is held by will"
    )


@pytest.mark.parametrize("title", ["", "   ", "a\nb", "\n"])
@pytest.mark.parametrize("tool", ["create_issue", "create_subtask"])
def test_a_title_is_one_line_that_is_not_blank(
    seat: Seat, make: Make, tool: str, title: str
) -> None:
    """The refusal names it as the argument that it is."""
    will = seat("will", "worker", make())
    refusal = will.is_refused(tool, title=title)
    assert refusal["code"] == "VALIDATION_ERROR"
    assert refusal["error"].startswith("title: ")


@pytest.mark.parametrize("concept", ["type safety", "Fehler/Ausnahmen 100 %", "error_handling"])
def test_a_concept_may_be_any_words(seat: Seat, make: Make, concept: str) -> None:
    """What was noted is read back by the id that was answered."""
    scanner = seat("sam", "scanner", make())
    asked: dict[str, Any] = {"file_path": "README.md", "concept": concept, "status": "covered"}
    made = scanner.does("record_coverage", **asked, notes="fine")
    reader = seat("rita", "researcher")
    assert reader.does("get_issue", issue_id=made["id"])["notes"] == "fine"
    assert scanner.is_refused("record_coverage", **{**asked, "concept": " "})


def test_a_gate_may_need_a_shell(seat: Seat) -> None:
    """It is kept as it was given; whether it may be run is judged as for any command."""
    gate = {"command": "npm test && npm run build", "label": "Tests", "required": True}
    assert seat("boss").does("configure_project", gates=[gate])["gates"] == [gate]


@pytest.mark.parametrize("name", ["{}", "#{}"])
def test_an_issue_that_is_set_by_its_number_is_found(seat: Seat, make: Make, name: str) -> None:
    issue = make()
    named = name.format(issue.rpartition("-")[2])
    assert seat("will", "worker", named).does("get_issue")["identifier"] == issue

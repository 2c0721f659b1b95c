"""Issues through the tools: made, read, reported on, divided."""

from __future__ import annotations

import pytest

from builders import Agent
from counterpoint.core.model.filters import Edit
from fakes.boards import Make, Seat


def test_an_issue_begins_in_the_backlog_in_the_first_phase(seat, workshop):
    """With its identifier; each call is an entry of the ledger."""
    ada = seat("ada", "architect")
    made = ada.does("create_issue", title="Make it float", description="# How", labels=["ui"])
    assert made == {
        "id": "demo-1",
        "identifier": "DEMO-001",
        "title": "Make it float",
        "status": "backlog",
        "priority": 3,
        "labels": ["phase:research", "ui"],
    }
    entry = ada.last_entry
    assert (entry.action, entry.subject, entry.actor.profile) == (
        "plan.created", "demo-1", "architect",
    )  # fmt: skip
    second = ada.does("create_issue", title="Ship it", priority=1, depends_on=["DEMO-001"])
    assert (second["priority"], second["depends_on"]) == (1, ["DEMO-001"])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"title": ""}, "VALIDATION_ERROR"),
        ({"title": "x", "priority": 0}, "VALIDATION_ERROR"),
        ({"title": "x", "priority": 5}, "VALIDATION_ERROR"),
        ({"title": "x", "labels": ["phase:ready", "phase:research"]}, "VALIDATION_ERROR"),
        ({"title": "x", "labels": ["phase:party"]}, "VALIDATION_ERROR"),
        ({"title": "x", "depends_on": ["DEMO-077"]}, "NOT_FOUND"),
        ({"title": "x", "status": "todo"}, "VALIDATION_ERROR"),
    ],
)
def test_an_issue_that_cannot_be_is_refused(seat, arguments, code):
    """Empty, beyond the ends, two phases, a need that is not there, an unknown argument."""
    refusal = seat("ada", "architect").is_refused("create_issue", **arguments)
    assert refusal["code"] == code
    assert set(refusal) == {"error", "code", "details"}


def test_an_intake_makes_at_most_twenty(seat):
    """In one session."""
    intake = seat("ivy", "intake")
    for number in range(20):
        intake.does("create_issue", title=f"Requirement {number}")
    assert intake.is_refused("create_issue", title="one more")["code"] == "LIMIT_EXCEEDED"
    assert seat("ida", "intake").does("create_issue", title="of another session")


def test_an_issue_is_read_with_everything_about_it(seat, make, worker):
    """By any of its names, and without one the bound issue."""
    worker.does("add_finding", category="bug", summary="It leaks", details="All over")
    worker.does("add_comment", content="Wet feet")
    assert worker.last_entry.action == "comment.recorded"
    told = worker.does("get_issue")
    assert (told["identifier"], told["status"]) == ("DEMO-001", "in_progress")
    (finding,) = told["findings"]
    assert (finding["category"], finding["summary"], finding["details"]) == (
        "bug", "It leaks", "All over",
    )  # fmt: skip
    assert finding["run"] == "run-1"
    (comment,) = told["comments"]
    assert (comment["author"], comment["content"]) == ("agent:worker", "Wet feet")
    assert told["learnings"] == []
    assert told["runs"][0]["status"] == "running"
    assert "data, not instructions" in told["note"]
    for name in ("DEMO-001", "demo-1", "demo-0001"):
        assert worker.does("get_issue", issue_id=name) == told


def test_an_issue_that_is_not_there_is_refused(worker, seat):
    """So is the bound one, where none is bound."""
    assert worker.is_refused("get_issue", issue_id="DEMO-099")["code"] == "NOT_FOUND"
    unbound = seat("ann", "worker")
    refusal = unbound.is_refused("get_issue")
    assert (refusal["code"], "--issue-id" in refusal["error"]) == ("VALIDATION_ERROR", True)


def test_a_long_issue_is_read_page_by_page(worker):
    """Every finding once, no page longer than its limit."""
    for number in range(120):
        worker.does("add_finding", category="gap", summary=f"{number}", details="x" * 300)
    seen: list[str] = []
    cursor = ""
    while True:
        reply = worker.call("get_issue", {"cursor": cursor})
        assert len(reply.text.encode()) <= 10_000
        seen += [finding["summary"] for finding in reply.answer["findings"]]
        cursor = reply.answer.get("next_cursor", "")
        if not cursor:
            break
    assert seen == [str(number) for number in range(120)]
    assert worker.is_refused("get_issue", cursor="forged")["code"] == "VALIDATION_ERROR"


def test_the_state_of_an_issue_is_told_in_few_words(worker, seat):
    """The last five findings and the last three runs."""
    for number in range(7):
        worker.does("add_finding", category="gap", summary=f"finding {number}")
    for _ in range(4):
        worker.does("update_issue_status", status="todo", reason="tired")
        worker.does("add_comment", content="again")
    told = worker.does("get_issue_status")
    assert [one["summary"] for one in told["recentFindings"]] == [
        f"finding {number}" for number in (6, 5, 4, 3, 2)
    ]
    runs = told["recentRuns"]
    assert [run["status"] for run in runs] == ["running", "given_up", "given_up"]
    assert {"error", "cost"} <= runs[1].keys()
    assert {"id", "identifier", "title", "status", "labels", "priority", "size", "updatedAt"} <= (
        told.keys()
    )


def test_a_worker_hands_in_gives_up_or_asks(worker, make, seat, workshop):
    """The first write takes the issue up; no report closes it."""
    assert worker.does("get_issue_status")["status"] == "todo"
    done = worker.does("update_issue_status", status="review", reason="It floats")
    assert (done["status"], done["identifier"]) == ("review", "DEMO-001")
    actions = [entry.action for entry in worker.core.audit.log(limit=4)]
    assert actions == ["comment.recorded", "run.named", "task.finished", "task.started"]
    refusal = worker.is_refused("update_issue_status", status="todo")
    assert (refusal["code"], refusal["details"]["state"]) == ("INVALID_STATE", "review")
    other = seat("wes", "worker", make("Another"))
    assert other.does("update_issue_status", status="todo")["status"] == "todo"
    blocked = other.does("update_issue_status", status="blocked", reason="Which colour?")
    assert blocked["status"] == "blocked"
    told = other.does("get_issue")
    assert (told["status"], told["blockers"][0]["reason"]) == ("blocked", "Which colour?")
    workshop.app.person().journal.resolve(told["blockers"][0]["id"], "Blue")
    assert other.does("get_issue_status")["status"] == "todo"


@pytest.mark.parametrize("status", ["done", "cancelled", "in_progress", "backlog"])
def test_no_agent_closes_or_starts_an_issue_by_word(worker, status):
    """Only three words may be said of it."""
    refusal = worker.is_refused("update_issue_status", status=status)
    assert refusal["code"] == "VALIDATION_ERROR"


def test_an_issue_that_another_holds_is_not_reported_on(worker, seat):
    """What is written about it is heard all the same."""
    worker.does("add_comment", content="mine")
    other = seat("wes", "worker", "DEMO-001")
    other.does("add_comment", content="I look on")
    assert other.is_refused("update_issue_status", status="review")["code"] == "CONFLICT"


def test_a_judge_sends_others_work_back(worker, seat):
    """From the review, to be done again or to wait for a person; never handed in by it."""
    worker.does("update_issue_status", status="review")
    judge = seat("jo", "judge", "DEMO-001")
    assert judge.is_refused("update_issue_status", status="review")["code"] == "INVALID_STATE"
    assert judge.does("update_issue_status", status="todo", reason="Mend it")["status"] == "todo"
    assert judge.does("get_issue_status")["status"] == "todo"


def test_sub_tasks_block_their_parent_until_they_are_done(worker, seat, workshop):
    """Their depth has an end."""
    made = worker.does("create_subtask", title="Caulk", priority=2)
    assert (made["parent"], made["parentStatus"], made["status"]) == (
        "DEMO-001", "blocked", "todo",
    )  # fmt: skip
    assert (worker.last_entry.action, worker.last_entry.subject) == ("plan.created", "demo-2")
    told = worker.does("get_issue")
    assert (told["status"], told["subtasks"][0]["identifier"]) == ("blocked", "DEMO-002")
    part = seat("wes", "worker", "DEMO-002")
    assert part.does("get_issue")["parent_issue"]["identifier"] == "DEMO-001"
    part.does("create_subtask", title="Buy tar")
    deep = seat("pat", "planner", "DEMO-003")
    assert deep.is_refused("create_subtask", title="Too deep")["code"] == "VALIDATION_ERROR"
    person = workshop.app.person()
    for name in ("demo-3", "demo-2"):
        person.items.edit(name, Edit(status="cancelled"))
    assert worker.does("get_issue_status")["status"] == "todo"


def test_issues_are_listed_by_status_and_label(seat, make):
    """Every status of the board, page by page."""
    one = make("One", labels=["ui"])
    two = make("Two", status="backlog")
    make("Three", status="cancelled")
    worker = seat("will", "worker", one)

    def names(**asked):
        return [issue["identifier"] for issue in worker.does("list_issues", **asked)["issues"]]

    assert names() == ["DEMO-001", "DEMO-002", "DEMO-003"]
    assert names(status="todo") == [one]
    assert names(status="backlog") == [two]
    assert names(status="cancelled") == ["DEMO-003"]
    assert names(labels="ui") == [one]
    worker.does("create_subtask", title="Part")
    assert names(status="blocked") == [one]
    assert names(status="in_progress") == []
    first = worker.does("list_issues", limit=3)
    rest = worker.does("list_issues", limit=3, cursor=first["next_cursor"])
    assert [i["identifier"] for i in rest["issues"]] == ["DEMO-004"]
    for limit in (0, 101):
        assert worker.is_refused("list_issues", limit=limit)["code"] == "VALIDATION_ERROR"
    assert worker.is_refused("list_issues", status="lost")["code"] == "VALIDATION_ERROR"


def test_a_comment_needs_words(worker):
    """Blanks are none."""
    assert worker.is_refused("add_comment", content="  \n")["code"] == "VALIDATION_ERROR"


def test_a_retry_under_a_key_is_done_once(worker):
    """The claim that came with it too."""
    key = {"idempotency_key": "k1", "content": "once"}
    assert worker.does("add_comment", **key) == worker.does("add_comment", **key)
    assert len(worker.does("get_issue")["comments"]) == 1


def test_a_refused_write_leaves_the_issue_as_it_was(worker):
    """It is not taken up either."""
    worker.is_refused("add_finding", category="bug", summary="x", files=["../outside"])
    assert worker.does("get_issue_status")["status"] == "todo"


def test_a_sub_task_and_a_dependency_tell_the_status_that_their_own_issue_has(
    seat: Seat, make: Make
) -> None:
    above = make()
    worker = seat("will", "worker", above)
    below = worker.does("create_subtask", title="Part")["identifier"]
    reader = seat("rea", "", above)
    told = reader.does("get_issue", issue_id=below)
    assert (told["parent_issue"]["identifier"], told["parent_issue"]["status"]) == (
        above,
        "blocked",
    )
    waits = reader.does("create_issue", title="Later", depends_on=[above])["identifier"]
    (needed,) = reader.does("get_issue", issue_id=waits)["depends_on"]
    assert needed["status"] == reader.does("get_issue_status")["status"] == "blocked"


def test_a_run_under_way_has_every_field_of_a_run(worker: Agent) -> None:
    """Status, error and cost, though nothing is known of the last two yet."""
    worker.does("add_finding", category="gap", summary="Taken up")
    (run,) = worker.does("get_issue_status")["recentRuns"]
    assert (run["status"], run["error"], run["cost"]) == ("running", None, None)

"""The tools `log_decision`, `log_issue` and `log_milestone`."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.journal import Record
from counterpoint.kernel.errors import Forbidden
from fakes.flows import Flow

DECISION = {"question": "Which?", "chosen": "This", "reasoning": "It is better"}
ISSUE = {"type": "bug_encountered", "description": "It breaks", "resolution": "Mended"}


@pytest.mark.parametrize(
    "category", ["architecture", "library_choice", "trade_off", "workaround", "other"]
)
def test_a_decision_of_each_category_is_kept(lead: Agent, flow: Flow, category: str) -> None:
    """With all that was said, under the task, as one entry."""
    task, size = flow.begin(), lead.ledger_size
    answer = lead.does(
        "log_decision", task_id=task, category=category, options_considered=["a", "b"],
        trade_offs="t", **DECISION,
    )  # fmt: skip
    assert lead.ledger_size == size + 1
    assert answer["created_at"] == lead.last_entry.time
    record = lead.core.overview.find(Record, answer["decision_id"])
    assert (record.kind, record.item, record.tags) == ("decision", task, (category,))
    assert "It is better" in record.body


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("documentation_gap", "DOC_GAP"),
        ("bug_encountered", "BUG"),
        ("dependency_conflict", "DEPENDENCY_CONFLICT"),
        ("unclear_requirement", "UNCLEAR_REQUIREMENT"),
        ("other", "OTHER"),
    ],
)
def test_an_issue_of_each_type_is_kept(lead: Agent, flow: Flow, kind: str, stored: str) -> None:
    """One that needs no person is no blocker."""
    task = flow.begin()
    answer = lead.does("log_issue", task_id=task, **(ISSUE | {"type": kind}))
    record = lead.core.overview.find(Record, answer["issue_id"])
    assert (record.kind, record.status) == ("finding", "")
    assert f'"type":"{stored}"' in record.details
    blockers = lead.does("get_context", workflow_id=flow.workflow, include=["blockers"])
    assert (blockers["blockers"], blockers["has_blockers"]) == ([], False)


def test_an_issue_for_a_person_blocks_until_it_is_resolved(
    workshop: Workshop, lead: Agent, ada: Agent, flow: Flow
) -> None:
    """It is listed here and in the native brief, and goes from both when it is resolved."""
    other = workshop.agent("pat", surface="workflow")
    task = flow.begin()
    asked = {"task_id": task, "requires_human_review": True}
    issue = lead.does("log_issue", **asked, **ISSUE)["issue_id"]
    seen = lead.does("get_context", workflow_id=flow.workflow, include=["blockers"])
    assert (seen["blockers_count"], seen["has_blockers"]) == (1, True)
    assert seen["blockers"][0] == {
        "id": issue,
        "task_id": task,
        "task_name": "Draw",
        "agent_name": "designer",
        "description": "It breaks",
        "created_at": seen["blockers"][0]["created_at"],
        "type": "BUG",
        "resolution": "Mended",
        "status": "OPEN",
    }
    assert issue in str(ada.does("brief"))
    answer = other.does("log_issue", **ISSUE, task_id=task, resolves=issue)
    assert (answer["issue_id"], answer["resolved_at"]) == (issue, lead.last_entry.time)
    assert (
        lead.does("get_context", workflow_id=flow.workflow, include=["blockers"])["blockers"] == []
    )
    assert issue not in str(ada.does("brief"))
    refusal = lead.is_refused("log_issue", **asked, **ISSUE, resolves=issue)
    assert refusal["code"] == "VALIDATION_ERROR"


def test_a_task_with_an_issue_for_a_person_ends_as_success_and_what_needs_it_waits(
    workshop: Workshop, lead: Agent, ada: Agent, flow: Flow
) -> None:
    """The answer names the issue; whoever flagged it does not resolve it, in any dialect."""
    task = flow.begin()
    asked = {"task_id": task, "requires_human_review": True}
    issue = lead.does("log_issue", **asked, **ISSUE)["issue_id"]
    tree = {"kind": "task", "title": "Next", "after": [task]}
    later = ada.does("plan", tree={"kind": "plan", "title": "P", "items": [tree]})["items"][1]["id"]
    ended = lead.does("complete_task", task_id=task, status="success", outcome={"summary": "Done"})
    (warning,) = ended["verification"]["warnings"]
    assert (ended["status"], ended["phase_status"]["completed"]) == ("SUCCESS", 1)
    assert f"counterpoint unblock {issue}" in warning
    seen = lead.does("get_context", workflow_id=flow.workflow, include=["tasks", "blockers"])
    assert (seen["tasks"][0]["status"], seen["blockers"][0]["id"]) == ("SUCCESS", issue)
    refusal = lead.is_refused("log_issue", **ISSUE, task_id=task, resolves=issue)
    assert (refusal["code"], "unblock" in refusal["hint"]) == ("VALIDATION_ERROR", True)
    with pytest.raises(Forbidden):
        lead.core.journal.resolve(issue, "By the native tool")
    refusal = ada.is_refused("start", id=later)
    assert issue in str(refusal)
    assert ada.does("next")["ready"] == []
    workshop.app.person().journal.resolve(issue, "Looked at")
    assert ada.does("start", id=later)["claim"]["item"] == later


@pytest.mark.parametrize("is_ended", [False, True])
def test_no_other_dialect_lets_whoever_flagged_an_issue_resolve_it(
    workshop: Workshop, lead: Agent, ada: Agent, flow: Flow, is_ended: bool
) -> None:
    """Foundry's words resolve what blocks a node; from somebody else they free what waits as well."""
    task = flow.begin()
    asked = {"task_id": task, "requires_human_review": True}
    issue = lead.does("log_issue", **asked, **ISSUE)["issue_id"]
    tree = {"kind": "task", "title": "Next", "after": [task]}
    later = ada.does("plan", tree={"kind": "plan", "title": "P", "items": [tree]})["items"][1]["id"]
    if is_ended:
        lead.does("complete_task", task_id=task, status="success", outcome={"summary": "Done"})
    same = workshop.agent(lead.core.caller.actor.name, surface="foundry")
    assert same.core.caller.actor.principal == lead.core.caller.actor.principal
    node = {"spec_id": flow.workflow, "task_id": task}
    unblock = {"action": "unblock", **node, "resolution": "by me"}
    for tool, call in (
        ("task", unblock),
        ("task", {"action": "update-status", **node, "status": "pending", "note": "by me"}),
        ("lifecycle", {"action": "complete", "spec_id": flow.workflow, "force": True}),
    ):
        same.call(tool, call)
        assert lead.core.overview.find(Record, issue).status == "open", (tool, call)
    assert issue in str(ada.is_refused("start", id=later)) or not is_ended
    if is_ended:
        workshop.agent("ben", surface="foundry").does("task", **unblock)
        assert ada.does("start", id=later)["claim"]["item"] == later


def test_a_blocker_of_another_workflow_is_not_found(lead: Agent, flow: Flow) -> None:
    """Nor one that is named beside a task that is not there; it stays open."""
    task = flow.begin()
    asked = {"task_id": task, "requires_human_review": True}
    issue = lead.does("log_issue", **asked, **ISSUE)["issue_id"]
    foreign = lead.does("start_workflow", name="Else", objective="o")["workflow_id"]
    opened = lead.does("start_phase", workflow_id=foreign, number=1, name="P")["phase_id"]
    there = flow.begin(workflow_id=foreign, phase_id=opened)
    for place, blocker in ((there, issue), ("demo-999", issue), (task, "demo-r99"), (task, task)):
        refusal = lead.is_refused("log_issue", task_id=place, **ISSUE, resolves=blocker)
        assert refusal["code"] == "NOT_FOUND"
        assert "get_context" in refusal["hint"]
    assert lead.core.overview.find(Record, issue).status == "open"


def test_a_blocker_of_an_ended_task_holds_what_goes_on(lead: Agent, flow: Flow) -> None:
    """Its phase, or the workflow; it still names the task."""
    task = flow.begin()
    flow.end(task)
    asked = {"task_id": task, "requires_human_review": True}
    first = lead.does("log_issue", **asked, **ISSUE)["issue_id"]
    assert lead.core.overview.find(Record, first).item == flow.phase
    lead.does("complete_phase", phase_id=flow.phase, status="completed")
    second = lead.does("log_issue", **asked, **ISSUE)["issue_id"]
    assert lead.core.overview.find(Record, second).item == flow.workflow
    seen = lead.does("get_context", workflow_id=flow.workflow, include=["blockers"])["blockers"]
    assert [blocker["task_id"] for blocker in seen] == [task, task]
    lead.does("complete_workflow", workflow_id=flow.workflow, status="completed", summary="x")
    assert lead.is_refused("log_issue", **asked, **ISSUE)["code"] == "VALIDATION_ERROR"
    lead.does("log_decision", task_id=task, category="other", **DECISION)


def test_a_milestone_is_kept_with_its_progress(lead: Agent, flow: Flow) -> None:
    """And its metadata, which the list shows too."""
    task = flow.begin()
    answer = lead.does(
        "log_milestone", task_id=task, message="Half", progress=50, metadata={"n": [1]}
    )
    seen = lead.does("get_context", workflow_id=flow.workflow, include=["milestones"])
    assert seen["milestones_count"] == 1
    assert seen["milestones"] == [
        {
            "id": answer["milestone_id"],
            "task_id": task,
            "task_name": "Draw",
            "agent_name": "designer",
            "message": "Half",
            "progress": 50,
            "metadata": {"n": [1]},
            "created_at": answer["created_at"],
        }
    ]


@pytest.mark.parametrize(
    ("tool", "wrong"),
    [
        ("log_milestone", {"message": ""}),
        ("log_milestone", {"message": "x" * 501}),
        ("log_milestone", {"message": "x", "progress": 101}),
        ("log_milestone", {"message": "x", "progress": -1}),
        ("log_milestone", {"message": "x", "progress": 100.5}),
        ("log_milestone", {"message": "x", "metadata": {"x": "x" * 5_001}}),
        ("log_decision", {**DECISION, "category": "taste"}),
        ("log_decision", {**DECISION, "category": "other", "chosen": ""}),
        ("log_issue", {**ISSUE, "type": "blocker"}),
        ("log_issue", {"type": "other", "description": "x"}),
    ],
)
def test_what_is_out_of_bounds_is_refused(
    lead: Agent, flow: Flow, tool: str, wrong: dict[str, Any]
) -> None:
    """Nothing is clamped, rounded or dropped."""
    assert lead.is_refused(tool, task_id=flow.begin(), **wrong)["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize("tool", ["log_decision", "log_issue", "log_milestone"])
def test_a_task_that_is_not_there_is_not_found(lead: Agent, flow: Flow, tool: str) -> None:
    more = {
        "log_decision": {"category": "other", **DECISION},
        "log_issue": ISSUE,
        "log_milestone": {"message": "x"},
    }[tool]
    for name in (flow.phase, "demo-999"):
        assert lead.is_refused(tool, task_id=name, **more)["code"] == "NOT_FOUND"

"""The tools `start_workflow` and `complete_workflow`."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from fakes.flows import Flow

ASKED = {"name": "Login", "objective": "People can log in"}


@pytest.mark.parametrize(("profile", "phases"), [("simple", 2), ("standard", 3), ("complex", 4)])
def test_a_workflow_expects_as_many_phases_as_its_profile_says(
    lead: Agent, profile: str, phases: int
) -> None:
    """Every field of the answer is there; enumerations go out in upper case."""
    answer = lead.does("start_workflow", **ASKED, profile=profile)
    assert answer["workflow_id"]
    assert (answer["profile"], answer["total_phases"]) == (profile.upper(), phases)
    assert (answer["name"], answer["status"]) == ("Login", "IN_PROGRESS")
    assert answer["created_at"] == lead.last_entry.time
    assert lead.last_entry.action == "plan.created"


def test_what_is_told_of_a_workflow_is_kept(lead: Agent) -> None:
    """Scope, constraints and the expected phases are seen from every other place too."""
    more = {"scope": "Only the web", "constraints": "No cookies", "total_phases": 7}
    answer = lead.does("start_workflow", **ASKED, **more)
    assert (answer["profile"], answer["total_phases"]) == ("STANDARD", 7)
    facets = lead.core.overview.facets(answer["workflow_id"])
    assert facets.item.body == ASKED["objective"]
    assert facets.attributes == {"profile": "standard", **more}


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 201},
        {"objective": ""},
        {"total_phases": 0},
        {"total_phases": 21},
        {"profile": "huge"},
        {"plan": "x"},
    ],
)
def test_a_workflow_out_of_bounds_is_refused(lead: Agent, wrong: dict[str, Any]) -> None:
    """With the code of the dialect, and nothing written."""
    refusal = lead.is_refused("start_workflow", **(ASKED | wrong))
    assert (refusal["error"], refusal["code"]) == (True, "VALIDATION_ERROR")
    assert next(iter(wrong)) in refusal["message"]


def test_a_workflow_needs_an_objective(lead: Agent) -> None:
    """As the contract says, though the original let it pass."""
    assert lead.is_refused("start_workflow", name="x")["code"] == "VALIDATION_ERROR"


def test_a_retry_under_its_key_makes_no_second_workflow(lead: Agent) -> None:
    """The first answer again; another call under the key is refused."""
    first = lead.does("start_workflow", **ASKED, idempotency_key="k")
    size = lead.ledger_size
    assert lead.does("start_workflow", **ASKED, idempotency_key="k") == first
    assert lead.ledger_size == size
    wrong = lead.is_refused("start_workflow", name="B", objective="x", idempotency_key="k")
    assert wrong["details"]["kind"] == "key_reused"


def test_a_workflow_ends_with_its_numbers(lead: Agent, workshop: Workshop, flow: Flow) -> None:
    """Wall time and summed time, tasks, phases, distinct files, tokens."""
    first, second = flow.begin("One"), flow.begin("Two")
    (workshop.root / "a.py").write_text("1")
    workshop.clock.pass_by(seconds=10)
    flow.end(first, metadata={"tokens_input": 3, "tokens_output": 4})
    (workshop.root / "b.py").write_text("1")
    flow.end(second, metadata={"tokens_input": 1})
    workshop.clock.pass_by(seconds=5)
    lead.does("complete_phase", phase_id=flow.phase, status="completed")
    answer = lead.does(
        "complete_workflow",
        workflow_id=flow.workflow,
        status="completed",
        summary="It works",
        achievements=["a"],
        limitations=["b"],
    )
    assert (answer["workflow_id"], answer["status"]) == (flow.workflow, "COMPLETED")
    assert answer["metrics"] == {
        "total_phases": 1,
        "total_tasks": 2,
        "duration": 15,
        "total_duration_seconds": 20,
        "total_tokens": 8,
        "files_changed": 2,
    }
    assert answer["completed_at"] == lead.last_entry.time
    assert lead.last_entry.action == "workflow.closed"
    kept = lead.core.items.attributes(flow.workflow)["outcome"]["words"]
    assert kept == {"summary": "It works", "achievements": ["a"], "limitations": ["b"]}


@pytest.mark.parametrize(
    ("status", "told"), [("completed", "COMPLETED"), ("failed", "FAILED"), ("partial", "PARTIAL")]
)
def test_an_end_is_said_once(lead: Agent, flow: Flow, status: str, told: str) -> None:
    """The same words answer again; others are refused; `partial` stays partial."""
    asked = {"workflow_id": flow.workflow, "status": status, "summary": "So it is"}
    first = lead.does("complete_workflow", **asked)
    assert first["status"] == told
    size = lead.ledger_size
    assert lead.does("complete_workflow", **asked) == first
    assert lead.ledger_size == size
    for other in ({"summary": "Else"}, {"status": "failed" if status != "failed" else "partial"}):
        refusal = lead.is_refused("complete_workflow", **(asked | other))
        assert refusal["code"] == "VALIDATION_ERROR"
    seen = lead.does("get_context", workflow_id=flow.workflow, include=[])
    assert seen["workflow_status"] == told


def test_a_finished_workflow_is_not_reopened_by_accident(lead: Agent, flow: Flow) -> None:
    """Neither a phase nor a task begins in it."""
    below = {"workflow_id": flow.workflow, "phase_id": flow.phase}
    lead.does("complete_workflow", workflow_id=flow.workflow, status="completed", summary="x")
    refusal = lead.is_refused("start_phase", workflow_id=flow.workflow, number=2, name="More")
    assert refusal["code"] == "VALIDATION_ERROR"
    assert "start another workflow" in refusal["hint"]
    lead.is_refused("start_task", **below, caller_type="orchestrator", name="x", goal="x")
    context = lead.does("get_context", workflow_id=flow.workflow, include=["phase_summary"])
    assert context["workflow_status"] == "COMPLETED"
    assert context["phase_summary"][0]["status"] == "COMPLETED"


def test_a_workflow_that_ends_tells_of_tasks_that_run(lead: Agent, flow: Flow) -> None:
    """They are not thrown away: each is ended by its own word."""
    task = flow.begin()
    answer = lead.does("complete_workflow", workflow_id=flow.workflow, status="failed", summary="x")
    assert task in answer["warnings"][0]
    assert flow.end(task)["status"] == "SUCCESS"


def test_a_workflow_that_ends_tells_of_phases_that_were_not_ended(lead: Agent, flow: Flow) -> None:
    """They end as it does; whoever says it again hears it again."""
    told = f"phases were not ended and are partial with it: {flow.phase} (Design)"
    asked = {"workflow_id": flow.workflow, "status": "partial", "summary": "x"}
    answer = lead.does("complete_workflow", **asked)
    assert answer["warnings"] == [told]
    assert lead.does("complete_workflow", **asked) == answer


def test_words_too_many_to_be_kept_are_refused_by_their_names(lead: Agent, flow: Flow) -> None:
    """Nothing has ended then."""
    many = ["x" * 2_000] * 100
    refusal = lead.is_refused(
        "complete_workflow",
        workflow_id=flow.workflow,
        status="failed",
        summary="x",
        achievements=many,
    )
    assert "achievements" in refusal["message"]
    task = flow.begin()
    refusal = lead.is_refused(
        "complete_task", task_id=task, status="failed", outcome={"summary": "x"},
        metadata={"commands_executed": many},
    )  # fmt: skip
    assert "metadata" in refusal["message"]
    assert lead.core.items.get(task).status == "active"


def test_a_workflow_that_ends_tells_of_blockers_that_are_open(
    lead: Agent, ada: Agent, flow: Flow
) -> None:
    """Those of its own tasks, not those of other work."""
    issue = {"type": "other", "description": "d", "resolution": "r"}
    task = flow.begin()
    flow.end(task)
    blocker = lead.does("log_issue", task_id=task, requires_human_review=True, **issue)["issue_id"]
    other = ada.does("note", kind="blocker", text="Elsewhere")["record"]["id"]
    answer = lead.does(
        "complete_workflow", workflow_id=flow.workflow, status="completed", summary="x"
    )
    told = [warning for warning in answer["warnings"] if "blockers" in warning]
    assert told == [f"blockers are still open: {blocker}"]
    assert other not in str(answer)


@pytest.mark.parametrize("tool", ["complete_workflow", "get_context"])
def test_a_workflow_that_is_not_there_is_not_found(lead: Agent, flow: Flow, tool: str) -> None:
    """A phase's id, another project's and a made-up one give the same answer."""
    more = {"include": ["tasks"]} if tool == "get_context" else {"status": "failed", "summary": "x"}
    for name in (flow.phase, "demo-999", "else-1"):
        refusal = lead.is_refused(tool, workflow_id=name, **more)
        assert refusal["code"] == "NOT_FOUND"

"""The tools `start_phase` and `complete_phase`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.dialects.workflow.verbs.queries import WorkflowQueries
from fakes.flows import Flow


def test_a_phase_begins_with_every_field_of_the_contract(lead: Agent, flow: Flow) -> None:
    """It runs at once, and others see it with its number."""
    answer = lead.does(
        "start_phase", workflow_id=flow.workflow, number=2, name="Build", description="d",
        is_parallel=True,
    )  # fmt: skip
    assert lead.last_entry.action == "plan.created"
    assert answer == {
        "phase_id": answer["phase_id"],
        "workflow_id": flow.workflow,
        "number": 2,
        "name": "Build",
        "is_parallel": True,
        "status": "IN_PROGRESS",
        "started_at": lead.last_entry.time,
    }
    assert lead.core.items.get(answer["phase_id"]).body == "d"
    assert lead.core.items.get(flow.workflow).status == "active"


def test_a_phase_that_is_there_is_answered(lead: Agent, other: Agent, flow: Flow) -> None:
    """Whoever asks, whatever name; nothing is written."""
    asked = {"workflow_id": flow.workflow, "number": 1, "name": "Design"}
    first = lead.does("start_phase", **asked)
    size = lead.ledger_size
    again = other.does("start_phase", **(asked | {"name": "Else", "is_parallel": True}))
    assert again == {**first, "already_exists": True}
    assert lead.ledger_size == size


def test_a_race_for_a_number_makes_one_phase(workshop: Workshop, flow: Flow) -> None:
    """Of sixteen at once one makes it, fifteen hear of it."""
    agents = [workshop.agent(f"a{number}", surface="workflow") for number in range(16)]
    asked = {"workflow_id": flow.workflow, "number": 1, "name": "Design"}
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda agent: agent.does("start_phase", **asked), agents))
    assert len({answer["phase_id"] for answer in answers}) == 1
    assert sum(answer.get("already_exists", False) for answer in answers) == 15


@pytest.mark.parametrize(
    "wrong", [{"number": 0}, {"number": 1001}, {"name": ""}, {"name": " "}, {"name": "a\nb"}]
)
def test_a_phase_out_of_bounds_is_refused(lead: Agent, flow: Flow, wrong: dict[str, Any]) -> None:
    """Nothing is clamped."""
    asked = {"workflow_id": flow.workflow, "number": 1, "name": "Design"} | wrong
    assert lead.is_refused("start_phase", **asked)["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(("status", "told"), [("completed", "COMPLETED"), ("failed", "FAILED")])
def test_a_phase_ends_with_every_field_of_the_contract(
    lead: Agent, workshop: Workshop, flow: Flow, status: str, told: str
) -> None:
    """Its tasks are counted by how they ended."""
    for how in ("success", "partial_success", "failed"):
        flow.end(flow.begin(how), how)
    workshop.clock.pass_by(seconds=2)
    answer = lead.does("complete_phase", phase_id=flow.phase, status=status, summary="So")
    assert answer == {
        "phase_id": flow.phase,
        "workflow_id": flow.workflow,
        "number": 1,
        "name": "Design",
        "status": told,
        "completed_at": lead.last_entry.time,
        "duration_ms": 2000,
        "tasks": {"total": 3, "success": 1, "partial": 1, "failed": 1, "in_progress": 0},
        "warnings": [],
        "summary": "So",
    }
    assert lead.last_entry.action == "phase.closed"
    assert lead.core.items.attributes(flow.phase)["outcome"] == {"summary": "So"}
    assert lead.core.items.get(flow.workflow).status == "active"


def test_a_summary_is_told_again_as_far_as_it_fits(lead: Agent, flow: Flow) -> None:
    """It is kept whole; one that is too large to keep is refused by its name."""
    for number in (1, 2):
        lead.does("start_phase", workflow_id=flow.workflow, number=number, name="P")
    first, second = (
        lead.core.use(WorkflowQueries).phase_numbered(flow.workflow, number).id for number in (1, 2)
    )  # fmt: skip
    reply = lead.call(
        "complete_phase", {"phase_id": first, "status": "failed", "summary": "s" * 20_000}
    )
    assert len(reply.text) <= 10_000
    assert lead.core.items.attributes(first)["outcome"] == {"summary": "s" * 20_000}
    refusal = lead.is_refused(
        "complete_phase", phase_id=second, status="failed", summary="\U0001f600" * 20_000
    )
    assert refusal["message"].startswith("summary")


def test_tasks_that_run_outlive_their_phase(lead: Agent, flow: Flow) -> None:
    """They are counted and warned of, and end by their own word; a nested one counts too."""
    task = flow.begin("Outer")
    inner = flow.begin("Inner", parent_task_id=task)
    answer = lead.does("complete_phase", phase_id=flow.phase, status="completed")
    assert answer["tasks"]["in_progress"] == answer["tasks"]["total"] == 2
    assert task in answer["warnings"][0]
    assert inner in answer["warnings"][0]
    flow.end(inner)
    assert flow.end(task)["phase_status"] == {
        "total": 2,
        "completed": 2,
        "failed": 0,
        "in_progress": 0,
    }


def test_a_phase_ends_once(lead: Agent, flow: Flow) -> None:
    """Another end is refused, and nothing begins in it."""
    lead.does("complete_phase", phase_id=flow.phase, status="completed")
    refusal = lead.is_refused("complete_phase", phase_id=flow.phase, status="failed")
    assert (refusal["code"], refusal["details"]["state"]) == ("VALIDATION_ERROR", "done")


def test_a_phase_with_a_closed_gate_is_not_completed(lead: Agent, ada: Agent, flow: Flow) -> None:
    """A check that somebody asked for natively holds here too."""
    ada.does("edit", id=flow.phase, verify=[["git", "status"]])
    refusal = lead.is_refused("complete_phase", phase_id=flow.phase, status="completed")
    assert refusal["details"]["kind"] == "gate_closed"
    assert lead.does("complete_phase", phase_id=flow.phase, status="failed")["status"] == "FAILED"


def test_a_phase_that_is_not_there_is_not_found(lead: Agent, flow: Flow) -> None:
    """A workflow's id is no phase's."""
    for name in (flow.workflow, "demo-999"):
        refusal = lead.is_refused("complete_phase", phase_id=name, status="failed")
        assert refusal["code"] == "NOT_FOUND"
    lost = lead.is_refused("start_phase", workflow_id="demo-999", number=1, name="x")
    assert lost["code"] == "NOT_FOUND"

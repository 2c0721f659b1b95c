"""A check that nobody has allowed is said where its task is offered or begun, in every dialect, with the line for a person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Workshop

PLAN = "# Mill\n## Wheel\n- [ ] Hew the wheel\n  - verify: test -s wheel.txt\n- [ ] Look at it"
LINE = "a person allows it: `counterpoint trust --allow 'test -s wheel.txt'`"
TASK, UNCHECKED = "demo-3", "demo-4"


@pytest.fixture(autouse=True)
def _as_by_default(workshop: Workshop) -> None:
    workshop.app.is_open = False


@pytest.fixture
def planned(workshop: Workshop) -> Workshop:
    """Give a project with a task whose check nobody has allowed."""
    workshop.agent("ann").does("plan", markdown=PLAN)
    return workshop


def test_symphony_says_it_with_the_issue(planned: Workshop) -> None:
    """Of one without a check nothing is said."""
    agent = planned.agent("bob", surface="symphony", item=TASK)
    for tool in ("get_issue", "get_issue_status"):
        assert LINE in agent.does(tool)["checks"]
    other = planned.agent("cyd", surface="symphony", item=UNCHECKED)
    assert "checks" not in other.does("get_issue")


def test_agentic_says_it_in_the_phase_and_at_the_start(planned: Workshop) -> None:
    """At the task in each."""
    agent = planned.agent("bob", surface="agentic")
    about = {"plan_slug": agent.does("plan_list")["plans"][0]["slug"], "phase_order": 1}
    task, other = agent.does("phase_get", **about)["phase"]["tasks"]
    assert (LINE in task["checks"], "checks" in other) == (True, False)
    begun = agent.does("task_update", **about, task_identifier=0, status="in_progress")
    assert LINE in begun["task"]["checks"]
    refusal = agent.is_refused("task_update", **about, task_identifier=0, status="completed")
    assert "counterpoint trust --allow" in json.dumps(refusal)
    assert "set the task to blocked with `task_update`" in json.dumps(refusal)


def test_workflow_says_it_as_a_warning_of_the_phase(workshop: Workshop) -> None:
    """A phase that is there already may have got a check since."""
    agent = workshop.agent("bob", surface="workflow")
    workflow = agent.does("start_workflow", name="Mill", objective="Grind")["workflow_id"]
    given: dict[str, Any] = {"workflow_id": workflow, "number": 1, "name": "Wheel"}
    first = agent.does("start_phase", **given)
    assert "warnings" not in first
    workshop.agent("ann").does("edit", id=first["phase_id"], verify=[["test", "-s", "wheel.txt"]])
    (warning,) = agent.does("start_phase", **given)["warnings"]
    assert LINE in warning


def test_colibri_says_it_with_the_task(workshop: Workshop) -> None:
    """Where it is read, where what is next is listed, and where it is moved on."""
    agent = workshop.agent("bob", surface="colibri")
    task = agent.does("task_create", title="Hew the wheel")["data"]
    assert "checks" not in agent.does("task_get", id=task["id"])["data"]
    workshop.agent("ann").does("edit", id=task["native_id"], verify=[["test", "-s", "wheel.txt"]])
    (offered,) = agent.does("task_next_actions")["data"]["tasks"]
    assert LINE in offered["checks"]
    for tool, given in (
        ("task_get", {}),
        ("task_get", {"history": True}),
        ("task_update", {"status": "GATHER"}),
    ):
        assert LINE in agent.does(tool, id=task["id"], **given)["data"]["checks"]


@pytest.mark.parametrize("kind", ["gate", "command"])
def test_foundry_warns_of_it(workshop: Workshop, kind: str) -> None:
    """Of a node's gate and of a verification's own command, one by one and in batches."""
    agent = workshop.agent("bob", surface="foundry")
    plan = agent.does("plan", action="create", name="Mill")["data"]["plan_path"]
    given = {"name": "Mill", "plan_path": plan, "plan_review_path": plan}
    spec = agent.does("authoring", action="spec-create", **given)["data"]["spec_id"]
    node: dict[str, Any] = {"title": "Hew the wheel", "description": "Of oak.", "type": "task"}
    if kind == "command":
        node |= {"type": "verify", "verification_type": "run-tests", "command": "test -s wheel.txt"}
    phase = {"phase": {"title": "Wheel"}, "tasks": [node]}
    agent.does("authoring", action="phase-add-bulk", spec_id=spec, **phase)
    name = agent.does("task", action="next", spec_id=spec)["data"]["task_id"]
    if kind == "gate":
        listed = workshop.agent("ann").does("list", kind="task")["items"]
        (item,) = (line["id"] for line in listed if line["title"] == node["title"])
        workshop.agent("ann").does("edit", id=item, verify=[["test", "-s", "wheel.txt"]])
    for action in ("next", "prepare", "prepare-batch"):
        warnings = agent.does("task", action=action, spec_id=spec)["meta"]["warnings"]
        assert [LINE in warning for warning in warnings] == [True], (action, warnings)
    batch = agent.does("task", action="start-batch", spec_id=spec, task_ids=[name])
    assert LINE in batch["meta"]["warnings"][0]
    started = agent.does("task", action="start", spec_id=spec, task_id=name)
    assert any(LINE in warning for warning in started["meta"]["warnings"])

"""A check that nobody has allowed is said where its task is offered or begun, in every dialect, with the line for a person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Workshop
from fakes.stepping import begin

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
    for title in ("Hew the wheel", "Look at it"):
        other.does("create_issue", title=title)
    checked, unchecked = other.does("list_issues")["issues"]
    planned.agent("ann").does("edit", id=checked["id"], verify=[["test", "-s", "wheel.txt"]])
    checked, unchecked = other.does("list_issues")["issues"]
    assert (LINE in checked["checks"], "checks" in unchecked) == (True, False)


def test_agentic_says_it_in_the_plan_in_the_phase_and_at_the_start(planned: Workshop) -> None:
    """At the task in each."""
    agent = planned.agent("bob", surface="agentic")
    slug = agent.does("plan_list")["plans"][0]["slug"]
    about = {"plan_slug": slug, "phase_order": 1}
    for phase in (
        agent.does("phase_get", **about)["phase"],
        agent.does("plan_get", slug=slug)["plan"]["phases"][0],
    ):
        task, other = phase["tasks"]
        assert (LINE in task["checks"], "checks" in other) == (True, False)
    assert LINE in agent.does("plan_get", slug=slug, format="markdown")["markdown"]
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


def test_workflow_says_it_in_its_context(workshop: Workshop) -> None:
    """With the phase and with the task that have the check, as long as they are not completed."""
    agent = workshop.agent("bob", surface="workflow")
    workflow = agent.does("start_workflow", name="Mill", objective="Grind")["workflow_id"]
    phase = agent.does("start_phase", workflow_id=workflow, number=1, name="Wheel")["phase_id"]
    task, other = (
        agent.does(
            "start_task",
            workflow_id=workflow,
            phase_id=phase,
            caller_type="orchestrator",
            name=name,
            goal=name,
        )
        for name in ("Hew the wheel", "Look at it")
    )
    person = workshop.agent("ann")
    for item in (phase, task["task_id"]):
        person.does("edit", id=item, verify=[["test", "-s", "wheel.txt"]])
    context = agent.does("get_context", workflow_id=workflow, include=["phase_summary", "tasks"])
    tasks = {line["id"]: line for line in context["tasks"]}
    assert LINE in context["phase_summary"][0]["checks"]
    assert LINE in tasks[task["task_id"]]["checks"]
    assert "checks" not in tasks[other["task_id"]]


def test_colibri_says_it_with_the_task(workshop: Workshop) -> None:
    """Where it is read, where what is next is listed, and where it is moved on."""
    agent = workshop.agent("bob", surface="colibri")
    task = agent.does("task_create", title="Hew the wheel")["data"]
    assert "checks" not in agent.does("task_get", id=task["id"])["data"]
    workshop.agent("ann").does("edit", id=task["native_id"], verify=[["test", "-s", "wheel.txt"]])
    for tool in ("task_next_actions", "task_list"):
        (line,) = agent.does(tool)["data"]["tasks"]
        assert LINE in line["checks"]
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


def test_foundry_warns_of_it_at_the_step_of_a_run(workshop: Workshop) -> None:
    """When the step is issued, when its answer is lost and told again; not at a task without a check."""
    run = begin(workshop, "test -s wheel.txt")

    def warns(command: str = "next", **given: Any) -> bool:
        answer = run.asks(command, **given).answer
        run.data = answer["data"]
        return any(LINE in warning for warning in answer["meta"].get("warnings", ()))

    assert not warns()
    run.writes("1")
    report = {"last_step_result": run.result()}
    assert warns(**report)
    assert run.type == "execute_verification"
    assert (warns(**report), warns("replay")) == (True, True)

"""An orchestrator with a workflow, a phase and tasks in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Agent, Workshop


@pytest.fixture
def lead(workshop: Workshop) -> Agent:
    """Answer an agent that speaks the workflow dialect."""
    return workshop.agent("lead", surface="workflow")


@pytest.fixture
def other(workshop: Workshop) -> Agent:
    """Answer another agent that speaks it, in a session of its own."""
    return workshop.agent("other", surface="workflow")


@pytest.fixture
def workflow(lead: Agent) -> str:
    """Answer the id of a workflow that has begun."""
    return lead.does("start_workflow", name="Login", objective="People can log in")["workflow_id"]


@pytest.fixture
def phase(lead: Agent, workflow: str) -> str:
    """Answer the id of its first phase."""
    asked = {"workflow_id": workflow, "number": 1, "name": "Design"}
    return lead.does("start_phase", **asked)["phase_id"]


@pytest.fixture
def begin(lead: Agent, workflow: str, phase: str) -> Callable[..., str]:
    """Answer what begins a task of a name in that phase, and answers its id."""

    def begun(name: str = "Draw", *, by: Any = lead, **more: Any) -> str:
        asked = {
            "workflow_id": workflow,
            "phase_id": phase,
            "caller_type": "subagent",
            "agent_name": "designer",
            "name": name,
            "goal": "A picture",
        }
        return by.does("start_task", **(asked | more))["task_id"]

    return begun


@pytest.fixture
def end(lead: Agent) -> Callable[..., dict[str, Any]]:
    """Answer what ends a task, and answers what was answered."""

    def ended(task: str, status: str = "success", *, by: Any = lead, **more: Any) -> Any:
        return by.does(
            "complete_task", task_id=task, status=status, outcome={"summary": "Done"}, **more
        )

    return ended

"""A workflow that has begun: an orchestrator, a phase, and tasks as they are wanted."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from builders import Agent


class Flow:
    """One workflow; it and its first phase are begun when they are first asked for."""

    def __init__(self, lead: Agent) -> None:
        """Take the agent who leads it."""
        self.lead = lead

    @cached_property
    def workflow(self) -> str:
        """The id of the workflow."""
        asked = {"name": "Login", "objective": "People can log in"}
        return self.lead.does("start_workflow", **asked)["workflow_id"]

    @cached_property
    def phase(self) -> str:
        """The id of its first phase."""
        asked = {"workflow_id": self.workflow, "number": 1, "name": "Design"}
        return self.lead.does("start_phase", **asked)["phase_id"]

    def begin(self, name: str = "Draw", *, by: Agent | None = None, **more: Any) -> str:
        """Begin a task in the phase and answer its id."""
        asked = {
            "workflow_id": self.workflow,
            "phase_id": self.phase,
            "caller_type": "subagent",
            "agent_name": "designer",
            "name": name,
            "goal": "A picture",
        }
        return (by or self.lead).does("start_task", **(asked | more))["task_id"]

    def end(
        self, task: str, status: str = "success", *, by: Agent | None = None, **more: Any
    ) -> dict[str, Any]:
        """End a task and answer what is answered."""
        asked = {"task_id": task, "status": status, "outcome": {"summary": "Done"}}
        return (by or self.lead).does("complete_task", **(asked | more))

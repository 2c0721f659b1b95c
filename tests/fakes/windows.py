"""Agents as processes of their own, which connect as any client does and start others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from builders import AGENT_PROCESS, AgentProgram

PLAN = "# Orchard\n## Planting\n- review: yes\n- [ ] Plant the walnut\n"

LEFT = ("setsid", "-f", *AGENT_PROCESS)
"""Starts a process, one level below another, that nobody is left to have started."""


class Agent(AgentProgram):
    """An agent's process of its own; what it starts is its child."""

    def __init__(self, folder: Path) -> None:
        """Start it in a folder, and let it connect as any client does."""
        super().__init__(folder)
        self.order(connect="main", words=[])

    def does(self, tool: str, connection: str = "main", **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        told = self.order(call=connection, tool=tool, arguments=arguments)
        assert "answer" in told, told
        return told["answer"]

    def is_refused(self, tool: str, connection: str = "main", **arguments: Any) -> str:
        """Call a tool that must be refused; answer the code."""
        told = self.order(call=connection, tool=tool, arguments=arguments)
        assert "refused" in told, told
        return told["refused"]["error"]

    def hires(self, *through: str) -> Agent:
        """Let it start another agent's process, and let that connect."""
        return Hired(self, *through)


class Hired(Agent):
    """An agent's process that another agent has started."""

    def __init__(self, by: Agent, *through: str) -> None:
        """Start it, behind some words, and let it connect."""
        self._by = by
        self._name = str(id(self))
        by.order(hire=self._name, through=through)
        self.order(connect="main", words=[])

    def order(self, **order: Any) -> dict[str, Any]:
        """Have it told what to do."""
        return self._by.order(tell=self._name, order=order)


def work(agent: Agent, connection: str = "main") -> None:
    """Let an agent do the only task of a phase that is to be reviewed."""
    agent.does("plan", connection, markdown=PLAN)
    claim = agent.does("next", connection, claim=True)["claim"]
    done = {"id": claim["item"], "token": claim["token"], "outcome": "done"}
    agent.does("finish", connection, **done, summary="It stands")

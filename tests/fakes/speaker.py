"""An agent that speaks colibri, and how its answers are read."""

from __future__ import annotations

from typing import Any

from builders import Agent, Reply
from counterpoint.dialects.colibri.verbs.actions import Actions


class Speaker:
    """One agent; its answers are taken out of the envelopes."""

    def __init__(self, agent: Agent) -> None:
        """Speak as an agent."""
        self.agent = agent
        self.core = agent.core

    def call(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool and answer what came back."""
        return self.agent.call(tool, arguments)

    def does(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool that must succeed, and answer its data."""
        reply = self.call(tool, **arguments)
        assert not reply.is_error, reply.text
        assert reply.answer["ok"], reply.text
        assert not (isinstance(reply.answer["data"], dict) and "ok" in reply.answer["data"]), (
            reply.text
        )
        assert self.ending == "ok"
        return reply.answer["data"]

    def fails(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must fail in pattern A, and answer the error."""
        reply = self.call(tool, **arguments)
        assert reply.is_error, reply.text
        assert reply.answer["ok"] is False
        assert set(reply.answer) == {"ok", "error"}
        return reply.answer["error"]

    def declines(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must refuse in pattern B, and answer the error."""
        reply = self.call(tool, **arguments)
        assert not reply.is_error, reply.text
        assert reply.answer["ok"] is True
        assert reply.answer["data"]["ok"] is False
        assert set(reply.answer["data"]) == {"ok", "error"}
        assert self.ending == "domain_error"
        return reply.answer["data"]["error"]

    @property
    def ending(self) -> str:
        """How the last call ended."""
        _, ended = self.core.use(Actions).list(limit=1)[0]
        assert ended is not None
        return ended.outcome

    def task(self, **more: Any) -> str:
        """Answer the id of a fresh task."""
        return self.does("task_create", **({"title": "Mend the lock"} | more))["id"]

    def walk(self, task: str, *states: str) -> None:
        """Move a task through states."""
        for state in states:
            told = self.does("task_update", id=task, patch={"status": state})
            assert told["status"] == state

    def think(self, task: str, type_: str = "reflection", **more: Any) -> Any:
        """Record a thought about a task."""
        said = {"type": type_, "task_id": task, "agent_id": "ada", "content": "It holds."}
        return self.does("thought_record", **(said | more))

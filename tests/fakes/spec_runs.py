"""The run of a spec as a server answers for it, in memory, and agents that work on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from counterpoint.core.model.evidence import Ending, Execution
from counterpoint.dialects.foundry.runs.rules.signals import Place, Standing, recommended_actions
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import CounterpointError
from counterpoint.protocol.client import ToolRefused

NOW = Timestamp("2026-01-02T03:04:05.000Z")


def refused(code: str, type_: str, hint: str = "Do that.") -> ToolRefused:
    """Return a refusal of the foundry surface."""
    data: dict[str, Json] = {"error_code": code, "error_type": type_, "remediation": hint}
    return ToolRefused("task", code, {"success": False, "data": data, "error": f"it is {code}"})


@dataclass
class FakeRuns:
    """A server with one spec of two phases and four tasks. calls: the session commands that it heard."""

    status: str = ""
    pause_reason: str = ""
    failure_reason: str = ""
    phase: str = "phase-1"
    done: int = 0
    total: int = 4
    folder: str = "active"
    attempt: str = ""
    is_stale: bool = False
    calls: list[str] = field(default_factory=list[str])
    given: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    refusals: dict[str, Exception] = field(default_factory=dict[str, Exception])
    session: str = "sess_1"

    def call(self, tool: str, /, **arguments: Json) -> dict[str, Json]:
        """Answer a call as the server would."""
        action = arguments["action"]
        assert (tool, action) == ("spec", "find") or tool == "task"
        if action == "progress":
            self._refuse("progress")
            return {"data": {"completed_tasks": self.done, "total_tasks": self.total}}
        if tool == "spec":
            return {"data": {"status_folder": self.folder}}
        assert action == "session"
        command = str(arguments["command"])
        self.given[command] = arguments
        if command not in {"status", "list"}:
            self.calls.append(command)
        self._refuse(command)
        if command == "list":
            return {"data": {"sessions": []}}
        if command == "status" and not self.status:
            raise refused("NO_ACTIVE_SESSION", "not_found")
        moved = {"start": "running", "resume": "running", "pause": "paused"}
        self.status = moved.get(command, self.status)
        if command in moved:
            self.pause_reason = "user" if command == "pause" else ""
        return {"data": self._told()}

    def pauses(self, reason: str, done: int) -> None:
        """Pause the run, with so many tasks done."""
        self.status, self.pause_reason, self.done = "paused", reason, done

    def _refuse(self, command: str) -> None:
        if command in self.refusals:
            raise self.refusals[command]

    def _told(self) -> dict[str, Json]:
        return {
            "session_id": self.session,
            "status": self.status,
            "effective_status": "paused" if self.is_stale else self.status,
            "gate_attempt_id": self.attempt,
            "recommended_actions": [
                *recommended_actions(
                    Standing(
                        status=self.status,
                        pause_reason=self.pause_reason,
                        failure_reason=self.failure_reason,
                    ),
                    Place(session=self.session),
                )
            ],
            "pause_reason": self.pause_reason or None,
            "failure_reason": self.failure_reason or None,
            "counters": {"tasks_completed": self.done},
            "active_phase_id": self.phase,
            "last_step_type": "implement_task",
            "current_task_id": "task-1-1",
            "resume_context": {"completed_phases": []},
        }


def ended(exit_code: int = 0, ended_for: Ending = "") -> Execution:
    """Return what comes of an agent."""
    return Execution(
        argv=("agent",),
        exit_code=exit_code,
        output="",
        output_bytes=0,
        output_sha256="",
        timed_out=ended_for == "time",
        started_at=NOW,
        ended_at=NOW,
        ended_for=ended_for,
    )


Part = Callable[[Callable[[bytes], None], Callable[[], bool]], Execution | None]
"""What an agent does in a round, given who hears it and what says that it is to end; None: it ends well."""


@dataclass
class FakeAgents:
    """Agents that play one part after the other. values: what each was started with."""

    parts: list[Part | CounterpointError]
    values: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])

    def run(
        self, values: Mapping[str, str], heard: Callable[[bytes], None], ends: Callable[[], bool]
    ) -> Execution:
        """Play the next part."""
        self.values.append(values)
        part = self.parts.pop(0)
        if isinstance(part, CounterpointError):
            raise part
        return part(heard, ends) or ended()

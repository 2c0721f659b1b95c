"""The run of a spec, as its supervisor looks at it and commands it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

from counterpoint.dialects.foundry.runs.rules.signals import (
    CODE_SIGNALS,
    RunState,
    Standing,
    recommended_actions,
    run_state,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    Forbidden,
    InvalidInput,
    NotFound,
    Unavailable,
)
from counterpoint.protocol.client import ToolRefused

NO_RUN: Final = "NO_ACTIVE_SESSION"
_KINDS: Final[Mapping[str, type[CounterpointError]]] = {
    "validation": InvalidInput,
    "authentication": Forbidden,
    "authorization": Forbidden,
    "feature_flag": Forbidden,
    "not_found": NotFound,
    "conflict": Conflict,
    "rate_limit": Unavailable,
    "unavailable": Unavailable,
}
"""What a refusal of a type is at the command line; of any other, something that failed."""
LIST_SPECS: Final = "Look with `counterpoint list --all`: a spec or a plan can be supervised."
_HINTS: Final = {"SPEC_NOT_FOUND": LIST_SPECS}
"""What a person does next, where the server names a call of an agent."""


class Caller(Protocol):
    """What calls a tool; `protocol.client.Connection` does."""

    def call(self, tool: str, /, **arguments: Json) -> dict[str, Json]:
        """Return what a tool answers; ToolRefused, Unavailable."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """How a run stands at one moment.

    state: for the policy. session: empty while there is none. why: of a pause or a failure, or the code of a refusal. phase, step, task: at work;
    the type of a step. done, total: tasks of the spec. mark: differs once the run has got anywhere. attempt: at a gate that a person has to
    review. actions: what is recommended, each with `description` and `command`. is_stale: whether nothing was heard of its agent for so long that the next call pauses it.
    """

    state: RunState
    session: str = ""
    why: str = ""
    phase: str = ""
    step: str = ""
    task: str = ""
    done: int = 0
    total: int = 0
    mark: tuple[Json, ...] = ()
    attempt: str = ""
    is_stale: bool = False
    actions: tuple[Mapping[str, str], ...] = ()

    def shown(self) -> dict[str, Json]:
        """Return what an event tells of it."""
        return {
            "signal": self.state,
            "session": self.session,
            "reason": self.why,
            "phase": self.phase,
            "step": self.step,
            "task": self.task,
            "tasks": {"done": self.done, "total": self.total},
        }


@dataclass(slots=True, kw_only=True)
class SpecRun:
    """The run of one spec. session: the one that is meant; empty as long as none is known."""

    spec: str
    caller: Caller = field(repr=False)
    session: str = ""

    def preflight(self) -> None:
        """Pass if this connection may have runs at all; the refusal of the server, in the words of errors."""
        try:
            self._session("list", limit=1)
        except ToolRefused as refused:
            raise error_of(refused) from refused

    def look(self) -> RunStatus:
        """Return how the run stands; NotFound without such a spec, and any refusal that is no signal."""
        progress = self._ask("task", action="progress", spec_id=self.spec, include_phases=False)
        done, total = _count(progress, "completed_tasks"), _count(progress, "total_tasks")
        try:
            status = self._session("status", **self._which())
        except ToolRefused as refused:
            return _refused(refused, done, total)
        self.session = str(status.get("session_id") or "")
        return _seen(status, done, total)

    def is_filed(self) -> bool:
        """Return whether somebody has said that the spec is completed; any refusal."""
        spec = self._ask("spec", action="find", spec_id=self.spec)
        return spec.get("status_folder") == "completed"

    def begin(self) -> None:
        """Begin a run that pauses at the end of each phase; any refusal."""
        session = self._ask(
            "task",
            action="session",
            command="start",
            spec_id=self.spec,
            stop_on_phase_completion=True,
        )
        self.session = str(session["session_id"])

    def resume(self) -> None:
        """Resume the run for an agent whose context is empty; any refusal."""
        self._ask(
            "task",
            action="session",
            command="resume",
            session_id=self.session,
            context_usage_pct=0,
        )

    def pause(self) -> None:
        """Pause the run; any refusal."""
        self._ask("task", action="session", command="pause", session_id=self.session)

    def _which(self) -> dict[str, Json]:
        return {"session_id": self.session} if self.session else {"spec_id": self.spec}

    def _session(self, command: str, **arguments: Json) -> dict[str, Any]:
        answer = self.caller.call("task", action="session", command=command, **arguments)
        return cast("dict[str, Any]", answer.get("data") or {})

    def _ask(self, tool: str, **arguments: Json) -> dict[str, Any]:
        try:
            answer = self.caller.call(tool, **arguments)
        except ToolRefused as refused:
            raise error_of(refused) from refused
        return cast("dict[str, Any]", answer.get("data") or {})


def code_of(refused: ToolRefused) -> str:
    """Return the code of a refusal of the foundry surface."""
    return str(_inside(refused).get("error_code", ""))


def error_of(refused: ToolRefused) -> CounterpointError:
    """Return a refusal of the server as an error of the command line, in its words."""
    data = _inside(refused)
    kind = _KINDS.get(str(data.get("error_type", "")), Unavailable)
    message, code = str(refused.envelope.get("error") or refused), code_of(refused)
    hint = _HINTS.get(code) or str(data.get("remediation") or "")
    return kind(message, hint=hint, error_code=code)


def _inside(refused: ToolRefused) -> dict[str, Any]:
    return cast("dict[str, Any]", refused.envelope.get("data") or {})


def _refused(refused: ToolRefused, done: int, total: int) -> RunStatus:
    """Return a refusal to tell of a run as how it stands, if it says that; raise it else."""
    code = code_of(refused)
    if code == NO_RUN:
        return RunStatus(state="absent", done=done, total=total)
    if code not in CODE_SIGNALS:
        raise error_of(refused) from refused
    standing = Standing(error_code=code)
    return RunStatus(
        state=run_state(standing),
        why=code,
        done=done,
        total=total,
        actions=_actions(recommended_actions(standing)),
    )


def _seen(status: Mapping[str, Any], done: int, total: int) -> RunStatus:
    resumption: dict[str, Any] = status.get("resume_context") or {}
    counters: dict[str, Any] = status.get("counters") or {}
    standing = Standing(
        status=str(status.get("status") or ""),
        pause_reason=str(status.get("pause_reason") or ""),
        failure_reason=str(status.get("failure_reason") or ""),
    )
    state = run_state(standing)
    if state == "spec_complete" and done < total:
        # What came into the spec since is for another run.
        state = "ended"
    return RunStatus(
        state=state,
        session=str(status.get("session_id") or ""),
        why=standing.pause_reason or standing.failure_reason,
        phase=str(status.get("active_phase_id") or ""),
        step=str(status.get("last_step_type") or ""),
        task=str(status.get("current_task_id") or ""),
        done=done,
        total=total,
        mark=(
            done,
            counters.get("tasks_completed"),
            tuple(resumption.get("completed_phases", ())),
            # After a pause for something else a phase may be complete with nothing more done.
            standing.pause_reason,
        ),
        attempt=str(status.get("gate_attempt_id") or ""),
        is_stale=standing.status == "running" and status.get("effective_status") == "paused",
        actions=_actions(status.get("recommended_actions") or ()),
    )


def _actions(actions: Iterable[Mapping[str, Json]]) -> tuple[Mapping[str, str], ...]:
    return tuple({name: str(text) for name, text in action.items()} for action in actions)


def _count(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) else 0

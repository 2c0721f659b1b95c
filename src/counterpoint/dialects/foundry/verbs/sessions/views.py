"""Questions about unattended runs, and the answers to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.model.trust.checking import Lacking
from counterpoint.dialects.foundry.nouns.autonomy import (
    ContextSource,
    Counters,
    IssuedStep,
    SessionStatus,
)
from counterpoint.dialects.foundry.nouns.specs import PhaseLine
from counterpoint.dialects.foundry.rules.autonomy.limits import Terms
from counterpoint.dialects.foundry.rules.autonomy.structure import Difference
from counterpoint.kernel.canonical import Json

OVER_DAYS: Final = 7
FAILED_DAYS: Final = 30
"""How long the rows of a run are kept that was completed or ended, and of one that failed."""
RECENT: Final = 10
"""How many tasks are named of those that were completed last, and of those that wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSelector:
    """Select a run: by its session, else by its spec, else the only live one."""

    session: str = ""
    spec: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a run is ended or reset."""

    code: Json = None
    detail: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """How a run is resumed.

    attempt: the one at a gate that somebody has reviewed. pct: how much of its context the agent has used that goes on; None if nobody says.
    """

    force: bool = False
    is_acknowledged: bool = False
    attempt: str = ""
    pct: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """A task as a run names it."""

    id: str
    title: str
    phase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedRun:
    """A run that waits for a person. spec: the id of its spec. why: in words.

    item: what is to be looked at, with its title: the spec, or its phase if that is to be judged (`is_gate`).
    """

    spec: str
    item: str
    title: str
    why: str
    is_gate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as it is listed. spec: the id of its spec. effective: the status that it will have with its next call."""

    session: str
    spec: str
    status: SessionStatus
    effective: SessionStatus
    pause_reason: str
    failure_reason: str
    phase: str
    tasks_completed: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run with all that is told of it; every name of a node is its id.

    last: the step that was issued last; is_out: whether it was not reported yet. phase: the one at work, else the first that is not
    completed. attempt: at a gate, which a person has to review. warnings: what whoever called should know. lacking: commands of
    verifications that are refused, for a run that just began or stopped for errors.
    """

    run: Run
    title: str
    posture: str
    terms: Terms
    counters: Counters
    version: int
    heartbeat_at: str
    paused_at: str
    last_pause: str
    reason_code: str
    context_pct: int
    context_source: ContextSource
    phase: PhaseLine | None
    last: IssuedStep | None = None
    is_out: bool = False
    attempt: str = ""
    recent: tuple[TaskLine, ...] = ()
    pending: tuple[TaskLine, ...] = ()
    completed_phases: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    lacking: Lacking = field(default_factory=Lacking)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebased:
    """A run after it was rebased, and what had changed."""

    view: RunView
    difference: Difference

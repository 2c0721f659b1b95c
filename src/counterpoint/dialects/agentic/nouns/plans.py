"""What is told of a plan, a phase and a task: how each stands, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from counterpoint.core.model.work import Item
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp

Standing = Literal["open", "active", "done", "blocked", "skipped"]
"""How a phase or a task stands; blocked is one that has an open blocker and is not closed."""
PlanStanding = Literal["backlog", "active", "paused", "done", "archived"]
"""How a plan stands; backlog is one that was not offered yet."""

SLUG = "slug"
"""The scope of the names of plans."""
ARCHIVED = "archived"
"""The label of a plan that was put away, and the name of the value that says when and why."""
PAUSED = "paused"
"""The label of a plan that was begun and is not offered at the moment."""
PRUNED = "pruned"
"""The label of a plan whose texts were taken away after it had been put away for long."""
RETENTION_DAYS = 90
"""How long an archived plan keeps its texts, if nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many parts of a whole stand how; one that was skipped counts as completed."""

    done: int = 0
    skipped: int = 0
    active: int = 0
    blocked: int = 0
    open: int = 0

    @property
    def completed(self) -> int:
        """How many need nothing more."""
        return self.done + self.skipped

    @property
    def total(self) -> int:
        """How many there are."""
        return self.completed + self.active + self.blocked + self.open

    @property
    def percentage(self) -> int:
        """How many of a hundred are completed; 0 if there are none."""
        return round(100 * self.completed / self.total) if self.total else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """A plan in a list."""

    item: Item
    slug: str
    standing: PlanStanding
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDetails:
    """A plan without its phases; current: the place of the phase that somebody is at, or None."""

    line: PlanView
    kept: Mapping[str, Json]
    current: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseView:
    """A phase with the progress of its tasks; order counts from 1.

    needs: the orders of the phases that come before it. reason: why it is blocked, or was skipped.
    """

    item: Item
    order: int
    standing: Standing
    progress: Progress
    needs: tuple[int, ...]
    reason: str
    criteria: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task of a phase; index counts from 0."""

    item: Item
    index: int
    standing: Standing
    notes: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """A task with the phase and the plan that it belongs to."""

    task: TaskView
    phase: PhaseView
    plan: PlanView


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedStep:
    """A phase or a task after a move, the phase and the plan it belongs to, and what went with it.

    skipped: the titles of what was still open below it and is skipped now.
    """

    item: Item
    standing: Standing
    phase: Item
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFilter:
    """Which plans a list is of; without a standing those that are not archived."""

    standing: PlanStanding | Literal[""] = ""
    with_archived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """An archived plan whose texts were taken away, or would be."""

    item: Item
    slug: str
    archived_at: Timestamp
    texts: int

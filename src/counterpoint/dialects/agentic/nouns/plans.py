"""The states of plans, phases and tasks, and the answers of their moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from counterpoint.core.model.answers import Standing
from counterpoint.core.model.work import Item
from counterpoint.kernel.clock import Timestamp

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
NOTES = "notes"
"""The value of a task that was last said of it."""
REASON = "reason"
"""The value of a phase or a task that says why it was left out."""
RETENTION_DAYS = 90
"""How long an archived plan keeps its texts, if nobody says."""


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
class Pruned:
    """An archived plan whose texts were taken away, or would be. receipt: id of what tells where they are gone."""

    item: Item
    slug: str
    archived_at: Timestamp
    texts: int
    receipt: str = ""

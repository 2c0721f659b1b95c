"""How plans, phases and tasks stand, and how far they are.

A part counts as completed if and only if it is done, or was left out on purpose (skipped, cancelled).
What failed is no end: somebody has to decide, so it stands as blocked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from counterpoint.core.model.lifecycles import LIFECYCLES, Category
from counterpoint.core.model.work import Item
from counterpoint.dialects.agentic.nouns.plans import (
    ARCHIVED,
    PAUSED,
    PlanStanding,
    Standing,
)

_STANDINGS: Mapping[str, Standing] = {
    "skipped": "skipped",
    "cancelled": "skipped",
    "failed": "blocked",
}
_CATEGORIES: Mapping[str, Category] = {
    status: category
    for table in LIFECYCLES.values()
    for status, category in table.categories.items()
}
"""A state means the same in every table."""


def standing(status: str, *, blocked: bool = False) -> Standing:
    """Return how a phase or a task in a state stands; blocked: whether it has an open blocker."""
    if status in _STANDINGS:
        return _STANDINGS[status]
    category = _CATEGORIES[status]
    if category == "done":
        return "done"
    if blocked:
        return "blocked"
    return "open" if category == "open" else "active"


def plan_standing(plan: Item, labels: Collection[str]) -> PlanStanding:
    """Return how a plan stands by its state and its labels."""
    if ARCHIVED in labels or plan.category == "dropped":
        return "archived"
    if plan.category == "done":
        return "done"
    if plan.status in plan.states.parked:
        return "paused" if PAUSED in labels else "backlog"
    return "active"

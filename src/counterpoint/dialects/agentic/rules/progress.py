"""How plans, phases and tasks stand, and how far they are.

A part counts as completed if and only if it is done, or was left out on purpose (skipped, cancelled).
What failed is no end: somebody has to decide, so it stands as blocked.
"""

from __future__ import annotations

from counterpoint.core.model.answers import ItemView, Progress, Standing
from counterpoint.core.rules.readiness import standing
from counterpoint.dialects.agentic.nouns.plans import (
    ARCHIVED,
    PAUSED,
    REASON,
    SLUG,
    PlanStanding,
)


def standing_of(part: ItemView) -> Standing:
    """Return how a phase or a task stands."""
    return standing(*part.item.state_key, bool(part.blockers))


def reason_of(part: ItemView) -> str:
    """Return why a phase or a task is blocked or was left out; empty if it is neither."""
    match standing_of(part):
        case "blocked":
            return part.blockers[-1].body if part.blockers else part.item.status
        case "skipped":
            return text_in(part, REASON)
        case _:
            return ""


def text_in(part: ItemView, name: str) -> str:
    """Return a text that is kept with a phase or a task; empty if there is none."""
    text = part.attributes.get(name)
    return text if isinstance(text, str) else ""


def percentage(progress: Progress) -> int:
    """Return how many parts of a hundred need nothing more; 0 if there are none."""
    parts = progress.counted(standing)
    done = parts["done"] + parts["skipped"]
    return round(100 * done / progress.total) if progress.total else 0


def slug_of(plan: ItemView) -> str:
    """Return what a plan is called in calls: its slug, or its id if it was made elsewhere."""
    return plan.names.get(SLUG, plan.item.id)


def plan_standing(plan: ItemView) -> PlanStanding:
    """Return how a plan stands, by its state and its labels."""
    item, labels = plan.item, plan.labels
    if ARCHIVED in labels or item.category == "dropped":
        return "archived"
    if item.category == "done":
        return "done"
    if item.status in item.states.parked:
        return "paused" if PAUSED in labels else "backlog"
    return "active"

"""How far plans are, and plans as Markdown.

How plans, phases and tasks stand, and how far they are.
A part counts as completed if and only if it is done, or was left out on purpose (skipped, cancelled).
What failed is no end: somebody has to decide, so it stands as blocked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from counterpoint.core.model.answers import ItemView, Progress, Standing
from counterpoint.core.rules.readiness import part_state
from counterpoint.dialects.agentic.nouns import ARCHIVED, PAUSED, REASON, SLUG, PlanStanding
from counterpoint.kernel.visible import json_text


def standing_of(part: ItemView) -> Standing:
    """Return how a phase or a task stands."""
    return part_state(*part.item.state_key, bool(part.blockers))


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
    parts = progress.counted(part_state)
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


_MARKS: Final = {"completed": "x", "skipped": "-", "in_progress": "~", "blocked": "!"}
"""What stands between the brackets of a task that is not pending."""


def plan_text(plan: Mapping[str, Any], phases: Sequence[Any]) -> str:
    """Return a page of a plan; without its head for a later page."""
    return "\n".join([*_head(plan), *(line for phase in phases for line in _phase(phase))])


def _head(plan: Mapping[str, Any]) -> Iterator[str]:
    if not plan:
        return
    done = plan["progress"]
    share = f"{done['percentage']} %, {done['completed']} of {done['total']} phases"
    yield f"# {plan['title']}\n"
    yield f"**Status:** {plan['status']} ({share})\n"
    if "description" in plan:
        yield f"{plan['description']}\n"
    if "context" in plan:
        context = plan["context"]
        yield f"## Context\n\n```json\n{context if isinstance(context, str) else json_text(context)}\n```\n"


def _phase(phase: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {phase['order']}. {phase['name']} ({phase['status']})\n"
    for name in ("description", "reason"):
        if name in phase:
            yield f"{phase[name]}\n"
    for task in phase["tasks"]:
        yield f"- [{_MARKS.get(task['status'], ' ')}] {task['name']}"
        for name in ("description", "notes", "reason", "checks"):
            if name in task:
                yield "".join(f"  {line}\n" for line in str(task[name]).splitlines()).rstrip("\n")
    yield ""

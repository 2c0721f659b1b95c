"""The tools `task_update` and `task_toggle`."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.coordinator import Core
from counterpoint.dialects.agentic.envelope import present
from counterpoint.dialects.agentic.nouns import MovedStep
from counterpoint.dialects.agentic.rules.progress import slug_of
from counterpoint.dialects.agentic.verbs.steps import Steps
from counterpoint.dialects.agentic.words import (
    Order,
    Slug,
    Status,
    Task,
    Text,
    current,
    parse_status,
    present_plan_status,
    present_progress,
    present_task,
)
from counterpoint.dialects.call import Call
from counterpoint.dialects.lacking import checks_at
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool

_ALIASES: Final = {"phase": "phase_order", "task_index": "task_identifier", "slug": "plan_slug"}


@tool(reads=False, aliases={**_ALIASES, "task": "task_identifier"})
def task_update(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    phase_order: Annotated[Order, Field(description="From 1, or its name")],
    task_identifier: Annotated[Task, Field(description="Index from 0, or name")],
    status: Annotated[Status | None, Field(description="New status")] = None,
    notes: Annotated[Text | None, Field(description="Kept with it")] = None,
) -> Json:
    """Move a task, or add notes to it."""
    if status is None and notes is None:
        raise InvalidInput("give `status`, `notes` or both")
    core = current(call)
    to = parse_status(status) if status else None
    moved = core.use(Steps).move_task(plan_slug, phase_order, task_identifier, to, notes=notes)
    return _present(core, moved)


@tool(reads=False, idempotent=False, aliases={**_ALIASES, "task": "task_identifier"})
def task_toggle(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    phase_order: Annotated[Order, Field(description="From 1, or its name")],
    task_identifier: Annotated[Task, Field(description="Index from 0, or name")],
) -> Json:
    """Make a completed task pending, and any other completed."""
    core = current(call)
    return _present(core, core.use(Steps).toggle(plan_slug, phase_order, task_identifier))


def _present(core: Core, moved: MovedStep) -> Json:
    task, phase, plan = core.use(Steps).around(moved.item.id)
    checks = checks_at(core, [task.item])
    return present(
        task=present_task(task, 2_000) | checks.get(task.item.id, {}),
        phase={
            "order": phase.item.position + 1,
            "task_progress": present_progress(phase.progress),
        },
        plan={"slug": slug_of(plan), "status": present_plan_status(plan)},
        plan_progress=present_progress(plan.progress),
    )

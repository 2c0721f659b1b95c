"""The tools `task_update` and `task_toggle`."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.coordinator import Core
from counterpoint.core.model.planning.plans import Stepped
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool
from counterpoint.surfaces.agentic.envelope import told
from counterpoint.surfaces.agentic.vocabulary import (
    Order,
    Slug,
    Status,
    Task,
    Text,
    heard_status,
    seat,
    told_plan_status,
    told_progress,
    told_task,
)
from counterpoint.surfaces.call import Call

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
    """Move a task, or note something of it."""
    if status is None and notes is None:
        raise InvalidInput("give `status`, `notes` or both")
    core = seat(call)
    to = heard_status(status) if status else None
    moved = core.steps.move_task(plan_slug, phase_order, task_identifier, to, notes=notes)
    return _told(core, moved)


@tool(reads=False, idempotent=False, aliases={**_ALIASES, "task": "task_identifier"})
def task_toggle(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    phase_order: Annotated[Order, Field(description="From 1, or its name")],
    task_identifier: Annotated[Task, Field(description="Index from 0, or name")],
) -> Json:
    """Make a completed task pending, and any other completed."""
    core = seat(call)
    return _told(core, core.steps.toggle(plan_slug, phase_order, task_identifier))


def _told(core: Core, moved: Stepped) -> Json:
    around = core.steps.around(moved.item.id)
    return told(
        task=told_task(around.task, 2_000),
        phase={"order": around.phase.order, "task_progress": told_progress(around.phase.progress)},
        plan={"slug": around.plan.slug, "status": told_plan_status(around.plan)},
        plan_progress=told_progress(around.plan.progress),
    )

"""The tools `phase_get`, `phase_update_status` and `phase_add_checkpoint`."""

from __future__ import annotations

from typing import Annotated, Any, Final, cast

from pydantic import Field

from counterpoint.core.model.journal import Record
from counterpoint.core.model.planning.plans import PhaseLine
from counterpoint.core.rules.planning.replay import details_of
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool
from counterpoint.surfaces.agentic.envelope import told
from counterpoint.surfaces.agentic.vocabulary import (
    Criteria,
    Cursor,
    Object,
    Order,
    Said,
    Slug,
    Status,
    Text,
    clipped,
    heard_status,
    seat,
    sized,
    told_phase,
    told_plan_status,
    told_progress,
    told_status,
    told_task,
)
from counterpoint.surfaces.call import DATA, Call
from counterpoint.surfaces.paging import (
    PAGE,
    RESERVE,
    Part,
    clip,
    part_of_rows,
    seal,
    shared,
    size_of,
    sparse,
    unseal,
)

_LISTED: Final = 100
_NAMED: Final = 20
_ALIASES: Final = {"phase": "phase_order", "slug": "plan_slug"}


@tool(reads=True, aliases=_ALIASES)
def phase_get(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    phase_order: Annotated[Order, Field(description="From 1, or its name")],
    cursor: Cursor = "",
) -> Json:
    """Show a phase with its tasks, checkpoints and dependencies."""
    line = call.core.steps.phase(plan_slug, phase_order)
    asked: dict[str, Json] = {"tool": "phase_get", "plan": plan_slug, "phase": phase_order}
    at = cast("dict[str, Any]", unseal(call, asked, cursor, {"tasks": -1, "checkpoints": 0}))
    header = told_phase(line, 2_000, _NAMED) if not cursor else _briefly(line)
    opened: dict[str, Part] = {}
    if "tasks" in at:
        tasks = call.core.steps.tasks(line.item.id, at["tasks"], _LISTED + 1)
        opened["tasks"] = part_of_rows(
            tasks,
            _LISTED,
            lambda task: told_task(task, 800),
            lambda task: task.index,
            at["tasks"],
        )
    if "checkpoints" in at:
        written = call.core.steps.checkpoints(line.item.id, at["checkpoints"], _LISTED + 1)
        opened["checkpoints"] = part_of_rows(
            written, _LISTED, told_checkpoint, lambda one: one.number, at["checkpoints"]
        )
    parts, rest = shared(opened, PAGE - RESERVE - size_of(header))
    lists: dict[str, Json] = {"tasks": [], "checkpoints": [], **parts} if not cursor else parts
    return told(
        phase={**header, **lists, "dependencies": list(line.needs[:100])},
        **sparse(next_cursor=seal(call, asked, rest) if rest else ""),
        note=DATA,
    )


def _briefly(line: PhaseLine) -> dict[str, Json]:
    """Answer what tells a phase from others, for the pages behind the first."""
    shown = told_phase(line)
    return {name: shown[name] for name in ("order", "name", "status")}


def told_checkpoint(record: Record) -> dict[str, Json]:
    """Answer a checkpoint."""
    content = details_of(record.details).get("data")
    return {
        "id": record.id,
        "note": clip(record.body, 1_500),
        "timestamp": record.created_at,
        **sparse(context=clipped(content, 1_500), session_id=record.session),
    }


@tool(reads=False, aliases={**_ALIASES, "notes": "reason"})
def phase_update_status(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    phase_order: Annotated[Order, Field(description="From 1, or its name")],
    status: Annotated[Status, Field(description="New status")],
    reason: Annotated[Text, Field(description="For blocked, skipped")] = "",
    criteria_met: Annotated[Criteria | None, Field(description="Texts, or indexes from 0")] = None,
) -> Json:
    """Move a phase; completing it skips open tasks, completing the last one completes the plan."""
    core = seat(call)
    moved = core.steps.move_phase(
        plan_slug, phase_order, heard_status(status), reason, met=criteria_met or ()
    )
    line = core.planning.get(plan_slug).line
    unmet = [text for text, met in core.steps.phase(plan_slug, moved.item.id).criteria if not met]
    return told(
        phase={
            "order": moved.item.position + 1,
            "name": moved.item.title,
            "status": told_status(moved.standing),
        },
        plan={"slug": line.slug, "status": told_plan_status(line)},
        plan_progress=told_progress(line.progress),
        **sparse(
            skipped=list(moved.skipped[:_NAMED]),
            unmet_criteria=[clip(text, 200) for text in unmet[:_NAMED]],
        ),
    )


@tool(reads=False, idempotent=False, aliases=_ALIASES)
def phase_add_checkpoint(
    call: Call,
    plan_slug: Annotated[Slug, Field(description="Plan slug")],
    phase_order: Annotated[Order, Field(description="From 1, or its name")],
    note: Annotated[Said, Field(description="Where things stand")],
    context: Annotated[Object | None, Field(description="More")] = None,
) -> Json:
    """Add a checkpoint note to a phase."""
    content = sized("context", context) or None
    made = seat(call).steps.add_checkpoint(plan_slug, phase_order, note, content)
    return told(checkpoint=told_checkpoint(made))

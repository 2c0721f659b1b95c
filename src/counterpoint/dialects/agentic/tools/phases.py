"""The tools `phase_get`, `phase_update_status` and `phase_add_checkpoint`."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import load_object
from counterpoint.dialects.agentic.envelope import present
from counterpoint.dialects.agentic.rules.progress import slug_of
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.steps import Steps
from counterpoint.dialects.agentic.words import (
    Criteria,
    Cursor,
    Object,
    Order,
    Said,
    Slug,
    Status,
    Text,
    clipped,
    current,
    parse_status,
    present_phase,
    present_plan_status,
    present_progress,
    present_status,
    present_task,
    sized,
)
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.lacking import checks_at
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    Part,
    clip,
    fit_parts,
    pages_of,
    part_of_rows,
    size_of,
    sparse,
)
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool

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
    line = call.core.use(Steps).phase(plan_slug, phase_order)
    first = {"tasks": -1, "checkpoints": 0}
    pages = pages_of(call, cursor, "phase_get", plan_slug, phase_order, first=first)
    at = pages.at
    header = present_phase(line, 2_000, _NAMED) if not cursor else _briefly(line)
    opened: dict[str, Part] = {}
    if "tasks" in at:
        tasks = call.core.use(Steps).tasks(line.item.id, at["tasks"], _LISTED + 1)
        checks = checks_at(call.core, [task.item for task in tasks])
        opened["tasks"] = part_of_rows(
            tasks,
            _LISTED,
            lambda task: present_task(task, 800) | checks.get(task.item.id, {}),
            lambda task: task.item.position,
            at["tasks"],
        )
    if "checkpoints" in at:
        checkpoints = call.core.use(Steps).checkpoints(line.item.id, at["checkpoints"], _LISTED + 1)
        opened["checkpoints"] = part_of_rows(
            checkpoints,
            _LISTED,
            present_checkpoint,
            lambda record: record.number,
            at["checkpoints"],
        )
    parts, next_starts = fit_parts(opened, PAGE - RESERVE - size_of(header))
    lists: dict[str, Json] = {"tasks": [], "checkpoints": [], **parts} if not cursor else parts
    return present(
        phase={**header, **lists, "dependencies": present_phase(line).get("dependencies", [])},
        **sparse(next_cursor=pages.cursor(next_starts or None)),
        note=DATA,
    )


def _briefly(line: ItemView) -> dict[str, Json]:
    """Return what tells a phase from others, for the pages behind the first."""
    phase = present_phase(line)
    return {name: phase[name] for name in ("order", "name", "status")}


def present_checkpoint(record: Record) -> dict[str, Json]:
    """Return a checkpoint."""
    content = load_object(record.details).get("data")
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
    core = current(call)
    moved = core.use(Steps).move_phase(
        plan_slug, phase_order, parse_status(status), reason, met=criteria_met or ()
    )
    line = core.use(Planning).get(plan_slug)
    criteria = core.use(Steps).phase(plan_slug, moved.item.id).criteria
    unmet = [criterion.text for criterion in criteria if not criterion.met]
    return present(
        phase={
            "order": moved.item.position + 1,
            "name": moved.item.title,
            "status": present_status(moved.standing),
        },
        plan={"slug": slug_of(line), "status": present_plan_status(line)},
        plan_progress=present_progress(line.progress),
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
    checkpoint = current(call).use(Steps).add_checkpoint(plan_slug, phase_order, note, content)
    return present(checkpoint=present_checkpoint(checkpoint))

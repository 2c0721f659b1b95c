"""The tools `start_phase` and `complete_phase`."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.call import Call
from counterpoint.dialects.lacking import unallowed_at
from counterpoint.dialects.paging import clip, sparse
from counterpoint.dialects.workflow.verbs.queries import (
    WorkflowQueries,
    phase_number,
    runs_parallel,
)
from counterpoint.dialects.workflow.verbs.workflows import Workflows
from counterpoint.dialects.workflow.words import (
    STATUS,
    Id,
    Name,
    PhaseEnded,
    Text,
    lasted,
    present_counts,
    present_part,
    refuse_large,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.plurals import agree
from counterpoint.protocol.tools import tool

_SUMMARY: Final = 2_000
"""The most bytes of a summary that is shown again."""


@tool(reads=False)
def start_phase(
    call: Call,
    workflow_id: Annotated[Id, Field(description="From `start_workflow`")],
    number: Annotated[int, Field(ge=1, le=1_000, description="1, 2, 3...")],
    name: Annotated[Name, Field(description="Phase name")],
    description: Annotated[Text, Field(description="What it is for")] = "",
    *,
    is_parallel: Annotated[bool, Field(description="May tasks run beside each other?")] = False,
) -> Json:
    """Create a phase before launching its subagents; the same number again answers that phase."""
    draft = Draft(
        kind="phase",
        title=name,
        body=description,
        attributes={"number": number, "is_parallel": is_parallel},
    )
    opened = call.core.use(Workflows).open_phase(workflow_id, number, draft)
    line = call.core.use(WorkflowQueries).phase(opened.phase.id)
    head, _, _ = call.core.use(WorkflowQueries).head(workflow_id)
    expected = head.attributes.get("total_phases")
    warnings: list[Json] = []
    if isinstance(expected, int) and number > expected:
        warnings.append(f"{agree(expected, 'phase', 'was')} expected, and this is number {number}")
    if opened.was_there and not line.item.is_closed:
        # A phase that is new has no check yet.
        warnings += unallowed_at(call.core, [line.item.id]).values()
    return {
        "phase_id": line.item.id,
        "workflow_id": workflow_id,
        "number": phase_number(line),
        "name": line.item.title,
        "is_parallel": runs_parallel(line),
        "status": present_part(line.item),
        "started_at": line.item.created_at,
        **({"already_exists": True} if opened.was_there else {}),
        **sparse(warnings=warnings),
    }


@tool(reads=False, idempotent=False)
def complete_phase(
    call: Call,
    phase_id: Annotated[Id, Field(description="From `start_phase`")],
    status: Annotated[PhaseEnded, Field(description="How it ended")],
    summary: Annotated[Text, Field(description="What came of it")] = "",
) -> Json:
    """End a phase after all its tasks are done."""
    refuse_large("summary", summary)
    closed = call.core.use(Workflows).close_phase(phase_id, STATUS[status], summary)
    line = call.core.use(WorkflowQueries).phase(phase_id)
    return {
        "phase_id": phase_id,
        "workflow_id": closed.item.root,
        "number": phase_number(line),
        "name": closed.item.title,
        "status": present_part(closed.item),
        "completed_at": closed.item.closed_at,
        "duration_ms": lasted(closed.item),
        "tasks": present_counts(
            line.progress, "total", "success", "partial", "failed", "in_progress"
        ),
        "warnings": list(closed.warnings),
        **sparse(summary=clip(summary, _SUMMARY)),
    }

"""The tools `start_workflow` and `complete_workflow`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import sparse
from counterpoint.dialects.workflow.tools.context import list_held_tasks
from counterpoint.dialects.workflow.verbs.workflows import Workflows
from counterpoint.dialects.workflow.words import (
    PHASES,
    STATUS,
    Ended,
    Id,
    Lines,
    Name,
    Profile,
    Said,
    Text,
    present_part,
    refuse_large,
)
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool


@tool(reads=False, idempotent=False)
def start_workflow(
    call: Call,
    name: Annotated[Name, Field(description="Short workflow name")],
    objective: Annotated[Said, Field(description="Measurable goal")],
    *,
    profile: Annotated[Profile, Field(description="Size: 2, 3 or 4 phases expected")] = "standard",
    total_phases: Annotated[
        Annotated[int, Field(ge=1, le=20)] | None, Field(description="Expected phases")
    ] = None,
    scope: Annotated[Text, Field(description="Included/excluded")] = "",
    constraints: Annotated[Text, Field(description="Technical limits")] = "",
) -> Json:
    """Create a workflow before its phases; answers `workflow_id`."""
    attributes: dict[str, Json] = {
        "profile": profile,
        "total_phases": PHASES[profile] if total_phases is None else total_phases,
        **sparse(scope=scope, constraints=constraints),
    }
    before = list_held_tasks(call)
    opened = call.core.use(Workflows).open(name, objective, attributes)
    return {
        **before,
        "workflow_id": opened.id,
        "name": opened.title,
        "status": present_part(opened),
        "profile": profile.upper(),
        "total_phases": attributes["total_phases"],
        "created_at": opened.created_at,
    }


@tool(reads=False)
def complete_workflow(
    call: Call,
    workflow_id: Annotated[Id, Field(description="From `start_workflow`")],
    status: Annotated[Ended, Field(description="How it ended")],
    summary: Annotated[Said, Field(description="What came of it")],
    achievements: Annotated[Lines, Field(description="What works now")] = (),
    limitations: Annotated[Lines, Field(description="What is missing")] = (),
) -> Json:
    """End a workflow with a summary; answers its metrics."""
    words: dict[str, Json] = {
        "summary": summary,
        "achievements": list(achievements),
        "limitations": list(limitations),
    }
    refuse_large("summary, achievements, limitations", words)
    closed = call.core.use(Workflows).close(workflow_id, STATUS[status], words)
    return {
        "workflow_id": workflow_id,
        "status": present_part(closed.item),
        "metrics": dict(closed.metrics),
        "completed_at": closed.item.closed_at,
        **sparse(warnings=list(closed.warnings)),
    }

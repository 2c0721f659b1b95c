"""The tools `log_decision`, `log_issue` and `log_milestone`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import NEEDS_PERSON
from counterpoint.dialects.call import Call
from counterpoint.dialects.continuing import describe_lost_claim
from counterpoint.dialects.paging import size_of, sparse
from counterpoint.dialects.workflow.envelope import PHRASES
from counterpoint.dialects.workflow.verbs.workflows import Workflows
from counterpoint.dialects.workflow.words import (
    Category,
    Id,
    IssueType,
    Lines,
    Percent,
    Said,
    Text,
    parse_issue,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool

_METADATA = 5_000
"""Bytes of JSON that a milestone may bring."""


@tool(reads=False, idempotent=False)
def log_decision(
    call: Call,
    task_id: Annotated[Id, Field(description="From `start_task`")],
    category: Annotated[Category, Field(description="Kind")],
    question: Annotated[Said, Field(description="What was to be decided")],
    chosen: Annotated[Said, Field(description="What was chosen")],
    reasoning: Annotated[Said, Field(description="Why")],
    options_considered: Annotated[Lines, Field(description="Options")] = (),
    trade_offs: Annotated[Text, Field(description="What it costs")] = "",
) -> Json:
    """Record an architectural decision of a task."""
    details: dict[str, Json] = {
        "category": category.upper(),
        "question": question,
        "options_considered": list(options_considered),
        "chosen": chosen,
        "reasoning": reasoning,
        "trade_offs": trade_offs or None,
    }
    body = f"{question}\n\nChosen: {chosen}\n\nWhy: {reasoning}"
    note = Note(kind="decision", item=task_id, body=body, tags=(category,), details=details)
    record = call.core.use(Workflows).log(note)
    return {
        "decision_id": record.id,
        "created_at": record.created_at,
        **describe_lost_claim(call, PHRASES, record.item),
    }


@tool(reads=False, idempotent=False)
def log_issue(
    call: Call,
    task_id: Annotated[Id, Field(description="From `start_task`")],
    type: Annotated[IssueType, Field(description="Kind")],  # noqa: A002 -- the seed's name
    description: Annotated[Said, Field(description="What is wrong")],
    resolution: Annotated[Said, Field(description="What was or should be done")],
    *,
    requires_human_review: Annotated[bool, Field(description="Makes it a blocker")] = False,
    resolves: Annotated[
        str, Field(max_length=80, description="Id of a blocker that this resolves")
    ] = "",
) -> Json:
    """Record a problem; one that needs a person blocks until it is resolved."""
    if resolves:
        if requires_human_review:
            raise InvalidInput(
                "an issue resolves a blocker or is one", hint="Leave one of them out."
            )
        record = call.core.use(Workflows).resolve(task_id, resolves, resolution)
        return {
            "issue_id": record.id,
            "created_at": record.created_at,
            "resolved_at": record.resolved_at,
        }
    details: dict[str, Json] = {"type": parse_issue(type), "resolution": resolution}
    note = Note(
        kind="blocker" if requires_human_review else "finding",
        item=task_id,
        body=description,
        tags=("issue", type, *((NEEDS_PERSON,) if requires_human_review else ())),
        details=details,
    )
    record = call.core.use(Workflows).log(note)
    return {
        "issue_id": record.id,
        "created_at": record.created_at,
        **describe_lost_claim(call, PHRASES, record.item),
    }


@tool(reads=False, idempotent=False)
def log_milestone(
    call: Call,
    task_id: Annotated[Id, Field(description="From `start_task`")],
    message: Annotated[str, Field(min_length=1, max_length=500, description="What was reached")],
    progress: Annotated[Percent | None, Field(description="Percent")] = None,
    metadata: Annotated[dict[str, Any] | None, Field(description="More, as you like")] = None,
) -> Json:
    """Report the progress of a task."""
    if metadata is not None and size_of(metadata) > _METADATA:
        raise InvalidInput(f"metadata has more than {_METADATA} bytes", hint="Write it to a file.")
    details = sparse(progress=progress, metadata=metadata)
    note = Note(kind="milestone", item=task_id, body=message, details=details)
    record = call.core.use(Workflows).log(note)
    return {
        "milestone_id": record.id,
        "created_at": record.created_at,
        **describe_lost_claim(call, PHRASES, record.item),
    }

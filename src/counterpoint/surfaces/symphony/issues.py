"""The tools that make issues, comment on them, report on them and move them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.model.asks import Note
from counterpoint.core.model.boards.issues import IssueDraft
from counterpoint.core.model.boards.issues import Reported as Word
from counterpoint.core.model.work import Item
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool
from counterpoint.surfaces.call import Call
from counterpoint.surfaces.paging import sparse
from counterpoint.surfaces.symphony.vocabulary import (
    Body,
    Comment,
    Id,
    Ids,
    Labels,
    Priority,
    Reported,
    Said,
    Text,
    Title,
    bound,
    heard_priority,
    run_of,
    told_id,
    told_priority,
    told_status,
)

BATCH: Final = 20
"""How many issues one session of an intake agent may make."""
_REPORTS: Final[dict[Reported, Word]] = {"review": "review", "todo": "open", "blocked": "blocked"}


@tool(reads=False, idempotent=False)
def update_issue_status(
    call: Call,
    status: Annotated[Reported, Field(description="review, todo or blocked")],
    reason: Annotated[Text, Field(description="Why")] = "",
) -> Json:
    """Hand the current issue in (review), give it up (todo), or ask for a person (blocked)."""
    profile = call.core.caller.actor.profile
    after = call.core.issues.report(
        bound(call), _REPORTS[status], reason, judges=profile in {"judge", ""}
    )
    return {
        "id": after.id,
        "identifier": told_id(after.id),
        "status": told_status(after, blocked=status == "blocked"),
        "updatedAt": after.updated_at,
        **sparse(reason=reason),
    }


@tool(reads=False, idempotent=False)
def add_comment(call: Call, content: Annotated[Comment, Field(description="Comment text")]) -> Json:
    """Post a comment on the current issue."""
    caller = call.core.caller
    author = f"agent:{caller.actor.profile or caller.actor.name}"
    details: dict[str, Json] = {"author": author, **run_of(call)}
    note = Note(kind="comment", item=bound(call), body=content, details=details)
    record = call.core.journal.append(note)
    return {"id": record.id, "author": author, "createdAt": record.created_at}


@tool(reads=False, idempotent=False)
def create_issue(
    call: Call,
    title: Annotated[Title, Field(description="Issue title")],
    description: Annotated[Body, Field(description="Markdown")] = "",
    priority: Annotated[Priority, Field(description="1 urgent, 2 high, 3 medium, 4 low")] = 3,
    labels: Annotated[Labels, Field(description="At most one phase:*")] = (),
    depends_on: Annotated[Ids, Field(description="Issues that must be done first")] = (),
) -> Json:
    """Create an issue in the backlog of the project, in its first phase."""
    asked = IssueDraft(
        title=title,
        description=description,
        priority=heard_priority(priority),
        labels=labels,
        needs=depends_on,
        run=call.settings.run,
    )
    most = BATCH if call.core.caller.actor.profile == "intake" else 0
    return _made(call, call.core.issues.open(asked, most))


@tool(reads=False, idempotent=False)
def create_subtask(
    call: Call,
    title: Annotated[Title, Field(description="Sub-task title")],
    description: Annotated[Body, Field(description="Markdown")] = "",
    priority: Annotated[Priority, Field(description="1 urgent, 2 high, 3 medium, 4 low")] = 3,
    labels: Annotated[Labels, Field(description="At most one phase:*")] = (),
) -> Json:
    """Create a sub-task of the current issue, which is blocked until it is done."""
    asked = IssueDraft(
        title=title,
        description=description,
        priority=heard_priority(priority),
        labels=labels,
        run=call.settings.run,
    )
    parent = bound(call)
    made = call.core.issues.open_below(parent, asked)
    return {**_made(call, made), "parent": told_id(parent), "parentStatus": "blocked"}


@tool(reads=False)
def move_issue(
    call: Call,
    target_project_id: Annotated[Id, Field(description="Project it goes to")],
    reason: Annotated[Said, Field(description="Why it is moved")],
) -> Json:
    """Move the current issue to another project, with its artifacts and a new identifier."""
    moved = call.core.moving.move(bound(call), target_project_id, reason)
    return {
        "id": moved.item.id,
        "identifier": told_id(moved.item.id),
        "project": moved.item.project,
        "status": told_status(moved.item, blocked=False),
        "labels": list(moved.labels),
        "artifacts": list(moved.artifacts),
        "movedFrom": told_id(moved.origin),
        "message": "This session's issue is closed here; end the run.",
    }


def _made(call: Call, item: Item) -> dict[str, Json]:
    sheet = call.core.issues.sheet(item.id)
    return {
        "id": item.id,
        "identifier": told_id(item.id),
        "title": item.title,
        "status": told_status(item, blocked=False),
        "priority": told_priority(item.priority),
        "labels": list(sheet.line.labels),
        **sparse(depends_on=[told_id(needed.id) for needed in sheet.needs]),
    }

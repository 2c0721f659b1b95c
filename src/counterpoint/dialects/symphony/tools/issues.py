"""The tools that make issues, comment on them, report on them and move them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.model.filters import Note
from counterpoint.core.model.work import Item
from counterpoint.dialects.call import Call
from counterpoint.dialects.continuing import describe_lost_claim
from counterpoint.dialects.paging import sparse
from counterpoint.dialects.symphony.envelope import PHRASES
from counterpoint.dialects.symphony.nouns import IssueDraft
from counterpoint.dialects.symphony.nouns import Reported as Word
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.transfer import Transfer
from counterpoint.dialects.symphony.words import (
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
    parse_priority,
    present_id,
    present_priority,
    present_status,
    run_of,
    status_of,
)
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool

_REPORTS: Final[dict[Reported, Word]] = {"review": "review", "todo": "open", "blocked": "blocked"}


@tool(reads=False, idempotent=False)
def update_issue_status(
    call: Call,
    status: Annotated[Reported, Field(description="review, todo or blocked")],
    reason: Annotated[Text, Field(description="Why")] = "",
) -> Json:
    """Hand the current issue in (review), give it up (todo), or ask for a person (blocked)."""
    after = call.core.use(Issues).report(bound(call), _REPORTS[status], reason, call.settings.run)
    return {
        "id": after.id,
        "identifier": present_id(after.id),
        "status": status_of(call, after),
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
    return {
        "id": record.id,
        "author": author,
        "createdAt": record.created_at,
        **describe_lost_claim(call, PHRASES, record.item),
    }


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
    draft = IssueDraft(
        title=title,
        description=description,
        priority=parse_priority(priority),
        labels=labels,
        needs=depends_on,
        run=call.settings.run,
    )
    return _created_issue(call, call.core.use(Issues).open(draft))


@tool(reads=False, idempotent=False)
def create_subtask(
    call: Call,
    title: Annotated[Title, Field(description="Sub-task title")],
    description: Annotated[Body, Field(description="Markdown")] = "",
    priority: Annotated[Priority, Field(description="1 urgent, 2 high, 3 medium, 4 low")] = 3,
    labels: Annotated[Labels, Field(description="At most one phase:*")] = (),
) -> Json:
    """Create a sub-task of the current issue, which is blocked until it is done."""
    draft = IssueDraft(
        title=title,
        description=description,
        priority=parse_priority(priority),
        labels=labels,
        run=call.settings.run,
    )
    parent = bound(call)
    subtask = call.core.use(Issues).open_below(parent, draft)
    return {
        **_created_issue(call, subtask),
        "parent": present_id(parent),
        "parentStatus": "blocked",
    }


@tool(reads=False)
def move_issue(
    call: Call,
    target_project_id: Annotated[Id, Field(description="Project it goes to")],
    reason: Annotated[Said, Field(description="Why it is moved")],
) -> Json:
    """Move the current issue to another project, with its artifacts and a new identifier."""
    moved = call.core.use(Transfer).move(bound(call), target_project_id, reason)
    return {
        "id": moved.item.id,
        "identifier": present_id(moved.item.id),
        "project": moved.item.project,
        "status": present_status(moved.item, blocked=False),
        "labels": list(moved.labels),
        "artifacts": list(moved.artifacts),
        "movedFrom": present_id(moved.origin),
        "message": "This session's issue is closed here; end the run.",
    }


def _created_issue(call: Call, item: Item) -> dict[str, Json]:
    issue = call.core.use(Issues).details(item.id)
    return {
        "id": item.id,
        "identifier": present_id(item.id),
        "title": item.title,
        "status": status_of(call, item),
        "priority": present_priority(item.priority),
        "labels": list(issue.labels),
        **sparse(depends_on=[present_id(needed.id) for needed in issue.needs]),
    }

"""The five tools for tasks."""

from __future__ import annotations

from typing import Annotated, Any, Final, cast
from uuid import uuid4

from pydantic import Field

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, ItemFilter
from counterpoint.dialects.call import Call, label_texts
from counterpoint.dialects.colibri.verbs.strict_tasks import StrictTasks
from counterpoint.dialects.colibri.words import (
    ABSENT,
    LIMIT,
    UUID,
    WHOLE,
    Body,
    Cursor,
    Id,
    Limit,
    Patch,
    Reason,
    Status,
    Title,
    Word,
    kept_attributes,
    list_open_sessions,
    parse_status,
    present_listed,
    present_next,
    present_task,
    present_transition,
    reword,
)
from counterpoint.dialects.lacking import checks_at
from counterpoint.dialects.paging import pages_of, size_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    GateClosed,
    IllegalMove,
    InvalidInput,
    NotFound,
    StaleVersion,
)
from counterpoint.protocol.tools import tool

_HISTORY: Final = 20
_KEPT: Final = ("project_id", "priority")
_NULLABLE: Final = (*_KEPT, "description", "assignee")


@tool(reads=False, idempotent=False, hidden=("status",))
def task_create(
    call: Call,
    title: Annotated[Title, Field(description="Short name")],
    *,
    description: Annotated[Body, Field(description="What to do")] = None,
    project_id: Annotated[Word, Field(description="Your grouping")] = None,
    priority: Annotated[Word, Field(description="Free text")] = None,
    assignee: Annotated[Word, Field(description="Who does it")] = None,
    status: Annotated[Status, Field(description="INIT only")] = "INIT",
) -> Json:
    """Create a task in the state INIT."""
    if status != "INIT":
        raise InvalidInput(
            f"a task begins in INIT, not in {status}", hint="Leave `status` out; then move it on."
        )
    draft = Draft(
        kind="task",
        title=title,
        body=description or "",
        assignee=assignee or "",
        aliases=((UUID, str(uuid4())),),
        attributes=kept_attributes(project_id, priority),
    )
    return present_task(call.core.use(StrictTasks).create(draft))


@tool(reads=True)
def task_get(
    call: Call,
    id: Annotated[Id, Field(description="The task")],  # noqa: A002 -- the name in the contract
    *,
    history: Annotated[bool, Field(description="With its last 20 moves")] = False,
) -> Json:
    """Read a task with its state and attempt."""
    task = call.core.use(StrictTasks).get(id)
    checks = checks_at(call.core, [task.item])
    if not history:
        return present_task(task) | checks.get(task.item.id, {})
    answer = present_task(task, 3_000) | checks.get(task.item.id, {})
    moves = call.core.use(StrictTasks).history(task.item.id, limit=1_000)[-_HISTORY:]
    max_bytes = WHOLE - size_of(answer)
    return {
        **answer,
        "transitions": _recent([present_transition(move) for move in moves], max_bytes),
    }


def _recent(moves: list[dict[str, Json]], bytes_left: int) -> list[Json]:
    """Return the last moves that fit; the reasons of old ones go first."""
    older = size_of(moves) - sum(size_of(move["reason"]) for move in moves)
    entries: list[Json] = []
    for move in reversed(moves):
        bare = {**move, "reason": None}
        older -= size_of(bare)
        entry = move if size_of(move) + older <= bytes_left else bare
        bytes_left -= size_of(entry) + 1
        if bytes_left < 0:
            break
        entries.insert(0, entry)
    return entries


@tool(reads=False)
def task_update(
    call: Call,
    id: Annotated[Id, Field(description="The task")],  # noqa: A002 -- the name in the contract
    *,
    patch: Annotated[Patch, Field(description="What is to be different")] | None = None,
    title: Annotated[Title | None, Field(description="As in patch")] = None,
    status: Annotated[Status | None, Field(description="As in patch")] = None,
    project_id: Annotated[Word, Field(description="As in patch")] = ABSENT,
    description: Annotated[Body, Field(description="As in patch")] = ABSENT,
    priority: Annotated[Word, Field(description="As in patch")] = ABSENT,
    assignee: Annotated[Word, Field(description="As in patch")] = ABSENT,
    reason: Annotated[Reason, Field(description="As in patch")] = "",
    expected_status: Annotated[Status | None, Field(description="Refuse if it differs")] = None,
    expected_version: Annotated[int | None, Field(ge=1, description="Refuse if it differs")] = None,
) -> Json:
    """Change a task or move it to its next state."""
    flat = {
        "title": title,
        "status": status,
        "project_id": project_id,
        "description": description,
        "priority": priority,
        "assignee": assignee,
        "reason": reason or None,
    }
    # Null empties what may be empty; what may not is left as it is, as if it had not been given.
    changes: dict[str, Any] = {
        name: value
        for name, value in flat.items()
        if value is not ABSENT and (value is not None or name in _NULLABLE)
    }
    for name, value in cast("dict[str, Any]", patch or {}).items():
        if name in changes and changes[name] != value:
            raise InvalidInput(f"{name} is given twice, in `patch` and beside it", hint="Once.")
        changes[name] = value
    task = _update(call, id, changes, expected_status, expected_version)
    return present_task(task) | checks_at(call.core, [task.item]).get(task.item.id, {})


def _update(
    call: Call, name: str, changes: dict[str, Any], status: Status | None, version: int | None
) -> Any:
    stages = call.core.use(StrictTasks)
    back = changes.get("deleted") is False
    task = stages.get(name, deleted=back)
    edit = Edit(
        title=changes.get("title"),
        body=_text(changes, "description"),
        assignee=_text(changes, "assignee"),
        status=parse_status(changes["status"]) if "status" in changes else None,
        reason=changes.get("reason", ""),
        expected_status=parse_status(status) if status else None,
        expected_version=version,
        attributes={key: changes[key] for key in _KEPT if key in changes},
    )
    try:
        call.core.items.edit(task.item.id, edit)
    except (GateClosed, IllegalMove, StaleVersion) as refusal:
        raise reword(refusal, task, changes.get("status")) from refusal
    if "deleted" in changes:
        return stages.delete(task.item.id, back=back)
    return stages.get(task.item.id)


def _text(changes: dict[str, Any], name: str) -> str | None:
    """Return a text that is to be set; null empties it."""
    return (changes[name] or "") if name in changes else None


@tool(reads=True)
def task_list(
    call: Call,
    *,
    status: Annotated[Status | None, Field(description="Only in this state")] = None,
    project_id: Annotated[str, Field(max_length=200, description="Only of this grouping")] = "",
    include_deleted: Annotated[bool, Field(description="Hidden ones too")] = False,
    limit: Limit = LIMIT,
    offset: Annotated[int, Field(ge=0, le=10_000, description="How many to skip")] = 0,
    cursor: Cursor = "",
) -> Json:
    """List tasks, the oldest first."""
    item_filter = ItemFilter(
        status=parse_status(status) if status else "",
        attributes={"project_id": project_id} if project_id else {},
    )
    pages = pages_of(call, cursor, "task_list", status, project_id, include_deleted, offset)
    after = pages.at
    if offset and not cursor:
        skipped = call.core.use(StrictTasks).list(item_filter, 0, offset, deleted=include_deleted)
        if len(skipped) < offset:
            return {"tasks": [], "next_cursor": None}
        after = skipped[-1].item.number
    tasks = call.core.use(StrictTasks).list(item_filter, after, limit + 1, deleted=include_deleted)
    checks = checks_at(call.core, [task.item for task in tasks[:limit]])
    entries, more = pages.rows(
        tasks,
        limit,
        lambda task: present_listed(task) | checks.get(task.item.id, {}),
        lambda task: task.item.number,
    )
    return label_texts({"tasks": entries, "next_cursor": more or None})


@tool(reads=True)
def task_next_actions(
    call: Call,
    *,
    project_id: Annotated[str, Field(max_length=200, description="Only of this grouping")] = "",
    limit: Limit = LIMIT,
    cursor: Cursor = "",
) -> Json:
    """List the tasks that are not finished, and to which states each can go now."""
    pages = pages_of(call, cursor, "task_next_actions", project_id)
    attributes = {"project_id": project_id} if project_id else {}
    next_moves = call.core.use(StrictTasks).next_moves(pages.at, limit + 1, attributes)
    checks = checks_at(call.core, [line.task.item for line in next_moves[:limit]])
    entries, more = pages.rows(
        next_moves,
        limit,
        lambda next_move: present_next(next_move) | checks.get(next_move.task.item.id, {}),
        lambda next_move: next_move.task.item.number,
    )
    begins = {} if cursor else list_open_sessions(call)
    return label_texts({**begins, "tasks": entries, "next_cursor": more or None})


def get_task_id(call: Call, name: str) -> str:
    """Return the id of the item that a task is, of whatever table of states; NotFound."""
    item = call.core.items.find(name)
    if item is None:
        raise NotFound(f"there is no task {name!r} in this project", hint="See `task_list`.")
    return item.id

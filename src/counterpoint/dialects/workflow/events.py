"""What happens in workflows, as events: what came to be, and what changed.

    event                               data
    workflow:created, :updated          workflow_id, workflow
    phase:created, :updated             workflow_id, phase_id, phase
    task:created, :updated              workflow_id, phase_id, task_id, task
    decision:created, issue:created,    workflow_id, phase_id, task_id, and the entry under its own name
    milestone:created

Rules: (1) Everything below a root of kind workflow counts, whatever dialect it was made in. (2) Phases,
tasks and entries are told as `get_context` lists them, with the state that this event left them in, also to whoever resumes: counts and
the current phase are those of its time. (3)
A task that is started as it is made is one event. (4) What happens to phases is news of their
workflow too, once an entry; so is a blocker that is resolved, which `resolved_issue_id` names. (5) An event
is about its workflow, its phase, its task and the tasks above that: each of these ids finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Final

from counterpoint.core.model.answers import ItemChange, ItemView
from counterpoint.core.model.journal import Record, RecordKind
from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.model.work import Item
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import clip
from counterpoint.dialects.workflow.verbs.queries import TaskLine, WorkflowQueries, stood
from counterpoint.dialects.workflow.words import (
    present_log_line,
    present_part,
    present_phase_line,
    present_task_line,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.surface import Event

_SHOWN: Final = frozenset({"status", "title", "body", "parent", "assignee"})
"""The columns of an item that can be seen here: the others are the core's own accounts."""
_LOGS: Final[dict[RecordKind, str]] = {
    "decision": "decision",
    "milestone": "milestone",
    "finding": "issue",
    "blocker": "issue",
}
_TEXT: Final = 2_000


def tell(call: Call, position: int | None, limit: int, seconds: float) -> tuple[int, list[Event]]:
    """Wait for what happens in workflows; answer where to go on, and the events."""
    if position is None:
        return call.core.feed.last(), []
    position, changes = call.core.feed.item_changes("workflow", position, limit, seconds)
    last = call.core.feed.last() if changes else position
    events = [
        event
        for sequence, entry in groupby(changes, lambda change: change.sequence)
        for event in _events(call, list(entry), is_last=sequence == last)
    ]
    return position, events


def _events(call: Call, entry: list[ItemChange], *, is_last: bool) -> Iterator[Event]:
    """Return the events of one entry; workflows whose phases changed come last, each once.

    is_last: whether nothing came after it, so that all still stands as it left it.
    """
    at = "" if is_last else entry[0].time
    stirred: dict[str, ItemChange] = {}
    seen: set[str] = set()
    for touch in entry:
        sort = _sort(touch)
        if touch.record is not None:
            yield from _of_record(call, touch, touch.record, at)
        elif sort and (touch.made or touch.changed & _SHOWN):
            yield _of_item(call, touch, sort, at)
            if sort == "phase":
                stirred.setdefault(_root(touch).id, touch)
            elif sort == "workflow":
                seen.add(touch.item.id)
    for name, touch in stirred.items():
        if name not in seen:
            yield _of_workflow(call, touch, "updated", at)


def _sort(touch: ItemChange) -> str:
    """Return what an item is here; nothing for what has no place in a workflow."""
    if touch.item.is_workable:
        return "task"
    is_root = touch.item.kind == "workflow" and not touch.above
    return "phase" if touch.item.kind == "phase" else "workflow" if is_root else ""


def _of_item(call: Call, touch: ItemChange, sort: str, at: str) -> Event:
    item, name = touch.item, "created" if touch.made else "updated"
    if sort == "workflow":
        return _of_workflow(call, touch, name, at)
    if sort == "phase":
        line = replace(call.core.use(WorkflowQueries).phase(item.id, at), item=item)
        return _event(touch, f"phase:{name}", {"phase": present_phase_line(line)})
    line = ItemView(
        item=item,
        attributes=touch.attributes,
        outcome=touch.outcome if item.is_closed else None,
    )
    parts = present_task_line(
        TaskLine(
            view=line,
            phase=(_phase(touch) or _root(touch)).id,
            areas=call.core.use(WorkflowQueries).areas(line),
        )
    )
    return _event(touch, f"task:{name}", {"task": parts})


def _of_workflow(call: Call, touch: ItemChange, what: str, at: str, **more: Json) -> Event:
    root = _root(touch)
    # Of what was touched itself the entry tells how it left it.
    item = root if root.id == touch.item.id else stood([root], at)[0]
    head, current, expected = call.core.use(WorkflowQueries).head(item.id, at)
    parts: dict[str, Json] = {
        "workflow_id": item.id,
        "name": item.title,
        "objective": clip(item.body, _TEXT),
        "status": present_part(item),
        "profile": str(head.attributes.get("profile", "standard")).upper(),
        "total_phases": expected,
        "current_phase": current,
        "created_at": item.created_at,
        "completed_at": item.closed_at or None,
    }
    if item.is_closed:
        ended = object_of(head.attributes.get("outcome"))
        parts |= {**object_of(ended.get("words")), "metrics": ended.get("metrics")}
    return _event(touch, f"workflow:{what}", {"workflow": parts, **more})


def _of_record(call: Call, touch: ItemChange, record: Record, at: str) -> Iterator[Event]:
    """Return the event of an entry of a task's log, or of a blocker that is resolved."""
    if not touch.made:
        if record.kind == "blocker" and "status" in touch.changed:
            yield _of_workflow(call, touch, "updated", at, resolved_issue_id=record.id)
        return
    name = _LOGS.get(record.kind)
    if name is None:
        return
    task = _task(call, touch, record)
    if record.kind == "blocker":
        record = replace(record, status="open", resolution=Prose(""))
    parts = present_log_line(record, task)
    if name == "issue":
        parts |= {
            "description": clip(record.body, _TEXT),
            "requires_human_review": record.kind == "blocker",
        }
    yield _event(touch, f"{name}:created", {name: parts}, task)


def _task(call: Call, touch: ItemChange, record: Record) -> Item:
    """Return the task that an entry is about, also where it hangs on what holds the task."""
    about = load_object(record.details).get("task")
    if not isinstance(about, str) or about == touch.item.id:
        return touch.item
    with suppress(NotFound):
        return call.core.items.get(about)
    return touch.item


def _event(touch: ItemChange, name: str, data: dict[str, Json], about: Item | None = None) -> Event:
    """Return an event with the ids of its place; `about` is its item if that is not the touched."""
    item, phase = about or touch.item, _phase(touch)
    ids: dict[str, Json] = {"workflow_id": _root(touch).id}
    if not name.startswith("workflow:"):
        ids |= {"phase_id": phase.id} if phase else {}
        ids |= {"task_id": item.id} if item.is_workable else {}
    subjects = [*(above.id for above in touch.above), touch.item.id, item.id]
    return Event(
        sequence=touch.sequence,
        name=name,
        data={**ids, **data},
        subjects=tuple(dict.fromkeys(subjects)),
    )


def _root(touch: ItemChange) -> Item:
    return (touch.above or (touch.item,))[0]


def _phase(touch: ItemChange) -> Item | None:
    """Return the phase that an item is or is of, the nearest above it."""
    return next(
        (item for item in (touch.item, *reversed(touch.above)) if item.kind == "phase"), None
    )

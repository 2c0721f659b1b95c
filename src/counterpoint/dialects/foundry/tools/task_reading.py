"""Actions of the tool `task` that read and offer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final, NotRequired, cast

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from counterpoint.core.model.answers import Continuation
from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXTS, Id
from counterpoint.dialects.call import Call
from counterpoint.dialects.continuing import list_resumable_work, next_call, present_left
from counterpoint.dialects.foundry.envelope import PHRASES, page, present
from counterpoint.dialects.foundry.models.specs import ROOT, Node
from counterpoint.dialects.foundry.models.tasks import (
    BatchResult,
    Beside,
    Blocker,
    Ended,
    Holder,
    PhaseLine,
    Prepared,
    Waits,
)
from counterpoint.dialects.foundry.nodes.queries import Naming
from counterpoint.dialects.foundry.nodes.rules.progress import document_node
from counterpoint.dialects.foundry.tasks.listing import Listing
from counterpoint.dialects.foundry.tasks.offering import Batches, Offering
from counterpoint.dialects.foundry.tasks.rules import (
    MAX_TASKS,
    TOKEN_BUDGET,
    auto_mode_hints,
    position_label,
)
from counterpoint.dialects.foundry.tools.shown import META, SAID
from counterpoint.dialects.foundry.words import (
    LONGEST,
    Cursor,
    Limit,
    NodeId,
    Parent,
    SpecId,
    Status,
    TaskId,
)
from counterpoint.dialects.lacking import unallowed_lines
from counterpoint.dialects.paging import PAGE, RESERVE, clip, pages_of, size_of
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import agree
from counterpoint.kernel.visible import json_text
from counterpoint.protocol.actions import action

ROOM: Final = PAGE - RESERVE - META
"""Bytes that the data of an answer may have."""
TITLE: Final = 300
_MOST_CHILDREN: Final = 50
_LETTERS: Final = (4_000, 1_500, 600, 250, 100, 40)
_ENTRIES: Final = (200, 50, 20, 10, 5, 3)


def fitted(value: Json, max_bytes: int) -> Json:
    """Return a value with long texts and lists cut, so far that it fits into so many bytes of JSON."""
    shortened = value
    for letters, entries in zip(_LETTERS, _ENTRIES, strict=True):
        if size_of(shortened) <= max_bytes:
            return shortened
        shortened = _cut(value, letters, entries)
    parts = object_of(shortened)
    while parts and size_of(parts) > max_bytes:
        largest = max(parts, key=lambda name: size_of(parts[name]))
        parts = {name: part for name, part in parts.items() if name != largest}
    return parts or shortened


def previewed(*, dry_run: bool) -> dict[str, Json]:
    """Return what the answer of a call that only previews says of it."""
    return {"message": "Only a preview: nothing was changed"} if dry_run else {}


def _cut(value: Json, letters: int, entries: int) -> Json:
    if isinstance(value, str):
        return clip(value, letters)
    if isinstance(value, list):
        return [_cut(part, letters, entries) for part in cast("list[Json]", value)[:entries]]
    if isinstance(value, dict):
        parts = cast("dict[str, Json]", value)
        return {name: _cut(part, letters, entries) for name, part in parts.items()}
    return value


def present_node(node: Node, max_bytes: int) -> dict[str, Json]:
    """Return a node as its document holds it, cut to so many bytes."""
    whole = document_node(node)
    whole["children"] = list(node.children[:_MOST_CHILDREN])
    if len(node.children) > _MOST_CHILDREN:
        whole["children_total"] = len(node.children)
    return cast("dict[str, Json]", fitted(whole, max_bytes))


def node_line(node: Node, max_bytes: int) -> dict[str, Json]:
    """Return what of a node is handed out with it."""
    return {
        "task_id": node.id,
        "title": clip(node.item.title, TITLE),
        "type": node.type,
        "status": node.status,
        "metadata": fitted(dict(node.metadata), max_bytes),
    }


def present_beside(beside: Beside) -> dict[str, Json]:
    """Return a node as others name it."""
    return {
        "id": beside.id,
        "title": clip(beside.title, TITLE),
        "status": beside.status,
        "file": beside.file or None,
    }


def _besides(many: Iterable[Beside]) -> list[Json]:
    return [present_beside(node) for node in many]


def present_waits(waits: Waits) -> dict[str, Json]:
    """Return what a node waits for and what waits for it."""
    more: dict[str, Json] = {"blocks_more": waits.more} if waits.more else {}
    reasons: dict[str, Json] = {"reasons": list(waits.reasons)} if waits.reasons else {}
    return {
        "task_id": waits.id,
        "can_start": waits.can_start,
        "blocked_by": _besides(waits.blocked_by),
        "soft_depends": _besides(waits.depends),
        "blocks": _besides(waits.blocks),
        **more,
        **reasons,
    }


def present_prepared(prepared: Prepared) -> dict[str, Json]:
    """Return a node with all that lies around it, in one answer."""
    node, waits, around = prepared.offered.node, prepared.waits, prepared.around
    if node is None or waits is None or around is None:
        return {"spec_complete": prepared.offered.is_complete, "message": prepared.offered.message}
    types = [node.type for node in around.nearest]
    before: Json = present_beside(around.before) if around.before else None
    context: dict[str, Json] = {
        "previous_sibling": before,
        "parent_task": {
            **_holder(around.parent),
            "position_label": position_label(around.place, around.siblings),
            "children": [
                {"id": node.id, "title": clip(node.title, 120), "status": node.status}
                for node in around.nearest
            ],
            "children_total": around.siblings,
        },
        "phase": present_phase(prepared),
        "task_journal": {
            "entry_count": around.entries,
            "entries": [
                {
                    "timestamp": entry.timestamp,
                    "entry_type": entry.entry_type,
                    "title": clip(entry.title, TITLE),
                    "content": clip(entry.content, TITLE),
                    "author": entry.author,
                }
                for entry in around.journal
            ],
        },
    }
    about: dict[str, Json] = {
        "task_id": node.id,
        "dependencies": fitted(present_waits(waits), 2_500),
        "spec_complete": False,
        "context": context,
        "auto_mode_hints": auto_mode_hints(node.metadata, types),
    }
    return {**about, "task_data": present_node(node, ROOM - size_of(about) - 20)}


def present_phase(prepared: Prepared) -> Json:
    """Return the phase of a node that was prepared; None without one."""
    around = prepared.around
    if around is None or around.phase is None:
        return None
    phase = around.phase
    return {
        "id": phase.id,
        "title": clip(phase.title, TITLE),
        "status": phase.status,
        "sequence_index": around.phase_place,
        "completed_tasks": phase.tally.completed,
        "total_tasks": phase.tally.total,
        "percentage": phase.tally.percentage,
        "summary": clip(phase.description, TITLE) or None,
        "blockers": [clip(words, TITLE) for words in around.blocked],
    }


def _holder(holder: Holder) -> dict[str, Json]:
    return {
        "id": holder.id,
        "title": clip(holder.title, TITLE),
        "type": holder.type,
        "status": holder.status,
        "description": clip(holder.description, TITLE) or None,
        "completed_tasks": holder.tally.completed,
        "total_tasks": holder.tally.total,
        "remaining_tasks": holder.tally.total - holder.tally.completed,
    }


def present_blocker(blocker: Blocker) -> Json:
    """Return what blocks a node."""
    return {
        "task_id": blocker.id,
        "title": clip(blocker.title, TITLE),
        "blocker_type": blocker.type,
        "blocker_description": clip(blocker.description, SAID),
        "blocked_at": blocker.at,
        "ticket": blocker.ticket or None,
    }


def shown_values(values: Mapping[str, Json], max_bytes: int) -> Json:
    """Return values of a node, cut to so many bytes."""
    return fitted(dict(values), max_bytes)


StatusFilter = Annotated[Status | None, Field(description="Only this status")]
_CHILDREN: Final = 50
_WHOLE: Final = 3_000


@action(reads=True)
def prepare(call: Call, spec_id: SpecId, task_id: TaskId = "") -> Json:
    """A task, or the next, with its context."""
    with call.core.one_moment():
        prepared = call.core.use(Offering).prepare(spec_id, task_id)
        continued = {} if task_id else _continued(call)
    return present(
        {**continued, **present_prepared(prepared)},
        warnings=unallowed_lines(prepared.offered.lacking),
    )


@action(reads=True, name="next", plain=True)
def next_(call: Call, spec_id: SpecId) -> Json:
    """The next node to take up."""
    with call.core.one_moment():
        offered = call.core.use(Offering).next(spec_id)
        continued = _continued(call)
    if offered.node is None:
        fields: dict[str, Json] = {
            "found": False,
            "spec_complete": offered.is_complete,
            "message": offered.message,
        }
        return present({"spec_id": offered.spec, **continued, **fields})
    bytes_left = ROOM - size_of(continued)
    return present(
        {
            "spec_id": offered.spec,
            **continued,
            "found": True,
            **node_line(offered.node, bytes_left - 600),
        },
        warnings=unallowed_lines(offered.lacking),
    )


def _continued(call: Call) -> dict[str, Json]:
    """Return what the caller holds or left, to go on with before all else."""
    naming = call.core.use(Naming)

    def shown(begun: Continuation) -> list[dict[str, Json]]:
        held_names = naming.names([live.item for live in begun.held])
        return [
            {
                "spec_id": spec,
                "task_id": task,
                "title": clip(title, TITLE),
                "left": present_left(begun.left),
                "next": next_call("task", action="complete", spec_id=spec, task_id=task),
            }
            for spec, task, title in held_names
        ]

    return list_resumable_work(call, "tasks", shown, PHRASES)


@action(reads=True, name="info", plain=True)
def node(call: Call, spec_id: SpecId, task_id: TaskId, cursor: Cursor = "") -> Json:
    """One node, whole."""
    spec, node = call.core.use(Listing).get(spec_id, task_id)
    whole = document_node(node)
    about: dict[str, Json] = {"spec_id": spec, "task_id": node.id}
    if size_of(whole) <= ROOM - size_of(about) and not cursor:
        return present({**about, "task": whole})
    # What does not fit goes on as the text of its JSON.
    pages = pages_of(call, cursor, "task info", spec_id, task_id, first=0)
    fields = present_node(node, _WHOLE)
    text, further = pages.text(json_text(whole), PAGE - 2 * META - 600 - size_of(fields))
    return present({**about, "task": fields, "content": text}, pagination=page(further, len(text)))


@action(reads=True, plain=True)
def check_deps(call: Call, spec_id: SpecId, task_id: TaskId) -> Json:
    """What a node waits for."""
    waits = call.core.use(Offering).waits(spec_id, task_id)
    fields = fitted(present_waits(waits), ROOM - 100)
    return present({**fields, "spec_id": waits.spec} if isinstance(fields, dict) else {})


@action(reads=True, plain=True)
def list_blocked(call: Call, spec_id: SpecId) -> Json:
    """What is blocked, and why."""
    spec, blockers = call.core.use(Listing).blocked(spec_id)
    lines: list[Json] = []
    bytes_left = ROOM - 100
    for blocker in blockers:
        lines.append(present_blocker(blocker))
        bytes_left -= size_of(lines[-1]) + 1
        if bytes_left < 0:
            lines.pop()
            break
    omitted = len(blockers) - len(lines)
    warnings = [f"{omitted} more are blocked."] if omitted else []
    return present(
        {"spec_id": spec, "count": len(blockers), "blocked_tasks": lines}, warnings=warnings
    )


@action(reads=True, plain=True)
def progress(
    call: Call,
    spec_id: SpecId,
    node_id: Annotated[NodeId, Field(description="Whose progress")] = ROOT,
    *,
    include_phases: Annotated[bool, Field(description="With each phase")] = True,
) -> Json:
    """How far a node is."""
    progress = call.core.use(Listing).progress(spec_id, node_id, phases=include_phases)
    tally, current = progress.tally, progress.current
    data: dict[str, Json] = {
        "node_id": progress.id,
        "spec_id": progress.spec,
        "title": clip(progress.title, TITLE),
        "type": progress.type,
        "status": progress.status,
        "total_tasks": tally.total,
        "completed_tasks": tally.completed,
        "percentage": tally.percentage,
        "remaining_tasks": tally.total - tally.completed,
        "current_phase": {
            "id": current.id,
            "title": clip(current.title, TITLE),
            "completed": current.tally.completed,
            "total": current.tally.total,
        }
        if current
        else None,
    }
    if not include_phases:
        return present(data)
    bytes_left = ROOM - size_of(data)
    phases: list[Json] = [_line(phase, phase.title) for phase in progress.phases]
    if size_of(phases) > bytes_left:
        each = bytes_left // len(phases) - 130
        phases = [_line(phase, clip(phase.title, max(each, 12))) for phase in progress.phases]
    fitting = fitted({"phases": phases}, bytes_left)
    return present({**data, **(fitting if isinstance(fitting, dict) else {})})


def _line(phase: PhaseLine, title: str) -> Json:
    return {
        "id": phase.id,
        "title": title,
        "status": phase.status,
        "completed_tasks": phase.tally.completed,
        "total_tasks": phase.tally.total,
        "percentage": phase.tally.percentage,
    }


@action(reads=True, name="list", plain=True)
def list_(
    call: Call,
    spec_id: SpecId,
    status_filter: StatusFilter = None,
    cursor: Cursor = "",
    limit: Limit = 25,
    *,
    include_completed: Annotated[bool, Field(description="Also those done")] = True,
) -> Json:
    """Tasks in their order."""
    pages = pages_of(call, cursor, "task list", spec_id, status_filter, include_completed, first="")
    node_page = call.core.use(Listing).tasks(
        spec_id, str(pages.at), limit, status=status_filter or "", completed=include_completed
    )
    lines, further = pages.rows(
        node_page.nodes, limit, _listed, lambda node: node.item.id, PAGE - META
    )
    further = further or (pages.cursor(node_page.after) if node_page.after else "")
    return present(
        {"spec_id": node_page.spec, "tasks": lines, "count": len(lines)},
        pagination=page(further, len(lines)),
    )


@action(reads=True)
def query(
    call: Call,
    spec_id: SpecId,
    status: Annotated[Status | None, Field(description="New one; query: only this")] = None,
    parent: Parent = "",
    cursor: Cursor = "",
    limit: Limit = 25,
) -> Json:
    """Those of a status or parent."""
    pages = pages_of(call, cursor, "task query", spec_id, status, parent, first="")
    node_page = call.core.use(Listing).tasks(
        spec_id, str(pages.at), limit, status=status or "", parent=parent
    )
    lines, further = pages.rows(
        node_page.nodes, limit, _queried, lambda node: node.item.id, PAGE - META
    )
    further = further or (pages.cursor(node_page.after) if node_page.after else "")
    return present(
        {"spec_id": node_page.spec, "tasks": lines, "count": len(lines)},
        pagination=page(further, len(lines)),
    )


@action(reads=True, plain=True)
def hierarchy(
    call: Call,
    spec_id: SpecId,
    max_depth: Annotated[int, Field(ge=0, le=10, description="Levels below the spec"), INTEGER] = 2,
    cursor: Cursor = "",
    limit: Limit = 100,
    *,
    include_metadata: Annotated[bool, Field(description="With metadata")] = False,
) -> Json:
    """The tree."""
    pages = pages_of(call, cursor, "task hierarchy", spec_id, max_depth, include_metadata, first="")
    node_page = call.core.use(Listing).hierarchy(spec_id, str(pages.at), limit, max_depth)
    rows, further = pages.rows(
        node_page.nodes,
        limit,
        lambda node: {node.id: _in_tree(node, with_metadata=include_metadata)},
        lambda node: node.item.id,
        PAGE - META,
    )
    further = further or (pages.cursor(node_page.after) if node_page.after else "")
    nodes: dict[str, Json] = {}
    for row in rows:
        nodes.update(object_of(row))
    return present(
        {
            "spec_id": node_page.spec,
            "hierarchy": nodes,
            "node_count": len(nodes),
            "total_nodes": node_page.total,
            "filters_applied": {"max_depth": max_depth, "include_metadata": include_metadata},
        },
        pagination=page(further, len(nodes), node_page.total),
    )


def _in_tree(node: Node, *, with_metadata: bool) -> Json:
    fields: dict[str, Json] = {
        "type": node.type,
        "title": clip(node.item.title, TITLE),
        "status": node.status,
        "children": list(node.children[:_CHILDREN]),
        "parent": node.parent or None,
    }
    if len(node.children) > _CHILDREN:
        fields["children_total"] = len(node.children)
    if with_metadata:
        fields["metadata"] = fitted(dict(node.metadata), 1_500)
    return fields


def _listed(node: Node) -> Json:
    return {
        "id": node.id,
        "title": clip(node.item.title, TITLE),
        "type": node.type,
        "status": node.status,
        "icon": None,
        "file_path": node.metadata.get("file_path"),
        "parent": node.parent or None,
    }


def _queried(node: Node) -> Json:
    return {
        "task_id": node.id,
        "title": clip(node.item.title, TITLE),
        "status": node.status,
        "type": node.type,
        "parent": node.parent or None,
    }


READING: Final = (
    prepare,
    next_,
    node,
    check_deps,
    progress,
    list_,
    query,
    hierarchy,
    list_blocked,
)
"""The actions, in the order of the list."""


_MANY: Final = 50
_GRAPH: Final = 2_000
"""Bytes of the graph beside the tasks."""

TaskIds = Annotated[list[Id], Field(min_length=1, max_length=_MANY, description="Node ids"), TEXTS]


class Completion(TypedDict):
    """How one task of a batch ended."""

    task_id: Id
    success: bool
    completion_note: NotRequired[Annotated[str, Field(max_length=LONGEST)]]


Completions = Annotated[
    list[Completion],
    Field(
        min_length=1,
        max_length=_MANY,
        description="Each {task_id, success: boolean, completion_note?}",
    ),
    WithJsonSchema({"type": "array", "items": {"type": "object"}}),
]


@action(reads=True)
def prepare_batch(
    call: Call,
    spec_id: SpecId,
    max_tasks: Annotated[int, Field(ge=1, le=20, description="Most tasks"), INTEGER] = MAX_TASKS,
    token_budget: Annotated[
        int, Field(ge=1, le=10_000_000, description="Most tokens"), INTEGER
    ] = TOKEN_BUDGET,
) -> Json:
    """Tasks to do side by side."""
    batch = call.core.use(Offering).batch(spec_id, max_tasks, token_budget)
    graph = fitted(dict(batch.graph), _GRAPH)
    stale: list[Json] = [
        {"task_id": name, "title": clip(title, TITLE), "started_at": at}
        for name, title, at in batch.stale[:10]
    ]
    bytes_each = (ROOM - 2 * _GRAPH) // max(1, len(batch.prepared))
    return present(
        {
            "spec_id": batch.spec,
            "tasks": [_in_batch(prepared, bytes_each) for prepared in batch.prepared],
            "task_count": len(batch.prepared),
            "spec_complete": batch.is_complete,
            "all_blocked": batch.all_blocked,
            "stale_tasks": stale,
            "dependency_graph": graph,
            "token_estimate": batch.tokens,
        },
        warnings=[
            line
            for prepared in batch.prepared
            for line in unallowed_lines(prepared.offered.lacking, _name_of(prepared))
        ],
    )


def _name_of(prepared: Prepared) -> str:
    return prepared.offered.node.id if prepared.offered.node else ""


def _in_batch(prepared: Prepared, max_bytes: int) -> Json:
    node, waits, around = prepared.offered.node, prepared.waits, prepared.around
    if node is None or waits is None or around is None:
        return {}
    return fitted(
        {
            **node_line(node, max_bytes // 2),
            "dependencies": present_waits(waits),
            "phase": present_phase(prepared),
            "parent": {
                "id": around.parent.id,
                "title": clip(around.parent.title, TITLE),
                "position_label": position_label(around.place, around.siblings),
            },
        },
        max_bytes,
    )


@action(reads=False)
def start_batch(call: Call, spec_id: SpecId, task_ids: TaskIds) -> Json:
    """All of them or none."""
    started = call.core.use(Batches).start(spec_id, task_ids)
    return present(
        {
            "spec_id": started.spec,
            "started": list(started.started),
            "started_count": len(started.started),
            "started_at": started.at,
        },
        warnings=[
            line for name, lacks in started.lacking.items() for line in unallowed_lines(lacks, name)
        ],
    )


@action(reads=False, idempotent=False)
def complete_batch(call: Call, spec_id: SpecId, completions: Completions) -> Json:
    """Each by itself; what failed is pending again."""
    ended = [
        Ended(
            id=completion["task_id"],
            success=completion["success"],
            note=completion.get("completion_note", ""),
        )
        for completion in completions
    ]
    if len({task.id for task in ended}) < len(ended):
        raise InvalidInput("a task is named twice in `completions`")
    spec, results = call.core.use(Batches).complete(spec_id, ended)
    done = sum(outcome.status in {"completed", "in_progress"} for outcome in results)
    outcomes: dict[str, Json] = {outcome.id: _result(outcome) for outcome in results}
    return present(
        {
            "spec_id": spec,
            "results": fitted(outcomes, ROOM - 200),
            "completed_count": done,
            "failed_count": len(results) - done,
            "total_processed": len(results),
        }
    )


def _result(outcome: BatchResult) -> Json:
    if outcome.error:
        return {"status": "error", "error": clip(outcome.error, TITLE)}
    if outcome.failed_at:
        return {"status": "failed", "retry_count": outcome.retries, "failed_at": outcome.failed_at}
    return {"status": outcome.status, "completed_at": outcome.completed_at or None}


@action(reads=False)
def reset_batch(
    call: Call,
    spec_id: SpecId,
    task_ids: Annotated[TaskIds | None, Field(description="Node ids")] = None,
    threshold_hours: Annotated[
        float | None,
        Field(ge=0, le=10_000, description="Without task_ids: begun so long ago (1)"),
        NUMBER,
    ] = None,
) -> Json:
    """Stale ones, or task_ids, are pending again."""
    if task_ids and threshold_hours is not None:
        raise InvalidInput("give `task_ids` or `threshold_hours`, not both")
    reset = call.core.use(Batches).reset(spec_id, task_ids or (), threshold_hours)
    errors: Json = fitted(dict(reset.errors), ROOM // 2) if reset.errors else None
    count = len(reset.reset)
    return present(
        {
            "spec_id": reset.spec,
            "reset": list(reset.reset[:200]),
            "reset_count": count,
            "errors": errors,
            "message": f"{agree(count, 'task', 'is')} pending again"
            if count
            else "Nothing was to be reset",
        }
    )


BATCHES: Final = (prepare_batch, start_batch, complete_batch, reset_batch)
"""The actions, in the order of the list."""

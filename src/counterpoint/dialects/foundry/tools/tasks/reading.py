"""Looking at nodes: the actions of `task` that change nothing."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.model.answers import Continuation
from counterpoint.dialects.arguments import INTEGER
from counterpoint.dialects.call import Call
from counterpoint.dialects.continuing import next_call, offered, present_left
from counterpoint.dialects.foundry.envelope import PHRASES, page, present
from counterpoint.dialects.foundry.nouns.nodes import ROOT, Node
from counterpoint.dialects.foundry.nouns.tasks import PhaseLine
from counterpoint.dialects.foundry.rules.nodes import document_node
from counterpoint.dialects.foundry.tools.shown import META
from counterpoint.dialects.foundry.tools.tasks.shown import (
    ROOM,
    TITLE,
    fitted,
    node_line,
    present_blocker,
    present_node,
    present_prepared,
    present_waits,
)
from counterpoint.dialects.foundry.verbs.tasks.listing import Listing
from counterpoint.dialects.foundry.verbs.tasks.naming import Naming
from counterpoint.dialects.foundry.verbs.tasks.offering import Offering
from counterpoint.dialects.foundry.words import (
    Cursor,
    Limit,
    NodeId,
    Parent,
    SpecId,
    Status,
    TaskId,
)
from counterpoint.dialects.lacking import unallowed_lines
from counterpoint.dialects.paging import PAGE, clip, pages_of, size_of
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.visible import json_text
from counterpoint.protocol.actions import action

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

    return offered(call, "tasks", shown, PHRASES)


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

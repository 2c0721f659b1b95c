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
    found = call.core.use(Offering).prepare(spec_id, task_id)
    is_idle = found.offered.node is None
    continued = _continued(call, with_lost=is_idle) if not task_id else {}
    return present(
        {**continued, **present_prepared(found)}, warnings=unallowed_lines(found.offered.lacking)
    )


@action(reads=True, name="next", plain=True)
def next_(call: Call, spec_id: SpecId) -> Json:
    """The next node to take up."""
    found = call.core.use(Offering).next(spec_id)
    # What was lost is looked for where it is in question: the usual answer costs no more for it.
    continued = _continued(call, with_lost=found.node is None)
    if found.node is None:
        told: dict[str, Json] = {
            "found": False,
            "spec_complete": found.is_complete,
            "message": found.message,
        }
        return present({"spec_id": found.spec, **continued, **told})
    room = ROOM - size_of(continued)
    return present(
        {"spec_id": found.spec, **continued, "found": True, **node_line(found.node, room - 600)},
        warnings=unallowed_lines(found.lacking),
    )


def _continued(call: Call, *, with_lost: bool = True) -> dict[str, Json]:
    """Return what the caller holds or left, to go on with before all else."""
    named = call.core.use(Naming)

    def shown(begun: Continuation) -> list[dict[str, Json]]:
        held = named.names([live.item for live in begun.held])
        return [
            {
                "spec_id": spec,
                "task_id": task,
                "title": clip(title, TITLE),
                "left": present_left(begun.left),
                "next": next_call("task", action="complete", spec_id=spec, task_id=task),
            }
            for spec, task, title in held
        ]

    return offered(call, "tasks", shown, PHRASES, with_lost=with_lost)


@action(reads=True, name="info", plain=True)
def node(call: Call, spec_id: SpecId, task_id: TaskId, cursor: Cursor = "") -> Json:
    """One node, whole."""
    spec, found = call.core.use(Listing).get(spec_id, task_id)
    whole = document_node(found)
    about: dict[str, Json] = {"spec_id": spec, "task_id": found.id}
    if size_of(whole) <= ROOM - size_of(about) and not cursor:
        return present({**about, "task": whole})
    # What does not fit goes on as the text of its JSON.
    pages = pages_of(call, cursor, "task info", spec_id, task_id, first=0)
    shown = present_node(found, _WHOLE)
    text, further = pages.text(json_text(whole), PAGE - 2 * META - 600 - size_of(shown))
    return present({**about, "task": shown, "content": text}, pagination=page(further, len(text)))


@action(reads=True, plain=True)
def check_deps(call: Call, spec_id: SpecId, task_id: TaskId) -> Json:
    """What a node waits for."""
    waits = call.core.use(Offering).waits(spec_id, task_id)
    found = fitted(present_waits(waits), ROOM - 100)
    return present({**found, "spec_id": waits.spec} if isinstance(found, dict) else {})


@action(reads=True, plain=True)
def list_blocked(call: Call, spec_id: SpecId) -> Json:
    """What is blocked, and why."""
    spec, found = call.core.use(Listing).blocked(spec_id)
    shown: list[Json] = []
    room = ROOM - 100
    for one in found:
        shown.append(present_blocker(one))
        room -= size_of(shown[-1]) + 1
        if room < 0:
            shown.pop()
            break
    left = len(found) - len(shown)
    warnings = [f"{left} more are blocked."] if left else []
    return present(
        {"spec_id": spec, "count": len(found), "blocked_tasks": shown}, warnings=warnings
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
    found = call.core.use(Listing).progress(spec_id, node_id, phases=include_phases)
    tally, current = found.tally, found.current
    data: dict[str, Json] = {
        "node_id": found.id,
        "spec_id": found.spec,
        "title": clip(found.title, TITLE),
        "type": found.type,
        "status": found.status,
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
    room = ROOM - size_of(data)
    phases: list[Json] = [_line(phase, phase.title) for phase in found.phases]
    if size_of(phases) > room:
        each = room // len(phases) - 130
        phases = [_line(phase, clip(phase.title, max(each, 12))) for phase in found.phases]
    kept = fitted({"phases": phases}, room)
    return present({**data, **(kept if isinstance(kept, dict) else {})})


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
    found = call.core.use(Listing).tasks(
        spec_id, str(pages.at), limit, status=status_filter or "", completed=include_completed
    )
    shown, further = pages.rows(found.nodes, limit, _listed, lambda node: node.item.id, PAGE - META)
    further = further or (pages.cursor(found.after) if found.after else "")
    return present(
        {"spec_id": found.spec, "tasks": shown, "count": len(shown)},
        pagination=page(further, len(shown)),
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
    found = call.core.use(Listing).tasks(
        spec_id, str(pages.at), limit, status=status or "", parent=parent
    )
    shown, further = pages.rows(
        found.nodes, limit, _queried, lambda node: node.item.id, PAGE - META
    )
    further = further or (pages.cursor(found.after) if found.after else "")
    return present(
        {"spec_id": found.spec, "tasks": shown, "count": len(shown)},
        pagination=page(further, len(shown)),
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
    found = call.core.use(Listing).hierarchy(spec_id, str(pages.at), limit, max_depth)
    rows, further = pages.rows(
        found.nodes,
        limit,
        lambda node: {node.id: _in_tree(node, with_metadata=include_metadata)},
        lambda node: node.item.id,
        PAGE - META,
    )
    further = further or (pages.cursor(found.after) if found.after else "")
    nodes: dict[str, Json] = {}
    for row in rows:
        nodes.update(object_of(row))
    return present(
        {
            "spec_id": found.spec,
            "hierarchy": nodes,
            "node_count": len(nodes),
            "total_nodes": found.total,
            "filters_applied": {"max_depth": max_depth, "include_metadata": include_metadata},
        },
        pagination=page(further, len(nodes), found.total),
    )


def _in_tree(node: Node, *, with_metadata: bool) -> Json:
    shown: dict[str, Json] = {
        "type": node.type,
        "title": clip(node.item.title, TITLE),
        "status": node.status,
        "children": list(node.children[:_CHILDREN]),
        "parent": node.parent or None,
    }
    if len(node.children) > _CHILDREN:
        shown["children_total"] = len(node.children)
    if with_metadata:
        shown["metadata"] = fitted(dict(node.metadata), 1_500)
    return shown


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

"""Several nodes in one call: prepared, started, completed, reset."""

from __future__ import annotations

from typing import Annotated, Final, NotRequired

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXTS, Id
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.nouns.tasks import BatchResult, Ended, Prepared
from counterpoint.dialects.foundry.rules.working.batching import MAX_TASKS, TOKEN_BUDGET
from counterpoint.dialects.foundry.rules.working.hints import position_label
from counterpoint.dialects.foundry.tools.tasks.shown import (
    ROOM,
    TITLE,
    fitted,
    node_line,
    present_phase,
    present_waits,
)
from counterpoint.dialects.foundry.verbs.tasks.batches import Batches
from counterpoint.dialects.foundry.verbs.tasks.offering import Offering
from counterpoint.dialects.foundry.words import LONGEST, SpecId
from counterpoint.dialects.lacking import unallowed_lines
from counterpoint.dialects.paging import clip
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.actions import action

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
    found = call.core.use(Offering).batch(spec_id, max_tasks, token_budget)
    graph = fitted(dict(found.graph), _GRAPH)
    stale: list[Json] = [
        {"task_id": name, "title": clip(title, TITLE), "started_at": at}
        for name, title, at in found.stale[:10]
    ]
    room = (ROOM - 2 * _GRAPH) // max(1, len(found.prepared))
    return present(
        {
            "spec_id": found.spec,
            "tasks": [_in_batch(one, room) for one in found.prepared],
            "task_count": len(found.prepared),
            "spec_complete": found.is_complete,
            "all_blocked": found.all_blocked,
            "stale_tasks": stale,
            "dependency_graph": graph,
            "token_estimate": found.tokens,
        },
        warnings=[
            line
            for one in found.prepared
            for line in unallowed_lines(one.offered.lacking, _name_of(one))
        ],
    )


def _name_of(prepared: Prepared) -> str:
    return prepared.offered.node.id if prepared.offered.node else ""


def _in_batch(one: Prepared, room: int) -> Json:
    node, waits, around = one.offered.node, one.waits, one.around
    if node is None or waits is None or around is None:
        return {}
    return fitted(
        {
            **node_line(node, room // 2),
            "dependencies": present_waits(waits),
            "phase": present_phase(one),
            "parent": {
                "id": around.parent.id,
                "title": clip(around.parent.title, TITLE),
                "position_label": position_label(around.place, around.siblings),
            },
        },
        room,
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
        Ended(id=one["task_id"], success=one["success"], note=one.get("completion_note", ""))
        for one in completions
    ]
    if len({one.id for one in ended}) < len(ended):
        raise InvalidInput("a task is named twice in `completions`")
    spec, results = call.core.use(Batches).complete(spec_id, ended)
    done = sum(one.status in {"completed", "in_progress"} for one in results)
    shown: dict[str, Json] = {one.id: _result(one) for one in results}
    return present(
        {
            "spec_id": spec,
            "results": fitted(shown, ROOM - 200),
            "completed_count": done,
            "failed_count": len(results) - done,
            "total_processed": len(results),
        }
    )


def _result(one: BatchResult) -> Json:
    if one.error:
        return {"status": "error", "error": clip(one.error, TITLE)}
    if one.failed_at:
        return {"status": "failed", "retry_count": one.retries, "failed_at": one.failed_at}
    return {"status": one.status, "completed_at": one.completed_at or None}


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
    found = call.core.use(Batches).reset(spec_id, task_ids or (), threshold_hours)
    errors: Json = fitted(dict(found.errors), ROOM // 2) if found.errors else None
    count = len(found.reset)
    return present(
        {
            "spec_id": found.spec,
            "reset": list(found.reset[:200]),
            "reset_count": count,
            "errors": errors,
            "message": f"{count} tasks are pending again" if count else "Nothing was to be reset",
        }
    )


BATCHES: Final = (prepare_batch, start_batch, complete_batch, reset_batch)
"""The actions, in the order of the list."""

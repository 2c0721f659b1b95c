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
from counterpoint.kernel.plurals import agree
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

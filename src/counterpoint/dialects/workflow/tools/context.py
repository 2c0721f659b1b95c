"""The tool `get_context`: a workflow in lists that go on at a cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final, cast

from pydantic import Field

from counterpoint.core.model.answers import Continuation
from counterpoint.core.model.filters import ItemFilter
from counterpoint.core.model.journal import RecordKind
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.continuing import list_resumable_work, next_call, present_left
from counterpoint.dialects.lacking import checks_at
from counterpoint.dialects.paging import (
    PAGE,
    RESERVE,
    Part,
    clip,
    fit_parts,
    pages_of,
    size_of,
    sparse,
)
from counterpoint.dialects.whole import present_written
from counterpoint.dialects.workflow.envelope import PHRASES
from counterpoint.dialects.workflow.tools.parts import find_part
from counterpoint.dialects.workflow.verbs.queries import WorkflowQueries
from counterpoint.dialects.workflow.words import (
    Cursor,
    Filter,
    Id,
    Include,
    present_log_line,
    present_part,
    present_phase_line,
    present_task_line,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import moment, stamp
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import tool

_LOGS: Final[dict[str, RecordKind]] = {
    "decisions": "decision",
    "milestones": "milestone",
    "blockers": "blocker",
}


_NAMED: Final = 200


@tool(reads=True)
def get_context(
    call: Call,
    workflow_id: Annotated[Id, Field(description="From `start_workflow`")],
    include: Annotated[
        tuple[Include, ...], Field(max_length=5, description="What to list; none: read an id whole")
    ],
    filter: Annotated[  # noqa: A002 -- the seed's name
        Filter | None, Field(description="Only these tasks and their logs")
    ] = None,
    limit: Annotated[int, Field(ge=1, le=200, description="Most entries of a list")] = 50,
    cursor: Cursor = "",
) -> Json:
    """Read a workflow's state and memory: phases, tasks, decisions, milestones, blockers."""
    whole = None if include or filter else find_part(call, workflow_id)
    if whole is not None and whole.header.get("kind") != "workflow":
        return present_written(call, workflow_id, whole, cursor, "get_context")
    head, current, expected = call.core.use(WorkflowQueries).head(workflow_id)
    answer: dict[str, Json] = {
        **({} if cursor else list_held_tasks(call)),
        "workflow_id": workflow_id,
        "workflow_name": head.item.title,
        "workflow_status": present_part(head.item),
        "current_phase": current,
        "total_phases": expected,
        **({"filters_applied": dict(filter)} if filter else {}),
    }
    if whole is not None:
        page = present_written(call, workflow_id, whole, cursor, "get_context")
        return page if cursor else {**page, **answer}
    item_filter, warning = _parse(call, workflow_id, filter or {})
    if item_filter is None:
        empty: dict[str, Json] = {name: [] for name in include}
        for name in include:
            empty |= _count_field(name, 0)
        return {**answer, "warning": warning, **empty}
    narrowed = dict(filter or {})
    pages = pages_of(call, cursor, "get_context", workflow_id, sorted(include), narrowed, first={})
    places = cast("dict[str, Any]", pages.at)
    names = [name for name in dict.fromkeys(include) if not cursor or name in places]
    parts: dict[str, Part] = {}
    for name in names:
        start = places.get(name, 0)
        parts[name] = _part(call, name, item_filter, start, limit)
        answer |= _counts(call, name, item_filter)
    max_bytes = PAGE - RESERVE - size_of(answer) - size_of(DATA)
    contents, next_starts = fit_parts(parts, max_bytes) if parts else ({}, {})
    lists = {name: contents.get(name, []) for name in names}
    return {
        **answer,
        **lists,
        **sparse(next_cursor=pages.cursor(next_starts or None)),
        **({"note": DATA} if any(lists.values()) else {}),
    }


def list_held_tasks(call: Call) -> dict[str, Json]:
    """Return the tasks that the caller has started, or left, and not completed, to stand first."""

    def describe_held(continuation: Continuation) -> Iterator[dict[str, Json]]:
        for live in continuation.held:
            root = call.core.items.get(live.item.root)
            if root.kind == "workflow":
                yield {
                    "task_id": live.item.id,
                    "workflow_id": root.id,
                    "name": clip(live.item.title, _NAMED),
                    "agent_name": live.item.assignee or None,
                    "started_at": live.claim.claimed_at,
                    **sparse(left=present_left(continuation.left)),
                    "next_call": next_call(
                        "complete_task",
                        task_id=live.item.id,
                        status="…",
                        outcome={"summary": "…"},
                    ),
                }

    return list_resumable_work(call, "tasks", describe_held, PHRASES)


def _parse(call: Call, workflow: str, fields: Filter) -> tuple[ItemFilter | None, str]:
    """Return the filter in the core's words; None, and why, for a phase that is not there."""
    phase = ""
    if "phase" in fields:
        item = call.core.use(WorkflowQueries).phase_numbered(workflow, fields["phase"])
        if item is None:
            return None, f"there is no phase {fields['phase']} in this workflow"
        phase = item.id
    return ItemFilter(
        root=workflow,
        parent=phase,
        assignee=fields.get("agent", ""),
        since=_parse_time(fields.get("since", "")),
    ), ""


def _parse_time(text: str) -> str:
    """Return a moment as the core writes it; without a zone it is one in UTC."""
    if not text:
        return ""
    try:
        when = moment(text)
        return stamp(when) if when.tzinfo else stamp(moment(f"{text}+00:00"))
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"filter.since is {text!r}, which is no ISO-8601 time",
            hint="Write it like 2026-01-31T12:00:00Z.",
        ) from None


def _part(call: Call, name: str, item_filter: ItemFilter, start: int, limit: int) -> Part:
    """Return one list from a place on, of which one more entry than the limit is looked for."""
    context = call.core.use(WorkflowQueries)
    if name == "phase_summary":
        phases = context.phases(item_filter, start, limit + 1)
        checks = checks_at(call.core, [line.item for line in phases[:limit]])
        return _listed(
            phases,
            limit,
            lambda line: present_phase_line(line) | checks.get(line.item.id, {}),
            lambda line: line.item.number,
            start,
        )
    if name == "tasks":
        tasks = context.tasks(item_filter, start, limit + 1)
        checks = checks_at(call.core, [line.view.item for line in tasks[:limit]])
        return _listed(
            tasks,
            limit,
            lambda line: present_task_line(line) | checks.get(line.view.item.id, {}),
            lambda line: line.view.item.number,
            start,
        )
    lines = context.log(_LOGS[name], item_filter, start, limit + 1, **_open(name))
    return _listed(
        lines, limit, lambda entry: present_log_line(*entry), lambda entry: entry[0].number, start
    )


def _open(name: str) -> dict[str, str]:
    """Return what more is asked of a list: blockers that are resolved block no more."""
    return {"status": "open"} if name == "blockers" else {}


def _listed(
    lines: Sequence[Any],
    limit: int,
    present: Callable[[Any], dict[str, Json]],
    number: Callable[[Any], int],
    start: int,
) -> Part:
    chosen = lines[:limit]
    return Part(
        content=[present(line) for line in chosen],
        start=start,
        places=[number(line) for line in chosen],
        more=len(lines) > limit,
    )


def _counts(call: Call, name: str, item_filter: ItemFilter) -> dict[str, Json]:
    """Return how many there are in all, whatever fits on the page."""
    if name == "phase_summary":
        return {}
    if name == "tasks":
        return _count_field(name, call.core.use(WorkflowQueries).count_tasks(item_filter))
    return _count_field(
        name, call.core.use(WorkflowQueries).count_log(_LOGS[name], item_filter, **_open(name))
    )


def _count_field(name: str, count: int) -> dict[str, Json]:
    """Return what says of a list how many there are."""
    if name == "phase_summary":
        return {}
    return {f"{name}_count": count, **({"has_blockers": count > 0} if name == "blockers" else {})}

"""Several nodes at once: started all or none, ended one by one, reset."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final, cast

from counterpoint.core.model.filters import Report
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import WORKABLE, Area, Item
from counterpoint.core.operations.claims import Claims
from counterpoint.core.operations.closing.standing import held_in, refuse_other, walk
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import attributes_of, set_attributes
from counterpoint.core.operations.recording.unit import joined, recording, resumed
from counterpoint.core.operations.tasks import Tasks
from counterpoint.core.rules.areas import overlapping
from counterpoint.dialects.foundry.nouns.tasks import (
    FAILED_AT,
    FAILURE,
    RETRIES,
    BatchResult,
    Ended,
    ResetBatch,
    StartedBatch,
)
from counterpoint.dialects.foundry.rules.working.waiting import is_stale
from counterpoint.dialects.foundry.verbs.lifecycle import keep_pending
from counterpoint.dialects.foundry.verbs.queries import Nodes, get_spec
from counterpoint.dialects.foundry.verbs.tasks.moving import (
    Moving,
    note_start,
    refuse_no_task,
    refuse_unready,
    state_text,
    type_in,
)
from counterpoint.dialects.foundry.verbs.tasks.naming import in_words
from counterpoint.dialects.foundry.verbs.unallowed import lacking_of_node
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, CounterpointError

HOURS: Final = 1.0
"""Hours after which work that was begun counts as stale, by default."""


class Batches:
    """Verbs for several nodes of one spec."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def start(self, spec: str, tasks: Sequence[str]) -> StartedBatch:
        """Start several nodes for the caller, all of them or none.

        Raises NotFound for the spec, Conflict with the obstacles of each.
        """
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            errors = _find_obstacles(nodes, tasks)
        if errors:
            raise _refuse_batch(errors)
        # One snapshot for all, before anything is written.
        snapshot = self._context.ports.evidence.snapshot(self._context.caller.root)
        with joined(self._context):
            started: list[str] = []
            at = ""
            lacking: dict[str, Lacking] = {}
            for task in dict.fromkeys(tasks):
                with self._context.reading() as view:
                    nodes = Nodes(view, get_spec(view, spec))
                    item = nodes.get(task)
                    name = nodes.id(item.id)
                    context = held_in(self._context, view, item.id)
                    lacks = lacking_of_node(self._context, view, item.id, type_in(view, item))
                    if lacks is not None:
                        lacking[name] = lacks
                try:
                    claim = Claims(context).start(item.id, snapshot=snapshot).claim
                except CounterpointError as fault:
                    with self._context.reading() as view:
                        message = in_words(Nodes(view, nodes.root), fault).message
                    raise _refuse_batch({name: message}) from fault
                with resumed(context, item.id) or recording(
                    context, "task.noted", item.id
                ) as change:
                    note_start(change, item, str(claim.claimed_at))
                    keep_pending(change, nodes.root)
                    at = at or str(change.now)
                started.append(name)
            return StartedBatch(spec=nodes.spec, started=tuple(started), at=at, lacking=lacking)

    def complete(self, spec: str, ended: Sequence[Ended]) -> tuple[str, list[BatchResult]]:
        """End several nodes, each by itself; a failed one is pending again, and its attempts are counted.

        The id of the spec comes first; NotFound for the spec.
        """
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
        return nodes.spec, [self._end_task(nodes, task) for task in ended]

    def reset(self, spec: str, tasks: Sequence[str] = (), hours: float | None = None) -> ResetBatch:
        """Set nodes in progress back to pending: those named, or those begun longer ago than so many hours.

        Nodes that others hold stay theirs, and are reported. NotFound for the spec.
        """
        now = self._context.ports.clock.now()
        reset: list[str] = []
        errors: dict[str, str] = {}
        with recording(self._context, "task.reset") as change:
            change.open_session()
            nodes = Nodes(change.writing, get_spec(change.writing, spec))
            change.subject = nodes.root.id
            for item in _list_begun(nodes, tasks, errors):
                name = nodes.id(item.id)
                claim = change.find(Claim, item.id)
                since = claim.claimed_at if claim else ""
                if not tasks and not is_stale(since, now, HOURS if hours is None else hours):
                    continue
                try:
                    refuse_other(change, item)
                except CounterpointError as fault:
                    errors[name] = in_words(nodes, fault).message
                    continue
                walk(change, change.get(Item, item.id), "open")
                reset.append(name)
            if reset:
                change.add_facts(reset=list[Json](reset[:50]))
        return ResetBatch(spec=nodes.spec, reset=tuple(reset), errors=errors)

    def _end_task(self, nodes: Nodes, ended: Ended) -> BatchResult:
        try:
            if ended.success:
                moving = Moving(self._context)
                done = moving.complete(nodes.spec, ended.id, ended.note, is_counted=False)
                return BatchResult(id=ended.id, status=done.status, completed_at=done.completed_at)
            return self._fail_task(nodes.spec, ended)
        except CounterpointError as fault:
            with self._context.reading() as view:
                message = in_words(Nodes(view, nodes.root), fault).message
            return BatchResult(id=ended.id, status="error", error=message)

    def _fail_task(self, spec: str, ended: Ended) -> BatchResult:
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            item = nodes.get(ended.id)
            refuse_no_task(nodes, item)
            if item.category not in {"open", "active"}:
                raise Conflict(f"{ended.id} is {state_text(item)}")
            session = held_in(self._context, view, item.id).caller.actor.session
            claim = view.find(Claim, item.id)
        with joined(self._context):
            own = self._context.caller.actor.session
            context = self._context if session == own else self._context.in_session(session)
            if claim is not None and claim.is_held_by(session):
                report = Report(outcome="partial", summary=ended.note or "It failed")
                Tasks(context).finish(item.id, claim.token, report)
            with recording(context, "task.failed", item.id) as change:
                change.open_session()
                now = change.get(Item, item.id)
                refuse_other(change, now)
                if now.category == "active":
                    now = walk(change, now, "open")
                failures = attributes_of(change.writing, item.id).get(RETRIES)
                retries = 1 + (failures if isinstance(failures, int) else 0)
                values: dict[str, Json] = {
                    RETRIES: retries,
                    FAILED_AT: str(change.now),
                    FAILURE: ended.note or None,
                }
                set_attributes(change, now, values)
                return BatchResult(
                    id=ended.id, status="failed", retries=retries, failed_at=str(change.now)
                )


def _list_begun(nodes: Nodes, tasks: Sequence[str], errors: dict[str, str]) -> list[Item]:
    """Return the named nodes that were begun, or all; the others are added to `errors`."""
    if not tasks:
        return nodes.view.select(
            Item, root=nodes.root.id, kind=WORKABLE, category="active", order="number"
        )
    items: list[Item] = []
    for task in dict.fromkeys(tasks):
        item = nodes.find(task)
        if item is None:
            errors[task] = f"the spec {nodes.spec} has no node {task!r}"
        elif not item.is_workable or item.category != "active":
            errors[task] = f"{task} is not in progress"
        else:
            items.append(item)
    return items


def _find_obstacles(nodes: Nodes, tasks: Sequence[str]) -> dict[str, str]:
    """Return why nodes cannot be started, alone or beside the others, by their ids."""
    errors: dict[str, str] = {}
    items: dict[str, Item] = {}
    for task in dict.fromkeys(tasks):
        try:
            item = nodes.get(task)
            refuse_unready(nodes, item)
            items[nodes.id(item.id)] = item
        except CounterpointError as fault:
            errors[task] = fault.message
    areas = {
        name: [area.pattern for area in nodes.view.select(Area, item=item.id)]
        for name, item in items.items()
    }
    for first, other in combinations(items, 2):
        shared = overlapping(areas[first], areas[other])
        if shared:
            errors[other] = f"{shared[0][1]} overlaps with {shared[0][0]} of {first}"
    return errors


def _refuse_batch(errors: dict[str, str]) -> Conflict:
    words = "; ".join(errors.values())
    return Conflict(
        f"none was started: {words}",
        hint="Leave these out, or start them later.",
        error_code="OPERATION_FAILED",
        errors=cast("dict[str, Json]", errors),
    )

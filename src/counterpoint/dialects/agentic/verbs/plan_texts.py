"""Briefs for the tasks of a plan, one for each, however often they are asked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from counterpoint.core.model.lifecycles import CLOSED
from counterpoint.core.model.work import TITLE_LIMIT, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.wording import first_line
from counterpoint.dialects.agentic.nouns.briefs import Brief, BriefRequest
from counterpoint.dialects.agentic.nouns.writing import WritingOrder
from counterpoint.dialects.agentic.verbs.briefs import Briefs
from counterpoint.dialects.agentic.verbs.ordering import Wish, find_under_key, queue
from counterpoint.dialects.agentic.verbs.queries import plan_named

_OPEN = frozenset({"open", "active"})


class PlanTexts:
    """Verbs for texts about plans."""

    def __init__(self, context: Context) -> None:
        self._context = replace(context, unit=None)

    def brief(self, plan: str, request: BriefRequest, wish: Wish, limit: int) -> list[str]:
        """Have texts written for tasks that are not completed, in phases that are open; return their briefs.

        request: what the briefs have in common, with their batch. limit: how many at most: what waits in the batch first, then tasks
        that have no brief in it. The same call under its idempotency key returns the same briefs. NotFound, KeyReused.
        """
        digest = wish.digest(plan=plan, batch=request.batch, words=str(request.target_word_count))
        with recording(self._context, "content.briefed") as change:
            change.open_session()
            item = plan_named(change.writing, plan)
            change.subject = item.id
            briefs = find_under_key(change, digest)
            if briefs:
                return briefs
            orders = change.select(WritingOrder, batch=request.batch)
            waiting = [order.brief for order in orders if not _is_held(change, order.brief)]
            tasks = _list_unbriefed(change, item, {order.task for order in orders})
            chosen = waiting[:limit]
            for task in tasks[: limit - len(chosen)]:
                title, more = (
                    first_line(task.title, TITLE_LIMIT),
                    {"item": item.id, "task": task.id},
                )
                task_request = replace(request, title=title, description=task.body, **more)
                chosen.append(Briefs(self._context).create(task_request).id)
            for brief in chosen:
                queue(change, brief, wish, digest)
            return chosen


def _is_held(change: Change, brief: str) -> bool:
    return change.get(Brief, brief).status in {"generating", "review", "published"}


def _list_unbriefed(change: Change, plan: Item, briefed: Collection[str]) -> list[Item]:
    """Return the open tasks in open phases of a plan that have no brief yet, in their order."""
    phases = change.select(Item, parent=plan.id, kind="phase", order="position,number")
    return [
        task
        for phase in phases
        if phase.category in _OPEN
        for task in change.select(Item, parent=phase.id, kind="task", order="position,number")
        if task.category not in CLOSED and task.id not in briefed
    ]

"""Briefs, and the texts of plans that become some."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import count
from typing import cast

from counterpoint.core.model.lifecycles import CLOSED
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import TITLE_LIMIT, Item
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Filter
from counterpoint.core.rules.wording import first_line
from counterpoint.dialects.agentic.nouns import (
    BRIEF,
    Brief,
    BriefFilter,
    BriefRequest,
    ContentType,
    Difficulty,
    WritingOrder,
)
from counterpoint.dialects.agentic.rules.briefs import PROMPT, refuse_faults, slug_of, when
from counterpoint.dialects.agentic.verbs.ordering import Wish, find_under_key, order_of, queue
from counterpoint.dialects.agentic.verbs.plans import plan_named
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Conflict, StaleVersion


class Briefs(Verbs):
    """Verbs for briefs."""

    def create(self, request: BriefRequest) -> Brief:
        """Make a brief; Conflict if its slug is taken, NotFound for its item, InvalidInput.

        Without a slug one is made from the title, with a number behind it if that is taken; for a prompt from a number alone.
        """
        refuse_faults(request)
        with recording(self._context, "brief.created") as change:
            change.open_session()
            if request.item:
                change.get(Item, request.item)
            number, its_id = change.next_id(Brief)
            brief = change.masked(draft_of(self._context, request, its_id, number, change.now))
            # A slug stays where words are taken away: of a prompt, whose title is its first line, it says nothing.
            slug_source = f"{PROMPT}-{number}" if request.content_type == PROMPT else brief.title
            brief = replace(brief, slug=_free_slug(change, request.slug, slug_source))
            change.put(brief)
            if request.batch or request.task:
                marks = {"batch": request.batch, "task": request.task}
                change.put(order_of(self._context, brief.id, change.now, **marks))
            change.subject = brief.id
            change.add_facts(brief=brief.id)
            return brief

    def get(self, name: str) -> Brief:
        """Return a brief by its id or its slug; NotFound."""
        with self._context.reading() as view:
            brief = view.find(Brief, name) or next(iter(view.select(Brief, slug=name)), None)
        if brief is None:
            raise missing(Brief, name)
        return brief

    def list(self, brief_filter: BriefFilter, after: int, limit: int) -> list[Brief]:
        """Return briefs, the latest first; with `after` those made before that number."""
        beyond = (after,) if after else ()
        with self._context.reading() as view:
            return view.select(
                Brief, order="number desc", after=beyond, limit=limit, **_filters(brief_filter)
            )

    def counts(self, brief_filter: BriefFilter) -> dict[str, int]:
        """Return how many briefs there are in each state, those without any among them."""
        with self._context.reading() as view:
            counts = view.counts(Brief, "status", **_filters(brief_filter))
        return {status: counts.get(status, 0) for status in BRIEF.categories}

    def move(
        self, brief: str, status: str, reason: str = "", expected_version: int | None = None
    ) -> Brief:
        """Bring a brief into another state; IllegalMove, NotFound, StaleVersion.

        A move to the state it is in changes nothing.
        """
        with recording(self._context, "brief.moved", brief) as change:
            change.open_session()
            stored = change.get(Brief, brief)
            if expected_version not in {None, stored.version}:
                raise StaleVersion(
                    f"{brief} is at version {stored.version}, not {expected_version}",
                    version=stored.version,
                )
            if stored.status == status:
                return stored
            after = change.masked(stored.moved(status, change.now, reason))
            change.put(after)
            change.add_facts(moved=[stored.status, status])
            return after


def draft_of(
    context: Context, request: BriefRequest, its_id: str, number: int, now: Timestamp
) -> Brief:
    """Return a brief of what somebody asks for, as it is before anybody writes it."""
    variables = canonical.dump_any(dict(request.variables)) if request.variables else ""
    return Brief(
        project=context.project,
        id=its_id,
        number=number,
        slug=request.slug,
        title=Prose(request.title.strip()),
        description=Prose(request.description),
        content_type=cast("ContentType", request.content_type),
        service=request.service,
        keywords=tuple(dict.fromkeys(request.keywords)),
        category=request.category,
        difficulty=cast("Difficulty", request.difficulty),
        target_word_count=request.target_word_count,
        variables=Prose(variables),
        priority=request.priority,
        scheduled_for=when(request),
        status=BRIEF.first,
        reason=Prose(""),
        item=request.item,
        agent=context.caller.actor.name,
        version=1,
        created_at=now,
        updated_at=now,
    )


def _filters(brief_filter: BriefFilter) -> dict[str, Filter]:
    return {
        name: value
        for name in ("status", "content_type", "service", "category", "item")
        if (value := getattr(brief_filter, name))
    }


def _free_slug(change: Change, slug: str, title: str) -> str:
    """Return the wanted slug, or one of the title that is free; Conflict."""
    if slug:
        taken = change.select(Brief, slug=slug)
        if taken:
            raise Conflict(
                f"the slug {slug!r} is that of {taken[0].id} already",
                hint="Choose another slug, or leave it out.",
                brief=taken[0].id,
            )
        return slug
    stem = slug_of(title)
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(name for name in names if not change.writing.exists(Brief, slug=name))


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

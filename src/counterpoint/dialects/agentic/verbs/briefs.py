"""Commissioning texts: briefs made, looked at, moved along."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import cast

from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Filter
from counterpoint.dialects.agentic.nouns.briefs import (
    BRIEF,
    Brief,
    BriefFilter,
    BriefRequest,
    ContentType,
    Difficulty,
)
from counterpoint.dialects.agentic.rules.briefing import refuse_faults, slug_of, when
from counterpoint.dialects.agentic.rules.writing import PROMPT
from counterpoint.dialects.agentic.verbs.ordering import order_of
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Conflict, StaleVersion


class Briefs:
    """Verbs for briefs."""

    def __init__(self, context: Context) -> None:
        self._context = context

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

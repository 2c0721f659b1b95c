"""Plans with a name of their own: opened, looked at, listed, moved, put away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Final

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.work import Alias, Item, Label
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import kept_object, labels_of, set_attributes
from counterpoint.core.operations.recording.moves import move, refuse_closed_gates, touched
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.briefing import slug_of
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects.agentic.nouns.plans import (
    ARCHIVED,
    PAUSED,
    PRUNED,
    SLUG,
    PhaseView,
    PlanDetails,
    PlanFilter,
    PlanStanding,
    PlanView,
)
from counterpoint.dialects.agentic.rules.progress import plan_standing
from counterpoint.dialects.agentic.verbs.queries import PlanReader, plan_named
from counterpoint.dialects.agentic.verbs.steps import skip_below
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict

_CHUNK: Final = 100
_SUFFIX: Final = 6
_STATES: Final[dict[PlanStanding, str]] = {
    "backlog": "backlog",
    "paused": "backlog",
    "active": "open",
    "done": "done",
}


class Planning:
    """Verbs for plans."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def open(
        self, draft: Draft, slug: str = "", *, numbered: bool = False, start: bool = False
    ) -> PlanView:
        """Make a plan under a slug: the wanted one, or one of its title, which a number or chance ends.

        numbered: whether that is a number, if one is needed; nothing of a secret comes into a slug.
        start: whether it is offered at once; else its tasks are not ready before it is made active.
        Raises Conflict if the wanted slug is taken, and the refusals of `plans.create`.
        """
        with joined(self._context):
            with recording(self._context, "plan.named") as change:
                name = self._free(change.writing, slug, draft.title, numbered=numbered)
            phases = tuple(_declared(child) for child in draft.children)
            named = replace(
                draft,
                status="" if start else "backlog",
                aliases=(*draft.aliases, (SLUG, name)),
                children=phases,
            )
            made = Plans(self._context).create(named).root
            with self._context.reading() as view:
                return PlanReader.at(view).plan(made)

    def slug(self, draft: Draft, slug: str = "") -> str:
        """Return the slug that `open` would give, if it is numbered; Conflict if it is taken."""
        with self._context.reading() as view:
            return self._free(view, slug, draft.title, numbered=True)

    def _free(self, view: Reading, slug: str, title: str, *, numbered: bool) -> str:
        if slug:
            if view.find(Alias, SLUG, slug) is not None:
                raise Conflict(
                    f"there is a plan {slug!r} already",
                    hint="Choose another slug, or leave it out.",
                    slug=slug,
                )
            return slug
        stem = slug_of(mask(title, self._context.ports.secrets), "plan")
        if numbered:
            names = (stem if place == 0 else f"{stem}-{place}" for place in count())
            return next(name for name in names if view.find(Alias, SLUG, name) is None)
        mint = self._context.ports.mint
        random = (f"{stem}-{mint.mint('pln')[-_SUFFIX:]}" for _ in count())
        return next(name for name in random if view.find(Alias, SLUG, name) is None)

    def get(self, name: str) -> PlanDetails:
        """Return a plan by its slug or id; NotFound."""
        with self._context.reading() as view:
            return PlanReader.at(view).head(plan_named(view, name))

    def line(self, plan: str) -> PlanView | None:
        """Return the line of the plan of an id, or None if it is no plan."""
        with self._context.reading() as view:
            found = view.find(Item, plan)
            return PlanReader.at(view).plan(found) if found and found.kind == "plan" else None

    def phases(self, name: str, after: int = -1, limit: int = _CHUNK) -> list[PhaseView]:
        """Return the phases of a plan beyond a position; NotFound."""
        with self._context.reading() as view:
            return PlanReader.at(view).phases(plan_named(view, name), after, limit)

    def list(self, sought: PlanFilter, after: tuple[str, int] | None, limit: int) -> list[PlanView]:
        """Return plans, the one that changed last first, beyond a time and a number."""
        with self._context.reading() as view:
            return list(islice(_sought(view, sought, after), limit))

    def move(
        self, name: str, to: PlanStanding, reason: str = ""
    ) -> tuple[PlanView, tuple[str, ...]]:
        """Bring a plan to stand so; answer it with the titles of what was skipped with that.

        A plan that is completed by word skips what is open in it. The same again changes nothing.
        Raises NotFound, Conflict, GateClosed, AlreadyClaimed.
        """
        with recording(self._context, "plan.moved") as change:
            change.open_session()
            plan = change.get(Item, plan_named(change.writing, name).id)
            change.subject = plan.id
            labels = labels_of(change.writing, plan.id)
            before = plan_standing(plan, labels)
            skipped: list[str] = []
            if PRUNED in labels:
                raise Conflict(f"the plan {plan.title!r} was pruned", hint="Make another plan.")
            if before != to:
                change.add_facts(moved=[before, to])
                skipped = _move(change, plan, to, reason)
            return PlanReader.at(change.writing).plan(change.get(Item, plan.id)), tuple(skipped)

    def put_away(self, name: str) -> dict[str, Json]:
        """Return when and why a plan was archived; empty if it is not."""
        with self._context.reading() as view:
            return kept_object(view, plan_named(view, name).id, ARCHIVED)


def _move(change: Change, plan: Item, to: PlanStanding, reason: str) -> list[str]:
    """Move a plan whose standing differs."""
    _label(change, plan, ARCHIVED, there=to == ARCHIVED)
    _label(change, plan, PAUSED, there=to == "paused")
    if to == ARCHIVED:
        put_away: dict[str, Json] = {"at": change.now, **({"reason": reason} if reason else {})}
        set_attributes(change, plan, {ARCHIVED: put_away})
        if plan.is_closed:
            change.put(touched(change, plan))
            return []
        _walk(change, plan, "backlog")
        return []
    set_attributes(change, plan, {ARCHIVED: None})
    skipped = skip_below(change, plan) if to == "done" else []
    plan = change.get(Item, plan.id)
    if to == "done":
        refuse_closed_gates(change, plan.id)
    is_begun = to == "active" and plan.category == "active"
    _walk(change, plan, plan.status if is_begun else _STATES[to])
    return skipped


def _walk(change: Change, plan: Item, goal: str) -> None:
    way = plan.states.way(plan.status, goal)
    if not way:
        change.put(touched(change, plan))
    for state in way:
        plan = move(change, change.get(Item, plan.id), state)


def _label(change: Change, plan: Item, name: str, *, there: bool) -> None:
    known = change.find(Label, plan.id, name)
    if there and known is None:
        change.put(Label(project=plan.project, item=plan.id, name=name))
    elif not there and known is not None:
        change.drop(known)


def _sought(view: Reading, sought: PlanFilter, after: tuple[str, int] | None) -> Iterator[PlanView]:
    look = PlanReader.at(view)
    while True:
        found = view.select(
            Item, kind="plan", order="updated_at desc,number desc", after=after or (), limit=_CHUNK
        )
        for plan in found:
            labels = labels_of(view, plan.id)
            how = plan_standing(plan, labels)
            is_wanted = (
                how == sought.standing
                if sought.standing
                else (how != ARCHIVED or sought.with_archived)
            )
            if is_wanted and PRUNED not in labels:
                yield look.plan(plan)
        if len(found) < _CHUNK:
            return
        after = (found[-1].updated_at, found[-1].number)


def _declared(phase: Draft) -> Draft:
    """Return a phase that ends by word; the usual order of phases is that of the draft."""
    return (
        replace(phase, lifecycle=phase.lifecycle or "declared") if phase.kind == "phase" else phase
    )

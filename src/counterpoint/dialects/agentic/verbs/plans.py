"""Plans with a name of their own: opened, looked at, listed, moved, put away."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, islice
from typing import Final, Literal

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import ItemFilter
from counterpoint.core.model.work import Alias, Item
from counterpoint.core.operations.closing.standing import skip_below
from counterpoint.core.operations.overview import ItemReader
from counterpoint.core.operations.planning.staging import is_large
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import kept_object, relabel, set_attributes
from counterpoint.core.operations.recording.moves import move, touched
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.agentic.nouns.plans import (
    ARCHIVED,
    PAUSED,
    PRUNED,
    SLUG,
    PlanStanding,
)
from counterpoint.dialects.agentic.rules.progress import plan_standing
from counterpoint.dialects.agentic.verbs.queries import (
    PHASE,
    PLAN,
    parts_below,
    plan_named,
    plan_view,
)
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

    def open(self, draft: Draft, slug: str = "", *, start: bool = False) -> ItemView:
        """Make a plan under a slug: the wanted one, or one of chance that tells nothing of its title.

        A slug stays in the ledger where the title is taken away.
        start: whether it is offered at once; else its tasks are not ready before it is made active.
        Raises Conflict if the wanted slug is taken, and the refusals of `plans.create`.
        """
        with joined(self._context):
            with self._naming(draft) as view:
                name = self._free(view, slug)
            phases = tuple(_declared(child) for child in draft.children)
            named_draft = replace(
                draft,
                status="" if start else "backlog",
                aliases=(*draft.aliases, (SLUG, name)),
                children=phases,
            )
            item = Plans(self._context).create(named_draft).root
            with self._context.reading() as view:
                return plan_view(view, item)

    @contextmanager
    def _naming(self, draft: Draft) -> Generator[Reading]:
        """Give what a slug is looked for in: where nobody takes it first, but for a plan that is made in slices."""
        if is_large(draft):
            with self._context.reading() as view:
                yield view
            return
        with recording(self._context, "plan.named") as change:
            yield change.writing

    def refuse_taken(self, slug: str) -> None:
        """Raise Conflict if there is a plan of a slug."""
        with self._context.reading() as view:
            self._free(view, slug)

    def _free(self, view: Reading, slug: str) -> str:
        if slug:
            if view.find(Alias, SLUG, slug) is not None:
                raise Conflict(
                    f"there is a plan {slug!r} already",
                    hint="Choose another slug, or leave it out.",
                    slug=slug,
                )
            return slug
        mint = self._context.ports.mint
        random = (f"plan-{mint.mint('pln')[-_SUFFIX:]}" for _ in count())
        return next(name for name in random if view.find(Alias, SLUG, name) is None)

    def get(self, name: str) -> ItemView:
        """Return a plan by its slug or id, with what is kept with it; NotFound."""
        with self._context.reading() as view:
            return plan_view(view, plan_named(view, name), "attributes")

    def find(self, plan: str) -> ItemView | None:
        """Return the plan of an id, or None if it is no plan."""
        with self._context.reading() as view:
            item = view.find(Item, plan)
            return plan_view(view, item) if item and item.kind == "plan" else None

    def current(self, plan: str) -> int | None:
        """Return the order of the phase of a plan that somebody is at, or None."""
        with self._context.reading() as view:
            now = view.select(
                Item, parent=plan, kind="phase", category="active", order="position", limit=1
            )
        return now[0].position + 1 if now else None

    def phases(self, name: str, after: int = -1, limit: int = _CHUNK) -> list[ItemView]:
        """Return the phases of a plan beyond a position; NotFound."""
        with self._context.reading() as view:
            items = parts_below(view, plan_named(view, name).id, "phase", after, limit)
            return ItemReader(view).views(items, *PHASE, below="task")

    def list(
        self,
        standing: PlanStanding | Literal[""] = "",
        after: tuple[str, int] | None = None,
        limit: int = _CHUNK,
        *,
        with_archived: bool = False,
    ) -> list[ItemView]:
        """Return plans, the one that changed last first, beyond a time and a number.

        standing: only those that stand so; else all, those that are archived only if they are wanted.
        """

        def is_wanted(plan: ItemView) -> bool:
            how = plan_standing(plan)
            chosen = how == standing if standing else with_archived or how != ARCHIVED
            return chosen and PRUNED not in plan.labels

        with self._context.reading() as view:
            reader = ItemReader(view)
            plans = reader.find(
                ItemFilter(kind="plan"),
                "labels",
                order="updated_at desc,number desc",
                after=after or (),
            )
            items = [plan.item for plan in islice(filter(is_wanted, plans), limit)]
            return reader.views(items, *PLAN, below="phase")

    def move(
        self, name: str, to: PlanStanding, reason: str = ""
    ) -> tuple[ItemView, tuple[str, ...]]:
        """Bring a plan to stand so; answer it with the titles of what was skipped with that.

        A plan that is completed by word skips what is open in it. The same again changes nothing.
        Raises NotFound, Conflict, GateClosed, AlreadyClaimed.
        """
        with recording(self._context, "plan.moved") as change:
            change.open_session()
            plan = change.get(Item, plan_named(change.writing, name).id)
            change.subject = plan.id
            seen = ItemReader(change.writing).one(plan, "labels")
            before = plan_standing(seen)
            skipped: list[str] = []
            if PRUNED in seen.labels:
                raise Conflict(f"the plan {plan.title!r} was pruned", hint="Make another plan.")
            if before != to:
                change.add_facts(moved=[before, to])
                skipped = _move(change, plan, to, reason)
            elif to == ARCHIVED and reason:
                _explain(change, plan, reason)
            return plan_view(change.writing, change.get(Item, plan.id)), tuple(skipped)

    def put_away(self, name: str) -> dict[str, Json]:
        """Return when and why a plan was archived; empty if it is not."""
        with self._context.reading() as view:
            return kept_object(view, plan_named(view, name).id, ARCHIVED)


def _explain(change: Change, plan: Item, reason: str) -> None:
    """Keep why a plan was archived that nobody gave a reason for; Conflict for another reason than it has."""
    put_away = kept_object(change.writing, plan.id, ARCHIVED)
    if put_away.get("reason", reason) != reason:
        raise Conflict(
            f"the plan {plan.title!r} is archived already, for another reason",
            hint="`plan_get` shows why. Bring it back with `plan_update_status` to archive it anew.",
        )
    if "reason" not in put_away:
        set_attributes(change, plan, {ARCHIVED: {**put_away, "reason": reason}})


def _move(change: Change, plan: Item, to: PlanStanding, reason: str) -> list[str]:
    """Move a plan whose standing differs."""
    marks = (ARCHIVED, PAUSED)
    relabel(change, plan.id, add={to}.intersection(marks), drop=[m for m in marks if m != to])
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
    is_begun = to == "active" and plan.category == "active"
    _walk(change, plan, plan.status if is_begun else _STATES[to])
    return skipped


def _walk(change: Change, plan: Item, goal: str) -> None:
    states = plan.states.way(plan.status, goal)
    if not states:
        change.put(touched(change, plan))
    for state in states:
        plan = move(change, change.get(Item, plan.id), state)


def _declared(phase: Draft) -> Draft:
    """Return a phase that ends by word; the usual order of phases is that of the draft."""
    return (
        replace(phase, lifecycle=phase.lifecycle or "declared") if phase.kind == "phase" else phase
    )

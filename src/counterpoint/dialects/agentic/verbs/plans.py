"""Reads, makes and changes plans."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, islice
from typing import Final, Literal

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import ItemFilter
from counterpoint.core.model.work import Alias, Criterion, Item
from counterpoint.core.operations.closing.part_status import skip_below
from counterpoint.core.operations.planning.staging import is_large
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import (
    attribute_object,
    item_named,
    relabel,
    set_attributes,
)
from counterpoint.core.operations.recording.moves import bump_version, move
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.core.queries.overview import ItemReader, Part
from counterpoint.dialects.agentic.nouns import ARCHIVED, PAUSED, PRUNED, SLUG, PlanStanding
from counterpoint.dialects.agentic.rules.progress import plan_standing
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound

Place = int | str
"""A place in a list, or a name."""
_DIGITS = 10
"""A text of as many digits is a name, not a place."""

PLAN: Final[tuple[Part, ...]] = ("labels", "names", "blockers", "progress")
PHASE: Final[tuple[Part, ...]] = ("attributes", "needs", "criteria", "blockers", "progress")
TASK: Final[tuple[Part, ...]] = ("attributes", "blockers")


def plan_named(view: Reading, name: str) -> Item:
    """Return the plan of a slug or an id; NotFound, as if there were none, for anything else."""
    plan = item_named(view, name, SLUG) or view.find(Item, name)
    if plan is None or plan.kind != "plan":
        raise NotFound(f"there is no plan {name!r} in this project", hint="See `plan_list`.")
    return plan


def phase_at(view: Reading, plan: Item, phase_ref: Place) -> Item:
    """Return the phase of an order, counted from 1, or of a name or an id; NotFound, InvalidInput."""
    order = _number(phase_ref)
    if order is not None:
        matches = _list_at(view, plan, order - 1, "phase")
    else:
        phases = view.select(Item, parent=plan.id, kind="phase", order="position,number")
        matches = _list_named(phases, str(phase_ref), "phase")
    if not matches:
        raise NotFound(f"the plan has no phase {phase_ref!r}", hint="`plan_get` shows its phases.")
    return matches[0]


def task_at(view: Reading, phase: Item, task_ref: Place) -> Item:
    """Return the task of an index, counted from 0, or of a name or an id; NotFound, InvalidInput."""
    matches: list[Item] = []
    if isinstance(task_ref, str):
        tasks = view.select(Item, parent=phase.id, kind="task", order="position,number")
        matches = _list_named(tasks, task_ref, "task")
    index = _number(task_ref)
    if not matches and index is not None:
        matches = _list_at(view, phase, index, "task")
    if not matches:
        raise NotFound(
            f"the phase {phase.title!r} has no task {task_ref!r}",
            hint="`phase_get` shows its tasks with their index, counted from 0.",
        )
    return matches[0]


def criterion_at(view: Reading, phase: Item, criterion_ref: Place) -> Criterion:
    """Return the criterion of an index, counted from 0, or of its text; NotFound."""
    criteria = view.select(Criterion, item=phase.id)
    index = _number(criterion_ref)
    matches = [criterion for criterion in criteria if criterion.text == criterion_ref] or [
        criterion for criterion in criteria if criterion.position == index
    ]
    if not matches:
        raise NotFound(
            f"the phase {phase.title!r} has no completion criterion {criterion_ref!r}",
            hint="`phase_get` shows them in order; count from 0, or give the text.",
        )
    return matches[0]


def _list_at(view: Reading, parent: Item, position: int, kind: str) -> list[Item]:
    # Without the kind among the columns asked for, the index of places answers this.
    items = view.select(Item, parent=parent.id, position=position, order="position")
    return [item for item in items if item.kind == kind]


def _number(ref: Place) -> int | None:
    if isinstance(ref, int):
        return ref
    return int(ref) if ref.isascii() and ref.isdecimal() and len(ref) < _DIGITS else None


def _list_named(items: list[Item], name: str, what: str) -> list[Item]:
    """Return the items of an id, or of a title if only one has it."""
    matches = [item for item in items if item.id == name] or [
        item for item in items if item.title == name
    ]
    if len(matches) > 1:
        raise InvalidInput(
            f"{len(matches)} are named {name!r} here", hint=f"Name the {what} by its number."
        )
    return matches


def plan_view(view: Reading, plan: Item, *more: Part) -> ItemView:
    """Return a plan with the progress of its phases."""
    return ItemReader(view).one(plan, *PLAN, *more, below="phase")


def parts_below(view: Reading, item: str, kind: str, after: int, limit: int) -> list[Item]:
    """Return the phases of the plan or the tasks of the phase of an id, beyond a position (-1: all)."""
    beyond = (after,) if after >= 0 else ()
    return view.select(Item, parent=item, kind=kind, order="position", after=beyond, limit=limit)


_CHUNK: Final = 100
_SUFFIX: Final = 6
_STATES: Final[dict[PlanStanding, str]] = {
    "backlog": "backlog",
    "paused": "backlog",
    "active": "open",
    "done": "done",
}


class Planning(Verbs):
    """Verbs for plans."""

    def open(self, draft: Draft, slug: str = "", *, start: bool = False) -> ItemView:
        """Make a plan under a slug: the wanted one, or one of chance that tells nothing of its title.

        A slug stays in the ledger where the title is taken away.
        start: whether it is offered at once; else its tasks are not ready before it is made active.
        Raises Conflict if the wanted slug is taken, and the refusals of `plans.create`.
        """
        with transaction(self._context):
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
            return attribute_object(view, plan_named(view, name).id, ARCHIVED)


def _explain(change: Change, plan: Item, reason: str) -> None:
    """Keep why a plan was archived that nobody gave a reason for; Conflict for another reason than it has."""
    put_away = attribute_object(change.writing, plan.id, ARCHIVED)
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
            change.put(bump_version(change, plan))
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
        change.put(bump_version(change, plan))
    for state in states:
        plan = move(change, change.get(Item, plan.id), state)


def _declared(phase: Draft) -> Draft:
    """Return a phase that ends by word; the usual order of phases is that of the draft."""
    return (
        replace(phase, lifecycle=phase.lifecycle or "declared") if phase.kind == "phase" else phase
    )

"""What is known of plans, phases and tasks, found by name or place."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.work import Criterion, Item
from counterpoint.core.operations.overview import ItemReader, Part
from counterpoint.core.operations.recording.facets import item_named
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.agentic.nouns.plans import SLUG
from counterpoint.kernel.errors import InvalidInput, NotFound

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

"""What is known of plans, phases and tasks, found by name or place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import cast

from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Alias, Attribute, Criterion, Dependency, Item
from counterpoint.core.operations.recording.facets import attributes_of, item_named, labels_of
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.agentic.nouns.plans import (
    SLUG,
    PhaseView,
    PlanDetails,
    PlanView,
    Progress,
    Standing,
    TaskView,
)
from counterpoint.dialects.agentic.rules.progress import plan_standing, standing
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput, NotFound

Place = int | str
"""A place in a list, or a name."""
_DIGITS = 10
"""A text of as many digits is a name, not a place."""

NOTES = "notes"
"""The value of a task that was last said of it."""
REASON = "reason"
"""The value of a phase or a task that says why it was left out."""


def plan_named(view: Reading, name: str) -> Item:
    """Return the plan of a slug or an id; NotFound, as if there were none, for anything else."""
    found = item_named(view, name, SLUG) or view.find(Item, name)
    if found is None or found.kind != "plan":
        raise NotFound(f"there is no plan {name!r} in this project", hint="See `plan_list`.")
    return found


def phase_at(view: Reading, plan: Item, place: Place) -> Item:
    """Return the phase of an order, counted from 1, or of a name or an id; NotFound, InvalidInput."""
    order = _number(place)
    if order is not None:
        found = _placed(view, plan, order - 1, "phase")
    else:
        phases = view.select(Item, parent=plan.id, kind="phase", order="position,number")
        found = _called(phases, str(place), "phase")
    if not found:
        raise NotFound(f"the plan has no phase {place!r}", hint="`plan_get` shows its phases.")
    return found[0]


def task_at(view: Reading, phase: Item, place: Place) -> Item:
    """Return the task of an index, counted from 0, or of a name or an id; NotFound, InvalidInput."""
    found: list[Item] = []
    if isinstance(place, str):
        tasks = view.select(Item, parent=phase.id, kind="task", order="position,number")
        found = _called(tasks, place, "task")
    index = _number(place)
    if not found and index is not None:
        found = _placed(view, phase, index, "task")
    if not found:
        raise NotFound(
            f"the phase {phase.title!r} has no task {place!r}",
            hint="`phase_get` shows its tasks with their index, counted from 0.",
        )
    return found[0]


def criterion_at(view: Reading, phase: Item, place: Place) -> Criterion:
    """Return the criterion of an index, counted from 0, or of its text; NotFound."""
    criteria = view.select(Criterion, item=phase.id)
    index = _number(place)
    found = [one for one in criteria if one.text == place] or [
        one for one in criteria if one.position == index
    ]
    if not found:
        raise NotFound(
            f"the phase {phase.title!r} has no completion criterion {place!r}",
            hint="`phase_get` shows them in order; count from 0, or give the text.",
        )
    return found[0]


def _placed(view: Reading, parent: Item, position: int, kind: str) -> list[Item]:
    # Without the kind among the columns asked for, the index of places answers this.
    found = view.select(Item, parent=parent.id, position=position, order="position")
    return [item for item in found if item.kind == kind]


def _number(place: Place) -> int | None:
    if isinstance(place, int):
        return place
    return int(place) if place.isascii() and place.isdecimal() and len(place) < _DIGITS else None


def _called(items: list[Item], name: str, what: str) -> list[Item]:
    """Return the items of an id, or of a title if only one has it."""
    found = [item for item in items if item.id == name] or [
        item for item in items if item.title == name
    ]
    if len(found) > 1:
        raise InvalidInput(
            f"{len(found)} are named {name!r} here", hint=f"Name the {what} by its number."
        )
    return found


def blocked_ids(view: Reading) -> frozenset[str]:
    """Return the ids of what has an open blocker: few, in any project."""
    return frozenset(
        record.item for record in view.select(Record, kind="blocker", status="open") if record.item
    )


@dataclass(slots=True)
class PlanReader:
    """One look at plans: what every line of it needs is read once."""

    view: Reading
    blocked: frozenset[str] = field(default_factory=frozenset[str])

    @classmethod
    def at(cls, view: Reading) -> PlanReader:
        """Begin to look."""
        return cls(view, blocked_ids(view))

    def plan(self, plan: Item) -> PlanView:
        """Return a plan's line."""
        known = self.view.select(Alias, item=plan.id)
        slugs = [alias.name for alias in known if alias.scope == SLUG]
        return PlanView(
            item=plan,
            slug=slugs[0] if slugs else plan.id,
            standing=plan_standing(plan, labels_of(self.view, plan.id)),
            progress=self.below(plan, "phase"),
        )

    def head(self, plan: Item) -> PlanDetails:
        """Return a plan without its phases."""
        now = self.view.select(
            Item, parent=plan.id, kind="phase", category="active", order="position", limit=1
        )
        return PlanDetails(
            line=self.plan(plan),
            kept=attributes_of(self.view, plan.id),
            current=now[0].position + 1 if now else None,
        )

    def below(self, item: Item, kind: str) -> Progress:
        """Return how far the parts of an item are."""
        counts = self.view.counts(Item, "status", parent=item.id, kind=kind)
        if not counts:
            return Progress()
        found = [one for name in self.blocked if (one := self.view.find(Item, name))]
        stuck = Counter(one.status for one in found if one.parent == item.id and one.kind == kind)
        parts: Counter[Standing] = Counter()
        for status, count in counts.items():
            parts[standing(status)] += count - stuck[status]
            parts[standing(status, blocked=True)] += stuck[status]
        return Progress(**parts)

    def standing(self, item: Item) -> Standing:
        """Return how a phase or a task stands."""
        return standing(item.status, blocked=item.id in self.blocked)

    def phases(self, plan: Item, after: int, limit: int) -> list[PhaseView]:
        """Return the phases of a plan beyond a position."""
        found = self.view.select(
            Item,
            parent=plan.id,
            kind="phase",
            order="position",
            after=(after,) if after >= 0 else (),
            limit=limit,
        )
        return [self.phase(phase) for phase in found]

    def phase(self, phase: Item) -> PhaseView:
        """Return a phase with the progress of its tasks."""
        edges = self.view.select(Dependency, item=phase.id)
        needed = [found for edge in edges if (found := self.view.find(Item, edge.needs))]
        criteria = self.view.select(Criterion, item=phase.id)
        return PhaseView(
            item=phase,
            order=phase.position + 1,
            standing=self.standing(phase),
            progress=self.below(phase, "task"),
            needs=tuple(sorted(one.position + 1 for one in needed if one.parent == phase.parent)),
            reason=self.reason(phase),
            criteria=tuple((str(one.text), one.met) for one in criteria),
        )

    def tasks(self, phase: Item, after: int, limit: int) -> list[TaskView]:
        """Return the tasks of a phase beyond an index."""
        found = self.view.select(
            Item,
            parent=phase.id,
            kind="task",
            order="position",
            after=(after,) if after >= 0 else (),
            limit=limit,
        )
        kept = said_of(self.view, [task.id for task in found])
        return [self._task(task, kept.get(task.id, {})) for task in found]

    def task(self, task: Item) -> TaskView:
        """Return a task."""
        return self._task(task, said_of(self.view, [task.id]).get(task.id, {}))

    def _task(self, task: Item, kept: Mapping[str, str]) -> TaskView:
        return TaskView(
            item=task,
            index=task.position,
            standing=self.standing(task),
            notes=kept.get(NOTES, ""),
            reason=self.reason(task, kept),
        )

    def reason(self, item: Item, kept: Mapping[str, str] | None = None) -> str:
        """Return why something is blocked or was left out; empty if it is neither."""
        how = self.standing(item)
        if how == "blocked":
            open_ones = self.view.select(Record, item=item.id, kind="blocker", status="open")
            return str(open_ones[-1].body) if open_ones else item.status
        if how != "skipped":
            return ""
        known = said_of(self.view, [item.id]).get(item.id, {}) if kept is None else kept
        return known.get(REASON, "")


def said_of(view: Reading, items: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the notes and the reasons that are kept with items."""
    said: dict[str, dict[str, str]] = {}
    if not items:
        return said
    for kept in view.select(Attribute, item=tuple(items), name=(NOTES, REASON)):
        text = kept.value if not kept.value.startswith('"') else canonical.load(kept.value)
        said.setdefault(kept.item, {})[kept.name] = cast("str", text)
    return said

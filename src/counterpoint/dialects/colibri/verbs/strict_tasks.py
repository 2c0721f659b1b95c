"""Strict tasks: making them, finding them, and what can be done about each.

A strict task is an item on the table STAGED of core.model.lifecycles. Its states change by `edit` and
`finish` as any item's do; the guards of the table are applied there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from counterpoint.core.model.accounts.stages import (
    NextMove,
    StrictTask,
    StrictTaskDraft,
    StrictTaskFilter,
    Transition,
)
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.lifecycles import STAGED, UNCLOSED
from counterpoint.core.model.work import Alias, Attribute, Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.readiness import judged
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import item_named, value_of
from counterpoint.core.operations.recording.unit import joined
from counterpoint.core.ports.store import Filter, Reading
from counterpoint.kernel.canonical import Json

DELETED: Final = "deleted_at"
"""The attribute of a task that was taken away: when."""
_CHUNK: Final = 100
Kept = TypeVar("Kept", Alias, Attribute, Transition)


class StrictTasks:
    """Verbs for strict tasks."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def create(self, asked: StrictTaskDraft) -> StrictTask:
        """Make a strict task in its first state; InvalidInput, Conflict if a name is taken."""
        draft = Draft(
            kind="task",
            title=asked.title,
            body=asked.body,
            lifecycle=STAGED.name,
            aliases=asked.names,
            attributes=asked.kept,
        )
        with joined(self._context):
            made = Plans(self._context).create(draft).root
            if asked.assignee:
                Items(self._context).edit(made.id, Edit(assignee=asked.assignee))
            return self.get(made.id)

    def get(self, name: str, *, deleted: bool = False) -> StrictTask:
        """Return a strict task by its id or another name; NotFound, also if it was taken away."""
        with self._context.reading() as view:
            found = item_named(view, name)
            if found is None or found.lifecycle != STAGED.name:
                raise missing(Item, name)
            task = _tasks(view, [found])[0]
        if DELETED in task.kept and not deleted:
            raise missing(Item, name)
        return task

    def list(self, sought: StrictTaskFilter, after: int, limit: int) -> list[StrictTask]:
        """Return strict tasks by number, beyond a number."""
        with self._context.reading() as view:
            return _first(_sought(view, sought, after), limit)

    def next_moves(
        self, after: int, limit: int, kept: Mapping[str, Json] | None = None
    ) -> list[NextMove]:
        """Return the tasks that something is still to be done about, and what, beyond a number."""
        now, session = self._context.ports.clock.now(), self._context.caller.actor.session
        sought = StrictTaskFilter(kept=kept or {}, unclosed=True)
        with self._context.reading() as view:
            return [
                NextMove(
                    task=task,
                    moves=task.item.states.moves[task.item.status],
                    readiness=judged(view, task.item, session, now),
                )
                for task in _first(_sought(view, sought, after), limit)
            ]

    def history(self, item: str, after: int = 0, limit: int = 50) -> list[Transition]:
        """Return the moves of a task in order, those beyond a number only."""
        with self._context.reading() as view:
            return view.select(Transition, item=item, order="number", after=(after,), limit=limit)

    def delete(self, item: str, *, back: bool = False) -> StrictTask:
        """Take a task away so that no list shows it, or put it back; nothing of it is lost."""
        when = None if back else self._context.ports.clock.now()
        Items(self._context).edit(item, Edit(attributes={DELETED: when}))
        return self.get(item, deleted=True)


def _sought(view: Reading, sought: StrictTaskFilter, after: int) -> Iterator[StrictTask]:
    equal: dict[str, Filter] = {"lifecycle": STAGED.name, "status": sought.status}
    if sought.unclosed:
        equal["category"] = UNCLOSED
    chosen = {name: value for name, value in equal.items() if value}
    while True:
        items = view.select(Item, order="number", after=(after,), limit=_CHUNK, **chosen)
        for task in _tasks(view, items):
            is_there = sought.deleted or DELETED not in task.kept
            if is_there and all(task.kept.get(key) == part for key, part in sought.kept.items()):
                yield task
        if len(items) < _CHUNK:
            return
        after = items[-1].number


def _first(tasks: Iterator[StrictTask], limit: int) -> list[StrictTask]:
    return [task for _, task in zip(range(limit), tasks, strict=False)]


def _tasks(view: Reading, items: Sequence[Item]) -> list[StrictTask]:
    """Return items with what hangs on them, read together."""
    if not items:
        return []
    names = _of(view, Alias, items)
    kept = _of(view, Attribute, items)
    moves = _of(view, Transition, items)
    return [
        StrictTask(
            item=item,
            names={one.scope: one.name for one in names[item.id]},
            kept={one.name: value_of(one) for one in kept[item.id]},
            attempt=max((one.attempt for one in moves[item.id]), default=1),
        )
        for item in items
    ]


def _of(view: Reading, noun: type[Kept], items: Sequence[Item]) -> dict[str, list[Kept]]:
    """Return the rows of a noun of at most a chunk of items, by item."""
    ids = [item.id for item in items]
    if len(ids) > 1:
        # Always as many, so that there is one statement for all.
        ids += ids[-1:] * (_CHUNK - len(ids))
    found: dict[str, list[Kept]] = defaultdict(list)
    for row in view.select(noun, item=tuple(ids)):
        found[row.item].append(row)
    return found

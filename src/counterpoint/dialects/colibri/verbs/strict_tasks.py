"""Strict tasks: making them, finding them, and what can be done about each.

A strict task is an item on the table STAGED. Its states change by `edit` and
`finish` as any item's do; the guards of the table are applied there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from counterpoint.core.model.answers import ItemView
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, ItemFilter
from counterpoint.core.model.journal import Transition
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.work import Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.readiness import judge_for_caller
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import item_named
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.ports.store import Reading
from counterpoint.core.queries.overview import ItemReader, Part
from counterpoint.dialects.colibri.nouns import STAGED, NextMove
from counterpoint.kernel.canonical import Json

DELETED: Final = "deleted_at"
"""The attribute of a task that was taken away: when."""
_PARTS: Final[tuple[Part, ...]] = ("names", "attributes", "attempt")


class StrictTasks(Verbs):
    """Verbs for strict tasks."""

    def create(self, draft: Draft) -> ItemView:
        """Make a strict task in its first state; InvalidInput, Conflict if a name is taken."""
        item = Plans(self._context).create(replace(draft, lifecycle=STAGED.name)).root
        return self.get(item.id)

    def get(self, name: str, *, deleted: bool = False) -> ItemView:
        """Return a strict task by its id or another name; NotFound, also if it was taken away."""
        with self._context.reading() as view:
            item = item_named(view, name)
            if item is None or item.lifecycle != STAGED.name:
                raise missing(Item, name)
            task = ItemReader(view).one(item, *_PARTS)
        if DELETED in task.attributes and not deleted:
            raise missing(Item, name)
        return task

    def list(
        self, item_filter: ItemFilter, after: int, limit: int, *, deleted: bool = False
    ) -> list[ItemView]:
        """Return strict tasks by number, beyond a number; `deleted`: those taken away too."""
        with self._context.reading() as view:
            return list(islice(_find_tasks(view, item_filter, after, deleted=deleted), limit))

    def next_moves(
        self, after: int, limit: int, attributes: Mapping[str, Json] | None = None
    ) -> list[NextMove]:
        """Return the tasks that something is still to be done about, and what, beyond a number."""
        item_filter = ItemFilter(category=UNCLOSED, attributes=attributes or {})
        with self._context.reading() as view:
            holders = Holders(view, self._context)
            return [
                NextMove(
                    task=task,
                    moves=task.item.states.moves[task.item.status],
                    readiness=judge_for_caller(view, task.item, holders),
                )
                for task in islice(_find_tasks(view, item_filter, after), limit)
            ]

    def history(self, item: str, after: int = 0, limit: int = 50) -> list[Transition]:
        """Return the moves of a task in order, those beyond a number only."""
        with self._context.reading() as view:
            return view.select(Transition, item=item, order="number", after=(after,), limit=limit)

    def delete(self, item: str, *, back: bool = False) -> ItemView:
        """Take a task away so that no list shows it, or put it back; nothing of it is lost."""
        when = None if back else self._context.ports.clock.now()
        Items(self._context).edit(item, Edit(attributes={DELETED: when}))
        return self.get(item, deleted=True)


def _find_tasks(
    view: Reading, item_filter: ItemFilter, after: int, *, deleted: bool = False
) -> Iterator[ItemView]:
    staged = replace(item_filter, lifecycle=STAGED.name)
    for task in ItemReader(view).find(staged, *_PARTS, after=(after,)):
        if deleted or DELETED not in task.attributes:
            yield task

"""Removes nodes from a spec: completed work stays in the history."""

from __future__ import annotations

from collections.abc import Iterator

from counterpoint.core.model.work import Dependency, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.links import undepend
from counterpoint.core.operations.recording.moves import move, refuse_dropping
from counterpoint.dialects.foundry.nouns.nodes import REMOVED
from counterpoint.dialects.foundry.verbs.holding import refuse_held_at


def take_out(change: Change, top: Item, reason: str) -> None:
    """Cancel an item with all below it, and remove the dependencies on these from outside.

    Raises AlreadyClaimed, Conflict below a closed item, Forbidden for work whose gate the caller may not skip.
    """
    refuse_held_at(change, top)
    everything = list(_walk(change, top))
    refuse_dropping(change, top)
    inside = {item.id for item in everything}
    for item in everything:
        for edge in change.select(Dependency, needs=item.id):
            if edge.item not in inside:
                undepend(change, change.get(Item, edge.item), item.id)
    # Parents first: closing the last child would close the parent as done.
    for item in everything:
        # Completed tasks stay completed: their place shows that they are no nodes any more.
        if item is everything[0] or item.category != "done" or not item.is_workable:
            _cancel(change, item.id, reason)


def _walk(change: Change, top: Item) -> Iterator[Item]:
    waiting = [change.get(Item, top.id)]
    while waiting:
        current = waiting.pop(0)
        yield current
        waiting += change.select(Item, parent=current.id, order="position,number")


def _cancel(change: Change, name: str, reason: str) -> None:
    item = change.get(Item, name)
    for state in item.states.way(item.status, REMOVED) if item.status != REMOVED else ():
        move(change, change.get(Item, name), state, reason)

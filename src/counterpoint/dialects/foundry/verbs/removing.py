"""Nodes taken out of a spec: what was done with them stays in the history."""

from __future__ import annotations

from collections.abc import Iterator

from counterpoint.core.model.work import Dependency, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.links import undepend
from counterpoint.core.operations.recording.moves import move, refuse_dropping
from counterpoint.dialects.foundry.nouns.nodes import REMOVED
from counterpoint.dialects.foundry.verbs.holding import refuse_held_at


def take_out(change: Change, top: Item, reason: str) -> None:
    """Cancel an item with all below it; nothing outside of it waits for any of that any more.

    Raises AlreadyClaimed, Conflict below what has closed, Forbidden for work past whose gate the caller may not leave it.
    """
    refuse_held_at(change, top)
    everything = list(_from(change, top))
    refuse_dropping(change, top)
    inside = {item.id for item in everything}
    for item in everything:
        for edge in change.select(Dependency, needs=item.id):
            if edge.item not in inside:
                undepend(change, change.get(Item, edge.item), item.id)
    # What holds others first: closing the last of these would else close it as done.
    for item in everything:
        # What was done stays done: its place tells that it is no node any more.
        if item is everything[0] or item.category != "done" or not item.is_workable:
            _cancel(change, item.id, reason)


def _from(change: Change, top: Item) -> Iterator[Item]:
    waiting = [change.get(Item, top.id)]
    while waiting:
        here = waiting.pop(0)
        yield here
        waiting += change.select(Item, parent=here.id, order="position,number")


def _cancel(change: Change, name: str, reason: str) -> None:
    item = change.get(Item, name)
    for state in item.states.way(item.status, REMOVED) if item.status != REMOVED else ():
        move(change, change.get(Item, name), state, reason)

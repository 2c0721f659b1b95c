"""Keeping right the counter of what is in an item's way.

`Item.blockers` counts open things in the way, so that ready work is one look into an index. Every
verb that opens or clears such a thing says so here, in the same transaction.

Rule 1: an unfinished dependency, a closed gate that holds the start, and an open blocker record count
one each on the item they are about; so does a state that is parked.
Rule 2: a parent that has any counts one (`held`) on each of its children, whatever their number.
Rule 3: the counter is what the tables say: a test counts them anew after each step of random histories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from counterpoint.core.model.work import Dependency, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import CyclicDependency


def shift(change: Change, item: Item, by: int) -> Item:
    """Return the item with so many more (or fewer) things in the way; its children follow."""
    if by == 0:
        return item
    after = replace(item, blockers=item.blockers + by)
    change.put(after)
    # Children count their parent once, so that most changes of its counter cost them nothing.
    if (item.blockers > 0) != (after.blockers > 0):
        _hold_children(change, after, held=int(after.blockers > 0))
    return after


def _hold_children(change: Change, parent: Item, held: int) -> None:
    for child in change.select(Item, parent=parent.id, order="position"):
        # An item is ready when its one counter is 0, so a parent that is not counts as one blocker more.
        shift(change, replace(child, held=held), held - child.held)


def next_position(change: Change, parent: str) -> int:
    """Return the place behind the last child of an item; 0 at the top, where places mean nothing."""
    if not parent:
        return 0
    last = change.writing.select(Item, parent=parent, order="position desc", limit=1)
    return last[0].position + 1 if last else 0


def release(change: Change, needed: Item) -> list[str]:
    """Take a finished item out of the way of all that need it; answer what became free."""
    freed: list[str] = []
    for edge in change.select(Dependency, needs=needed.id):
        waiting = shift(change, change.get(Item, edge.item), -1)
        freed += _open_below(change, waiting)
    return freed


def _open_below(change: Change, item: Item) -> list[str]:
    """Return an item and all below it that nothing but their order holds back."""
    if item.is_closed or item.blockers:
        return []
    below = [] if item.is_workable else change.select(Item, parent=item.id, order="position,number")
    return [item.id, *(free for child in below for free in _open_below(change, child))]


def obstruct(change: Change, needed: Item) -> None:
    """Put a reopened item back into the way of all that need it."""
    for edge in change.select(Dependency, needs=needed.id):
        shift(change, change.get(Item, edge.item), 1)


def depend(change: Change, item: Item, needs: Item, *, is_known: bool = True) -> Item:
    """Make an item wait for another; CyclicDependency if that one waits for it.

    is_known: whether others may wait for the item; nothing yet waits for a tree just made.
    """
    if change.find(Dependency, item.id, needs.id) is not None:
        return item
    change.put(Dependency(project=item.project, item=item.id, needs=needs.id))
    if is_known:
        # After the edge is written, so that one walk sees all of them; a refusal undoes it.
        refuse_circle(change.writing, item)
    return shift(change, item, int(needs.category != "done"))


def undepend(change: Change, item: Item, needs: str) -> Item:
    """Let an item no longer wait for another."""
    edge = change.get(Dependency, item.id, needs)
    needed = change.get(Item, needs)
    change.drop(edge)
    return shift(change, item, -int(needed.category != "done"))


def refuse_circle(view: Reading, item: Item) -> None:
    """Raise CyclicDependency if the beginning or the end of an item waits for itself.

    An end waits for the item's beginning and its children's ends; a beginning waits for the parent's
    beginning and the ends of what the item needs. Closed items count: they may be reopened.
    """
    # A circle through the item passes its beginning or its end; others were there before.
    for start in (_Moment(item.id, is_end=False), _Moment(item.id, is_end=True)):
        waiting = [*_waits_for(view, start)]
        seen = set(waiting)
        while waiting:
            here = waiting.pop()
            if here == start:
                raise CyclicDependency(
                    f"{item.id} could never be finished: it would wait for itself", item=item.id
                )
            for other in _waits_for(view, here):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)


class _Moment(NamedTuple):
    """The beginning or the end of an item."""

    item: str
    is_end: bool


def _waits_for(view: Reading, moment: _Moment) -> Iterator[_Moment]:
    if moment.is_end:
        yield _Moment(moment.item, is_end=False)
        for child in view.select(Item, parent=moment.item):
            yield _Moment(child.id, is_end=True)
        return
    here = view.find(Item, moment.item)
    if here is not None and here.parent:
        yield _Moment(here.parent, is_end=False)
    for edge in view.select(Dependency, item=moment.item):
        yield _Moment(edge.needs, is_end=True)

"""Keeping right the counter of what is in an item's way.

`Item.blockers` counts open things in the way, so that ready work is one look into an index. Every
verb that opens or clears such a thing says so here, in the same transaction.

Rule 1: an unfinished dependency, a closed gate that holds the start, and an open blocker record count
one each on the item they are about.
Rule 2: a parent that has any counts one (`held`) on each of its children, whatever their number.
Rule 3: `recount` computes the same from the tables; tests and `audit rebuild` hold both together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Dependency, Gate, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import CyclicDependency


def shift(change: Change, item: Item, by: int) -> Item:
    """Answer the item with so many more (or fewer) things in the way; its children follow."""
    if by == 0:
        return item
    after = replace(item, blockers=item.blockers + by)
    change.put(after)
    if (item.blockers > 0) != (after.blockers > 0):
        _hold_children(change, after, held=int(after.blockers > 0))
    return after


def _hold_children(change: Change, parent: Item, held: int) -> None:
    for child in change.select(Item, parent=parent.id, order="position"):
        if child.held != held:
            shift(change, replace(child, held=held), held - child.held)


def release(change: Change, needed: Item) -> list[str]:
    """Take a finished item out of the way of all that need it; answer what became free."""
    freed: list[str] = []
    for edge in change.select(Dependency, needs=needed.id):
        waiting = shift(change, change.get(Item, edge.item), -1)
        if waiting.blockers == 0 and not waiting.is_closed:
            freed.append(waiting.id)
    return freed


def obstruct(change: Change, needed: Item) -> None:
    """Put a reopened item back into the way of all that need it."""
    for edge in change.select(Dependency, needs=needed.id):
        shift(change, change.get(Item, edge.item), 1)


def depend(change: Change, item: Item, needs: Item, *, is_known: bool = True) -> Item:
    """Make an item wait for another; CyclicDependency if that one waits for it.

    is_known: False for an item so fresh that nothing can wait for it, which saves the search.
    """
    if change.find(Dependency, item.id, needs.id) is not None:
        return item
    if is_known:
        refuse_circle(change.writing, item, needs)
    change.put(Dependency(project=item.project, item=item.id, needs=needs.id))
    return shift(change, item, int(needs.category != "done"))


def undepend(change: Change, item: Item, needs: str) -> Item:
    """Let an item no longer wait for another."""
    edge = change.get(Dependency, item.id, needs)
    needed = change.get(Item, needs)
    change.drop(edge)
    return shift(change, item, -int(needed.category != "done"))


def refuse_circle(view: Reading, item: Item, needs: Item) -> None:
    """Raise CyclicDependency if finishing `needs` would have to wait for `item`.

    To finish an item, all below it must be finished, and all that it, they, and what holds them need.
    """
    waiting = [needs.id]
    seen = {needs.id}
    while waiting:
        here = view.find(Item, waiting.pop())
        if here is None or (here.is_closed and here.id != needs.id):
            continue
        if here.id == item.id or _is_below(view, here, item.id):
            raise CyclicDependency(
                f"{needs.id} cannot be finished before {item.id}: they would wait for each other",
                item=item.id,
                needs=needs.id,
            )
        for other in _waits_for(view, here):
            if other not in seen:
                seen.add(other)
                waiting.append(other)


def _waits_for(view: Reading, item: Item) -> Iterable[str]:
    """Answer what must be finished before an item can be: its children, and needs all the way up."""
    yield from (child.id for child in view.select(Item, parent=item.id))
    here: Item | None = item
    while here is not None:
        yield from (edge.needs for edge in view.select(Dependency, item=here.id))
        here = view.find(Item, here.parent) if here.parent else None


def _is_below(view: Reading, item: Item, ancestor: str) -> bool:
    here: Item | None = item
    while here is not None and here.parent:
        if here.parent == ancestor:
            return True
        here = view.find(Item, here.parent)
    return False


def recount(view: Reading, item: Item) -> int:
    """Answer what an item's counter must be, from the tables alone."""
    open_needs = sum(
        1
        for edge in view.select(Dependency, item=item.id)
        if (needed := view.find(Item, edge.needs)) is not None and needed.category != "done"
    )
    gates = len(view.select(Gate, item=item.id, holds="start", status="closed"))
    blockers = len(view.select(Record, item=item.id, kind="blocker", status="open"))
    parent = view.find(Item, item.parent) if item.parent else None
    return open_needs + gates + blockers + int(parent is not None and parent.blockers > 0)

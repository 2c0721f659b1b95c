"""Maintains the count of what blocks an item.

`Item.blockers` counts open things in the way, so that ready work is one look into an index. Every
verb that opens or clears such a thing says so here, in the same transaction.

Rule 1: a dependency that is unfinished, or has an open blocker that needs a person, a closed gate that holds the start, and an open blocker record count
one each on the item they are about; so does a state that is parked.
Rule 2: a parent that has any counts one (`held`) on each of its children, whatever their number.
Rule 3: the counter is what the tables say: a test counts them anew after each step of random histories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import cycle
from typing import Final, NamedTuple

from counterpoint.core.model.journal import NEEDS_PERSON, Record
from counterpoint.core.model.work import Dependency, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import CyclicDependency

AT_ONCE: Final = 100
"""How many items are asked about at once."""


def shift(change: Change, item: Item, by: int) -> Item:
    """Return the item with so many more (or fewer) things in the way; its children follow."""
    if by == 0:
        return item
    after = replace(item, blockers=item.blockers + by)
    change.put(after)
    # Children count their parent once, so that most changes of its counter cost them nothing.
    if (item.blockers > 0) != (after.blockers > 0):
        _hold_below(change, after)
    return after


def _hold_below(change: Change, top: Item) -> None:
    """Let all below an item count what holds each: by the hundred, as there may be many."""
    held_above, waiting = int(top.blockers > 0), [top.id]

    def count(name: str, was_held: int, blockers: int) -> tuple[int, int]:
        # An item is ready when its one counter is 0, so a parent that is not counts as one blocker more.
        counted = blockers + held_above - was_held
        if (blockers > 0) != (counted > 0):
            waiting.append(name)
        return held_above, counted

    while waiting:
        some, waiting[:] = waiting[:AT_ONCE], waiting[AT_ONCE:]
        change.revise(Item, ("held", "blockers"), count, parent=padded(some))


def next_position(change: Change, parent: str) -> int:
    """Return the place behind the last child of an item; 0 at the top, where places mean nothing."""
    if not parent:
        return 0
    last = change.writing.select(Item, parent=parent, order="position desc", limit=1)
    return last[0].position + 1 if last else 0


def holds_back(view: Reading, needed: Item) -> bool:
    """Return whether what needs an item waits: until it is done, and nothing of it waits for a person."""
    return needed.category != "done" or waits_for_person(view, needed)


def waits_for_person(view: Reading, item: Item) -> bool:
    """Return whether an item has an open blocker that was written for a person."""
    # The counter says whether anything is open, so that most items cost no look.
    if item.blockers <= item.held:
        return False
    blockers = view.select(Record, item=item.id, kind="blocker", status="open")
    return any(NEEDS_PERSON in record.tags for record in blockers)


def release(change: Change, needed: Item) -> list[str]:
    """Take a finished item out of the way of all that need it; answer what became free."""
    freed: list[str] = []
    if needed.blockers > needed.held and waits_for_person(change.writing, needed):
        return freed
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
    if waits_for_person(change.writing, needed):
        return  # it never left it
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
        begins, end = _Moment(item.id, is_end=False), _Moment(needs.id, is_end=True)
        # A circle has this edge in it, as there was none before; a refusal undoes it.
        _refuse_way(change.writing, {end}, begins)
    return shift(change, item, int(holds_back(change.writing, needs)))


def undepend(change: Change, item: Item, needs: str) -> Item:
    """Let an item no longer wait for another."""
    edge = change.get(Dependency, item.id, needs)
    needed = change.get(Item, needs)
    change.drop(edge)
    return shift(change, item, -int(holds_back(change.writing, needed)))


def refuse_circle_through(view: Reading, item: str, needs: Iterable[str]) -> None:
    """Raise CyclicDependency if any of some items waits for the end of one, below which something is to need them."""
    _refuse_way(view, {_Moment(name, is_end=True) for name in needs}, _Moment(item, is_end=True))


def refuse_circle_below(view: Reading, item: str, parent: str) -> None:
    """Raise CyclicDependency if an item cannot lie below another: if either waits for the other by another way."""
    for is_end, first, last in ((False, parent, item), (True, item, parent)):
        _refuse_way(view, {_Moment(first, is_end=is_end)}, _Moment(last, is_end=is_end))


def _refuse_way(view: Reading, begin: set[_Moment], goal: _Moment) -> None:
    """Raise CyclicDependency if one of some moments waits for another.

    Looked for from both ends, by the hundred and in turn: where thousands lie behind one of them, few may behind the other,
    and no way is left as soon as one of them leads no further. Closed items count, as they may be reopened.
    """
    seen = set(begin), {goal}
    waiting, met = (list(begin), [goal]), goal in begin
    ends = cycle((0, 1))
    while all(waiting) and not met:
        end = next(ends)
        some, waiting[end][:] = waiting[end][-AT_ONCE:], waiting[end][:-AT_ONCE]
        fresh = _beside(view, some, is_back=bool(end)) - seen[end]
        seen[end].update(fresh)
        waiting[end].extend(fresh)
        met = not fresh.isdisjoint(seen[1 - end])
    if met:
        raise CyclicDependency(
            f"{goal.item} could never be finished: it would wait for itself", item=goal.item
        )


class _Moment(NamedTuple):
    """The beginning or the end of an item."""

    item: str
    is_end: bool


def _beside(view: Reading, moments: Collection[_Moment], *, is_back: bool) -> set[_Moment]:
    """Return what some moments wait for, each directly; what waits for them if `is_back`.

    An end waits for the item's beginning and its children's ends; a beginning waits for the parent's
    beginning and the ends of what the item needs.
    """
    whole = {moment.item for moment in moments if moment.is_end != is_back}
    others = {moment.item for moment in moments if moment.is_end == is_back}
    next_moments = {_Moment(name, is_end=is_back) for name in whole}
    if whole:
        below = view.cells(Item, ("id",), parent=padded(whole))
        next_moments |= {_Moment(name, is_end=not is_back) for (name,) in below}
    if others:
        names = padded(others)
        above = view.cells(Item, ("parent",), id=names)
        next_moments |= {_Moment(name, is_end=is_back) for (name,) in above if name}
        if is_back:
            edges = view.select(Dependency, needs=names)
            next_moments |= {_Moment(edge.item, is_end=False) for edge in edges}
        else:
            edges = view.select(Dependency, item=names)
            next_moments |= {_Moment(edge.needs, is_end=True) for edge in edges}
    return next_moments


def padded(names: Collection[str]) -> tuple[str, ...]:
    """Return one name, or always as many, some of them twice: a database prepares one statement for all."""
    some = tuple(names)
    return some if len(some) == 1 else (*some, *some[-1:] * (AT_ONCE - len(some)))

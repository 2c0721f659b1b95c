"""Ready work: what `list`, `next` and `start` all ask."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from heapq import merge, nsmallest
from itertools import islice
from typing import Any

from counterpoint.core.model.answers import Obstacle, Readiness, ReadyItem
from counterpoint.core.model.filters import ReadyFilter
from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Area, Dependency, Gate, Item, Label
from counterpoint.core.operations.recording.context import Caller, Verbs
from counterpoint.core.operations.recording.contributions import PROJECT, relaxed_by
from counterpoint.core.operations.recording.facets import items_by_id, line_of
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.links import waits_for_person
from counterpoint.core.ports.store import Filter, Query, Reading
from counterpoint.core.rules.readiness import Surroundings, judge
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import GateClosed
from counterpoint.kernel.plurals import agree

RELAXED = "you approved its start or changed what it asks for, so somebody else does it"
_PAGE = 50
_FIRST_PAGE = 8
_LOOKED_AT = 500
"""How many of the items that were given up last are looked at for what waits for them."""
_FIRST_JUDGED = 5
"""Most callers want the first few."""


class Ready(Verbs):
    """Verbs that find out what can be done."""

    def offers(
        self,
        ready_filter: ReadyFilter,
        limit: int,
        after: tuple[int, int] | None = None,
        *,
        in_order: bool = False,
    ) -> list[ReadyItem]:
        """Return ready items: what the caller's predecessor left, then by priority, then by age.

        after: priority and number of the last one seen. in_order: whether a predecessor's work comes in the order of all.
        """
        with self._context.reading() as view:
            holders = Holders(view, self._context)
            ready_items = offers(view, ready_filter, holders, after, in_order=in_order)
            return list(islice(exclude_relaxed(view, ready_items, self._context.caller), limit))

    def stuck(self, item: str = "") -> list[tuple[Item, str]]:
        """Return what was given up, the latest first, each with an open item that waits for it; item: only of this one."""
        one_item = {"id": item} if item else {}
        with self._context.reading() as view:
            rows = view.select(
                Item, order="updated_at desc", limit=_LOOKED_AT, category="dropped", **one_item
            )
            dropped = {row.id: row for row in rows}
            edges = view.select(Dependency, needs=tuple(dropped)) if dropped else []
            waiters = items_by_id(view, (edge.item for edge in edges))
        waiting = {id_ for id_, waiter in waiters.items() if waiter.category == "open"}
        return [(dropped[edge.needs], edge.item) for edge in edges if edge.item in waiting]

    def judge(self, item: Item) -> Readiness:
        """Return whether the caller may take up an item, with every reason."""
        with self._context.reading() as view:
            return judge_for_caller(view, item, Holders(view, self._context))


def offers(
    view: Reading,
    ready_filter: ReadyFilter,
    holders: Holders,
    after: tuple[int, int] | None = None,
    *,
    in_order: bool = False,
) -> Iterator[ReadyItem]:
    """Return what a caller may take up, in order, as long as somebody asks for more; see `Ready.offers`."""
    busy = busy_areas(view, holders)
    for item in _candidates(view, ready_filter, holders, after, in_order=in_order):
        if not _is_wanted(view, item, ready_filter):
            continue
        readiness = judge(item, _around(view, item, busy, holders), holders.session, holders.now)
        if readiness.is_ready:
            waiting = len(view.select(Dependency, needs=item.id, limit=_PAGE))
            why = (
                (*readiness.reasons, f"{agree(waiting, 'item', 'waits')} for it")
                if waiting
                else readiness.reasons
            )
            yield ReadyItem(item=item, why=why, unblocks=waiting)


def exclude_relaxed(
    view: Reading, ready_items: Iterable[ReadyItem], caller: Caller
) -> Iterator[ReadyItem]:
    """Return offers without what the caller made easier, or approved the start of: `start` refuses him that."""
    relaxed = relaxed_by(view, caller)
    for offer in ready_items:
        if not relaxed or not _is_relaxed(view, offer.item, relaxed):
            yield offer


def _is_relaxed(view: Reading, item: Item, relaxed: Collection[str]) -> bool:
    """Return whether a mark stands at an item, above it, or at the project."""
    return PROJECT in relaxed or any(ancestor.id in relaxed for ancestor in line_of(view, item.id))


def judge_item(view: Reading, item: Item, holders: Holders) -> Readiness:
    """Return whether a caller may take up an item, with every reason."""
    # What has no areas overlaps nothing: then nobody is asked what is held.
    busy = busy_areas(view, holders) if _areas(view, item.id) else {}
    return judge(item, _around(view, item, busy, holders), holders.session, holders.now)


def judge_for_caller(view: Reading, item: Item, holders: Holders) -> Readiness:
    """Return whether a caller may take up an item; he does no work that he made easier or approved the start of."""
    readiness = judge_item(view, item, holders)
    relaxed = (
        relaxed_by(view, holders.caller) if readiness.is_ready and not readiness.is_mine else ()
    )
    if not relaxed or not _is_relaxed(view, item, relaxed):
        return readiness
    return replace(readiness, is_ready=False, may_go_on=False, reasons=(RELAXED,))


def ready_among(
    view: Reading, items: Iterable[Item], holders: Holders, relaxed: Collection[str] = ()
) -> Iterator[Item]:
    """Return those of some items that a caller may take up, in their order.

    relaxed: what the caller made easier (`relaxed_by`).
    """
    busy = busy_areas(view, holders)
    for item in items:
        # Most items of a large plan wait for others, which their counter says without a look.
        if item.blockers or (relaxed and _is_relaxed(view, item, relaxed)):
            continue
        around = _around(view, item, busy, holders)
        if judge(item, around, holders.session, holders.now).is_ready:
            yield item


def busy_areas(view: Reading, holders: Holders) -> dict[str, tuple[str, ...]]:
    """Return the areas of every item that another session holds at this moment, and is there."""
    return areas_of(view, [claim.item for claim in holders.in_force()])


def areas_of(view: Reading, items: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the areas of each of some items."""
    areas: dict[str, tuple[str, ...]] = dict.fromkeys(items, ())
    # In one statement, however many agents hold something.
    for area in view.select(Area, item=tuple(items)) if items else ():
        areas[area.item] += (area.pattern,)
    return areas


def _areas(view: Reading, item: str) -> tuple[str, ...]:
    return tuple(area.pattern for area in view.select(Area, item=item))


def _around(
    view: Reading, item: Item, busy: dict[str, tuple[str, ...]], holders: Holders
) -> Surroundings:
    claim = view.find(Claim, item.id) if item.category == "active" else None
    return Surroundings(
        obstacles=tuple(obstacles(view, item)),
        has_open_below=has_open_children(view, item),
        claim=claim,
        departure=holders.departure(claim),
        areas=_areas(view, item.id) if busy else (),
        busy=busy,
    )


def open_children_query(item: str) -> Query[Item]:
    """Return what asks whether work below an item is not closed yet."""
    return Query(Item, {"parent": item, "category": UNCLOSED}, is_exists=True)


def has_open_children(view: Reading, item: Item) -> bool:
    """Return whether work below an item is not closed yet."""
    return view.exists(Item, parent=item.id, category=UNCLOSED)


def refuse_open_children(view: Reading, item: Item) -> None:
    """Raise GateClosed if work below an item is not closed yet, so that it cannot be finished."""
    if has_open_children(view, item):
        raise GateClosed(
            f"{item.id} still has unfinished work below it",
            hint=f"Finish or cancel it first; {Act.LIST_BELOW}.",
        )


def obstacles(view: Reading, item: Item) -> Iterator[Obstacle]:
    """Return each open thing in the way of an item, its own before those of what holds it.

    The counter says whether there are any, so that what is free costs no look at the tables.
    """
    if not item.blockers:
        return
    own = list(_own_obstacles(view, item))
    # What the counter has beyond these is the state itself: the table that parks it may not be installed.
    if item.blockers - item.held > len(own):
        yield Obstacle(kind="parked", item=item, thing=item)
    yield from own
    if item.held and (above := view.find(Item, item.parent)) is not None:
        yield from obstacles(view, above)


def _own_obstacles(view: Reading, item: Item) -> Iterator[Obstacle]:
    for edge in view.select(Dependency, item=item.id):
        needed = view.find(Item, edge.needs)
        if needed is not None and needed.category != "done":
            yield Obstacle(kind="need", item=item, thing=needed)
        elif needed is not None and waits_for_person(view, needed):
            for record in view.select(Record, item=needed.id, kind="blocker", status="open"):
                yield Obstacle(kind="blocker", item=needed, thing=record)
    for gate in view.select(Gate, item=item.id, holds="start", status="closed"):
        yield Obstacle(kind="gate", item=item, thing=gate)
    for record in view.select(Record, item=item.id, kind="blocker", status="open", order="number"):
        yield Obstacle(kind="blocker", item=item, thing=record)


def _is_wanted(view: Reading, item: Item, ready_filter: ReadyFilter) -> bool:
    if ready_filter.profile and item.profile not in {"", ready_filter.profile}:
        return False
    return not ready_filter.label or view.exists(Label, item=item.id, name=ready_filter.label)


def _candidates(
    view: Reading,
    ready_filter: ReadyFilter,
    holders: Holders,
    after: tuple[int, int] | None,
    *,
    in_order: bool,
) -> Iterator[Item]:
    """Return items with nothing in the way, and those begun that nobody holds any more, in order.

    Unless all come in order, those that the caller's predecessor left come first, and never again.
    """
    inherited = () if in_order else tuple(holders.inherited())
    if inherited and after is None:
        yield from _left(view, ready_filter, holders, None, inherited)
    if after is None:
        view.fetch(first_queries(ready_filter))
        view.fetch(_judging_queries(view, ready_filter))
    streams = [_open(view, kind, ready_filter.root, after) for kind in ready_filter.kinds]
    for item in merge(*streams, _left(view, ready_filter, holders, after), key=_order):
        if item.id not in inherited:
            yield item


def _order(item: Item) -> tuple[int, int]:
    return item.priority, item.number


def first_queries(ready_filter: ReadyFilter) -> Iterator[Query[Item]]:
    """Return what is asked for the first offers: the first page of each kind, and what was begun."""
    for kind in ready_filter.kinds:
        yield ready_query(kind, ready_filter.root, None, limit=_FIRST_PAGE)
    yield _begun_query(ready_filter, None)


def ready_query(kind: str, root: str, after: tuple[int, int] | None, *, limit: int) -> Query[Item]:
    """Return what asks for open items of a kind with nothing in the way, by priority and number."""
    equal: dict[str, Filter] = {"root": root} if root else {}
    equal |= {"kind": kind, "category": "open", "blockers": 0}
    return Query(Item, equal, "priority,number", after or (), limit)


def _begun_query(
    ready_filter: ReadyFilter, after: tuple[int, int] | None, only: tuple[str, ...] = ()
) -> Query[Item]:
    equal: dict[str, Filter] = {"root": ready_filter.root} if ready_filter.root else {}
    equal |= {"id": only} if only else {}
    equal |= {"kind": ready_filter.kinds, "category": "active", "blockers": 0}
    return Query(Item, equal, "priority,number", after or ())


def _judging_queries(view: Reading, ready_filter: ReadyFilter) -> Iterator[Query[Any]]:
    """Return what is asked of each of the first open items to offer it."""
    pages = list(first_queries(ready_filter))[:-1]
    items = (item for page in pages for item in page.rows(view))
    for item in nsmallest(_FIRST_JUDGED, items, key=_order):
        yield open_children_query(item.id)
        yield Query(Dependency, {"needs": item.id}, limit=_PAGE)
        yield Query(Area, {"item": item.id})


def _open(view: Reading, kind: str, root: str, after: tuple[int, int] | None) -> Iterator[Item]:
    size = _FIRST_PAGE
    while page := ready_query(kind, root, after, limit=size).rows(view):
        for item in page:
            if not has_open_children(view, item):
                yield item
        if len(page) < size:
            return
        after, size = _order(page[-1]), _PAGE


def _left(
    view: Reading,
    ready_filter: ReadyFilter,
    holders: Holders,
    after: tuple[int, int] | None,
    only: tuple[str, ...] = (),
) -> Iterator[Item]:
    """Return items that were begun and that nobody holds any more; only: the ids of those that are asked about."""
    for item in _begun_query(ready_filter, after, only).rows(view):
        claim = view.find(Claim, item.id)
        is_own = (
            claim is not None and claim.is_live(holders.now) and claim.session == holders.session
        )
        if not (is_own or holders.other(claim) or has_open_children(view, item)):
            yield item

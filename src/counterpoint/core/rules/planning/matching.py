"""Finds the items that the lines of a plan mean, never by position alone.

In this order, each step again whenever a later one has found something:

1. The name that both have.
2. The title, below the same item, if one line and one item have it. Where several have, none is taken: they cannot be told apart.
3. The title elsewhere in the plan, if one line and one item have it that nobody has begun: it was moved.
4. The number that both have, if they have one and nobody has begun the item: its title was changed.
5. The only line and the only item that are left below the same item, if nobody has begun it: its title was changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from counterpoint.core.model.work import WORKABLE, Kind
from counterpoint.core.rules.drafting import PlannedItem
from counterpoint.kernel.frozen import frozen


@frozen
class KnownItem:
    """An item of the plan as it is. name: its `{#name}`. is_begun: whether somebody worked on it or below it."""

    id: str
    parent: str
    kind: Kind
    title: str
    name: str = ""
    is_begun: bool = False


@dataclass(slots=True)
class Matches:
    """Which item each line means.

    ids: by the place of the line. unsure_places, unsure_ids: lines and items that cannot be told apart, and what is below them.
    """

    ids: dict[int, str] = field(default_factory=dict[int, str])
    unsure_places: set[int] = field(default_factory=set[int])
    unsure_ids: set[str] = field(default_factory=set[str])


def match_plan(
    planned: Sequence[PlannedItem],
    items: Sequence[KnownItem],
    root: str,
    numbered: Mapping[int, str] = MappingProxyType({}),
) -> Matches:
    """Return which items the lines of a plan mean. items: all below the root, parents first. numbered: the item of a line's number, by its place."""
    matching = _Matching(planned, items, root)
    matching.by_name()
    while (
        matching.by_title()
        or matching.by_move()
        or matching.by_number(numbered)
        or matching.by_place()
    ):
        pass
    return matching.matches


class _Matching:
    def __init__(
        self, planned: Sequence[PlannedItem], items: Sequence[KnownItem], root: str
    ) -> None:
        self.planned = planned
        self.known = items
        self.matches = Matches(ids={0: root})
        self.taken: set[str] = {root}

    def _take(self, index: int, item: str) -> None:
        self.matches.ids[index] = item
        self.taken.add(item)

    def _places(self) -> Iterator[int]:
        """Return the lines that are open, those of sure parents."""
        unsure = self.matches.unsure_places
        for index, part in enumerate(self.planned):
            if part.parent in unsure:
                unsure.add(index)
            elif index not in self.matches.ids and index not in unsure:
                yield index

    def _items(self) -> Iterator[KnownItem]:
        unsure = self.matches.unsure_ids
        for item in self.known:
            if item.parent in unsure:
                unsure.add(item.id)
            elif item.id not in self.taken and item.id not in unsure:
                yield item

    def by_name(self) -> None:
        items_by_name: dict[str, list[KnownItem]] = defaultdict(list)
        for item in self.known:
            if item.name:
                items_by_name[item.name].append(item)
        for index, part in enumerate(self.planned):
            items = items_by_name.get(part.draft.name, [])
            if index and len(items) == 1 and _is_alike(part, items[0]):
                self._take(index, items[0].id)

    def by_title(self) -> bool:
        """Take what has one title below one item; answer whether anything was found."""
        places: dict[tuple[str, bool, str], list[int]] = defaultdict(list)
        items: dict[tuple[str, bool, str], list[KnownItem]] = defaultdict(list)
        for index in self._places():
            parent = self.planned[index].parent
            above = self.matches.ids.get(parent, "") if parent is not None else ""
            if above:
                places[above, *_title_of(self.planned[index])].append(index)
        for item in self._items():
            items[item.parent, *_title_of(item)].append(item)
        has_found = False
        for key, some in places.items():
            others = items.get(key, [])
            if len(some) == len(others) == 1:
                if self._is_named_otherwise(some[0], others[0]):
                    continue
                self._take(some[0], others[0].id)
                has_found = True
            elif others:
                self.matches.unsure_places.update(some)
                self.matches.unsure_ids.update(item.id for item in others)
                has_found = True
        return has_found

    def by_move(self) -> bool:
        """Take what has one title in the whole plan; answer whether anything was found."""
        places: dict[tuple[bool, str], list[int]] = defaultdict(list)
        items: dict[tuple[bool, str], list[KnownItem]] = defaultdict(list)
        for index in self._places():
            places[_title_of(self.planned[index])].append(index)
        for item in self._items():
            items[_title_of(item)].append(item)
        has_found = False
        for key, some in places.items():
            others = items.get(key, [])
            if (
                len(some) == len(others) == 1
                and not others[0].is_begun
                and not self._is_named_otherwise(some[0], others[0])
            ):
                self._take(some[0], others[0].id)
                has_found = True
        return has_found

    def by_number(self, numbered: Mapping[int, str]) -> bool:
        """Take what has one number; answer whether anything was found."""
        items = {item.id: item for item in self._items() if not item.is_begun} if numbered else {}
        for index in self._places() if items else ():
            item = items.get(numbered.get(index, ""))
            if item is not None and _is_alike(self.planned[index], item):
                self._take(index, item.id)
                return True
        return False

    def by_place(self) -> bool:
        """Take the only ones that are left below one item; answer whether anything was found."""
        places: dict[tuple[str, bool], list[int]] = defaultdict(list)
        items: dict[tuple[str, bool], list[KnownItem]] = defaultdict(list)
        for index in self._places():
            parent = self.planned[index].parent
            if parent is not None and parent in self.matches.ids:
                kind = self.planned[index].draft.kind in WORKABLE
                places[self.matches.ids[parent], kind].append(index)
        for item in self._items():
            items[item.parent, item.kind in WORKABLE].append(item)
        for key, some in places.items():
            others = items.get(key, [])
            if (
                len(some) == len(others) == 1
                and not others[0].is_begun
                and not (self.planned[some[0]].draft.name or others[0].name)
            ):
                self._take(some[0], others[0].id)
                return True
        return False

    def _is_named_otherwise(self, index: int, item: KnownItem) -> bool:
        name = self.planned[index].draft.name
        return bool(name and item.name and name != item.name)


def _is_alike(part: PlannedItem, item: KnownItem) -> bool:
    return (part.draft.kind in WORKABLE) == (item.kind in WORKABLE)


def _title_of(part: PlannedItem | KnownItem) -> tuple[bool, str]:
    """Return what tells titles apart: all their letters, in any script, and whether it is work or a phase."""
    draft = part.draft if isinstance(part, PlannedItem) else part
    return draft.kind in WORKABLE, " ".join(draft.title.split())


def children_of(planned: Sequence[PlannedItem]) -> Mapping[int, list[int]]:
    """Return the places directly below each place."""
    below: dict[int, list[int]] = defaultdict(list)
    for index, part in enumerate(planned):
        if part.parent is not None:
            below[part.parent].append(index)
    return below

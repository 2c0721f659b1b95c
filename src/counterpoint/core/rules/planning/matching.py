"""Which items of two plans are the same, and how changes of both sides come together.

Finds the items that the lines of a plan mean, never by position alone.
In this order, each step again whenever a later one has found something:

1. The name that both have.
2. The title, below the same item, if one line and one item have it. Where several have, none is taken: they cannot be told apart.
3. The title elsewhere in the plan, if one line and one item have it that nobody has begun: it was moved.
4. The number that both have, if they have one and nobody has begun the item: its title was changed.
5. The only line and the only item that are left below the same item, if nobody has begun it: its title was changed.

Compares three sides of an imported item: before, the source now, and here.

    source since then    here since then    what happens
    the same             anything           nothing
    changed              the same           it is changed here
    changed              changed alike      nothing, and it is kept as what came last
    changed              changed otherwise  it stays as it is here, and is told at every import

Labels and needs are sets: what the source added is added, what it took away is taken away, and the rest is left alone. Long texts are
kept as digests. What came last is kept with the item as an attribute. Of checks, reviews and profiles an attribute without them means that there were none.

Finds the items of an earlier import that the lines of a check-list mean (seam: a pure rule).
A check-list has no ids. Its reader makes them of titles, with a number where a title comes again, or of the numbers before the titles;
both change when a line is put in above. So lines find their items as those of a plan do (planning/matching.py), by title and place in the
tree, and get the ids that these have. Where two cannot be told apart nothing is changed, and that is told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, cast

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note
from counterpoint.core.model.foreign import ForeignItem, ForeignNote, ForeignWork, Remark
from counterpoint.core.model.work import BODY_LIMIT, WORKABLE, Kind
from counterpoint.core.rules.drafting import PlannedItem
from counterpoint.kernel.canonical import Json, text_digest
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression


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
            # An export calls each by its id.
            for name in filter(None, {item.name, item.id}):
                items_by_name[name].append(item)
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


ATTRIBUTE: Final = "imported"
SCALARS: Final = ("title", "body", "state", "priority", "assignee", "parent", "acceptance", "areas")
SETS: Final = ("labels", "needs")
FLAGS: Final = ("approval", "review", "artifact")
GATES: Final = ("checks", *FLAGS, "profile")
"""What is asked of an item, and of who does it; only few sources say such things."""
_DIGEST: Final = 16
_HEAD: Final = expression(r"Written in \S+(?: by (.*?))?(?: on ([^\s:](?:.*\S)?))?:\n\n")


@dataclass(slots=True)
class ItemMerge:
    """What is to become of an item.

    fields: new values by their names. add, remove: of each set. conflicts: fields that both sides changed.
    last: what to keep now; is_stale: it is not what is kept.
    """

    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    add: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    remove: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    conflicts: list[str] = field(default_factory=list[str])
    is_stale: bool = False
    last: dict[str, Json] = field(default_factory=dict[str, Json])

    def keep(self, name: str, last: Mapping[str, Json]) -> None:
        """Let a field count as it came last, for it was not taken over."""
        self.last.pop(name, None)
        if name in last:
            self.last[name] = last[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the fields that change."""
        return tuple(dict.fromkeys((*self.fields, *self.add, *self.remove)))


def last_of(item: ForeignItem) -> dict[str, Json]:
    """Return the values of an item as they are kept, to be compared with what comes next."""
    return {
        **{name: _kept(name, getattr(item, name)) for name in SCALARS},
        **{name: list(getattr(item, name)) for name in SETS},
        **{name: _kept(name, value) for name in GATES if (value := getattr(item, name))},
    }


def merge(last: Mapping[str, Json], theirs: ForeignItem, item: Mapping[str, Any]) -> ItemMerge:
    """Return what an import changes. last: what `last_of` gave; item: the values that the item has now, by field."""
    now = last_of(theirs)
    merged = ItemMerge(last=dict(now))
    for name in SCALARS:
        ours = _kept(name, item[name])
        before = last.get(name, ours)
        if now[name] in (before, ours):
            continue
        if ours == before:
            merged.fields[name] = getattr(theirs, name)
        else:
            merged.conflicts.append(name)
            merged.last[name] = before
    for name in GATES:
        theirs_now, ours = (
            _kept(name, getattr(theirs, name)) or None,
            _kept(name, item[name]) or None,
        )
        if theirs_now in (last.get(name), ours):
            continue
        if ours == last.get(name):
            merged.fields[name] = getattr(theirs, name)
        else:
            merged.conflicts.append(name)
            merged.keep(name, last)
    for name in SETS:
        ours, target = list(item[name]), list(getattr(theirs, name))
        before = cast("list[str]", last.get(name, ours))
        add = [each for each in target if each not in before and each not in ours]
        remove = [each for each in before if each not in target and each in ours]
        if add:
            merged.add[name] = tuple(add)
        if remove:
            merged.remove[name] = tuple(remove)
    merged.is_stale = merged.last != last
    return merged


def _kept(name: str, value: Any) -> Json:
    if name in {"title", "body"}:
        return text_digest(value)[:_DIGEST] if value else ""
    if name in {"acceptance", "areas"}:
        return text_digest("\n".join(value))[:_DIGEST] if value else ""
    if name == "checks":
        # In whichever order they stand there and here.
        return [list(argv) for argv in sorted(value)]
    return value


def notes_of(tool: str, item: ForeignItem, item_id: str) -> Iterator[Note]:
    """Return what is to be written down of an item: what is known of its past, and each thing that was said of it there.

    The last tag of a note is its own: what was written down under it is not written again. item_id: the item.
    """
    facts = "; ".join(f"{name} {value}" for name, value in sorted(item.facts.items()))
    history = ForeignNote(
        text=f"Imported from {tool}: {item.id}" + (f" ({facts})" if facts else "")
    )
    for note in (history, *item.notes):
        head = "" if note is history else _head(tool, note)
        body = f"{head}{note.text}"[:BODY_LIMIT]
        own = text_digest(f"{item.id}\n{note.author}\n{note.at}\n{note.text}")[:_DIGEST]
        yield Note(kind="comment", body=body, item=item_id, tags=(tool, f"imported:{own}"))


def _head(tool: str, note: ForeignNote) -> str:
    by, at = f" by {note.author}" if note.author else "", f" on {note.at}" if note.at else ""
    return f"Written in {tool}{by}{at}:\n\n"


def note_of(tags: Collection[str], text: str, author: str, at: str) -> ForeignNote:
    """Return a record as a note: one that was imported is as it was there."""
    head = _HEAD.match(text) if any(tag.startswith("imported:") for tag in tags) else None
    if head is None:
        return ForeignNote(text=text, author=author, at=at)
    return ForeignNote(text=text[head.end() :], author=head[1] or "", at=head[2] or "")


def is_told_again(tags: Collection[str], body: str) -> bool:
    """Return whether a record only says where an item came from, which whoever imports it again says anew."""
    return body.startswith("Imported from ") and any(tag.startswith("imported:") for tag in tags)


ROOT: Final = "/"
"""What stands for the whole: no id is like it, since each begins with the name of its source."""
_ALIKE: Final = (
    "cannot be told from others of the same title that are here, so nothing of it is changed;"
    " another title, or `{#name}` behind it, tells them apart"
)


def has_ids_of_its_own(work: ForeignWork) -> bool:
    """Return whether the ids of a source say which item is meant whenever it comes."""
    return all(item.naming == "id" for item in work.items)


def rename_items(
    work: ForeignWork, items: Mapping[str, ForeignItem], earlier: Sequence[KnownItem]
) -> ForeignWork:
    """Return a source with the ids that its items have here. items: its items put right, parents first; earlier: those that came before."""
    places = {name: index for index, name in enumerate(items, 1)}
    planned = [PlannedItem(draft=Draft(kind="plan", title=""), parent=None, position=0)]
    planned += [_planned(item, places) for item in items.values()]
    ids = {item.id for item in earlier}
    own_ids = {name for name, item in items.items() if item.naming == "id"}
    candidates = [replace(item, name=item.id) if item.id in own_ids else item for item in earlier]
    numbered = {places[n]: n for n, item in items.items() if item.naming == "number" and n in ids}
    matches = match_plan(planned, candidates, ROOT, numbered)
    new_ids = {name: matches.ids[index] for name, index in places.items() if index in matches.ids}
    taken = ids | set(new_ids.values())
    for name, index in places.items():
        if name not in new_ids and index not in matches.unsure_places:
            new_ids[name] = _free(name, taken)
            taken.add(new_ids[name])
    remarks = [
        Remark(f"{name}: {_ALIKE}", item.where, "loss")
        for name, item in items.items()
        if places[name] in matches.unsure_places
    ]
    arriving = [item for item in work.items if item.id not in items or item.id in new_ids]
    return replace(
        work,
        items=tuple(_with_ids(item, new_ids) for item in arriving),
        remarks=(*work.remarks, *remarks),
    )


def title_of(last: Mapping[str, object]) -> str:
    """Return what stands for a title in what is kept of an import (`last_of`)."""
    return str(last.get("title", ""))


def _planned(item: ForeignItem, places: Mapping[str, int]) -> PlannedItem:
    draft = Draft(
        kind="phase" if item.is_phase else "task",
        title=title_of(last_of(item)),
        name=item.id if item.naming == "id" else "",
    )
    return PlannedItem(draft=draft, parent=places.get(item.parent, 0), position=0)


def _with_ids(item: ForeignItem, new_ids: Mapping[str, str]) -> ForeignItem:
    return replace(
        item,
        id=new_ids.get(item.id, item.id),
        parent=new_ids.get(item.parent, item.parent),
        needs=tuple(new_ids.get(name, name) for name in item.needs),
    )


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no item has."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}-{count}"
    return free

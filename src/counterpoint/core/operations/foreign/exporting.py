"""Compares with the files of other programs, and writes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from counterpoint.core.model.foreign import ForeignItem, ForeignNote, ForeignWork
from counterpoint.core.model.identity import Contribution
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import (
    Area,
    Attribute,
    Criterion,
    Dependency,
    Gate,
    Item,
    Label,
    Project,
)
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import item_named, value_of
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.planning.foreign import SettledWork
from counterpoint.core.rules.planning.matching import (
    ATTRIBUTE,
    ROOT,
    ItemMerge,
    KnownItem,
    is_told_again,
    merge,
    note_of,
    title_of,
)
from counterpoint.kernel.canonical import Json, object_of

_COMPARED_AT_ONCE: Final = 500
"""Items that are read together."""


@dataclass(slots=True)
class SourceItems:
    """What of a source is here. root: what holds it, or None. ids: the items by their ids there."""

    root: Item | None
    ids: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemComparison:
    """One item that is here.

    id: what it is called there. needs: the items that it waits for here. last: what came last. category: of its state here.
    closed_gates: the names of its gates that nothing has opened.
    """

    id: str
    merged: ItemMerge
    needs: frozenset[str]
    last: Mapping[str, Json]
    category: str
    closed_gates: frozenset[str]


def compare_items(
    context: Context, settled: SettledWork, sources: SourceItems, without: Collection[str]
) -> Iterator[ItemComparison]:
    """Return every item of a source that is here compared with it, the lowest first."""
    names = [
        name for name in reversed(settled.items) if name in sources.ids and name not in without
    ]
    back = {item: name for name, item in sources.ids.items()}
    if sources.root is not None:
        back[sources.root.id] = ""
    for start in range(0, len(names), _COMPARED_AT_ONCE):
        some = names[start : start + _COMPARED_AT_ONCE]
        with context.reading() as view:
            around = ItemRows(view, tuple(sources.ids[name] for name in some))
        for name in some:
            yield around.compare(name, sources.ids[name], settled.items[name], back)


class ItemRows:
    """Some items with what an import compares of them, read in one statement each."""

    def __init__(self, view: Reading, items: tuple[str, ...]) -> None:
        self.items = {item.id: item for item in view.select(Item, id=items)}
        self.imported: defaultdict[str, dict[str, Json]] = defaultdict(dict)
        for attribute in view.select(Attribute, item=items, name=ATTRIBUTE):
            self.imported[attribute.item] = object_of(value_of(attribute))
        self.labels = _grouped((label.item, label.name) for label in view.select(Label, item=items))
        self.needs = _grouped(
            (edge.item, edge.needs) for edge in view.select(Dependency, item=items)
        )
        self.areas = _grouped((area.item, area.pattern) for area in view.select(Area, item=items))
        criteria = view.select(Criterion, item=items, order="item,position")
        self.criteria = _grouped((criterion.item, criterion.text) for criterion in criteria)
        self.gates: defaultdict[str, list[Gate]] = defaultdict(list)
        for gate in view.select(Gate, item=items, order="item,name"):
            self.gates[gate.item].append(gate)

    def asked(self, item: str) -> dict[str, Any]:
        """Return which checks, reviews and hand-ins an item asks for, by the fields of foreign items."""
        gates = self.gates[item]
        reviews = {gate.holds for gate in gates if gate.kind == "review"}
        return {
            "checks": tuple(tuple(gate.argv) for gate in gates if gate.kind == "check"),
            "approval": "start" in reviews,
            "review": "finish" in reviews,
            "artifact": any(gate.kind == "artifact" for gate in gates),
        }

    def compare(
        self, name: str, item: str, theirs: ForeignItem, back: dict[str, str]
    ) -> ItemComparison:
        """Return one item compared. back: the ids there by the items here."""
        current, needs = self.items[item], self.needs[item]
        values: dict[str, Any] = {
            "title": current.title,
            "body": current.body,
            "state": current.status,
            "priority": current.priority,
            "assignee": current.assignee,
            # Where it was put here has no name there.
            "parent": back.get(current.parent, f"item:{current.parent}"),
            "acceptance": tuple(self.criteria[item]),
            "areas": tuple(self.areas[item]),
            "labels": tuple(self.labels[item]),
            "needs": tuple(back[need] for need in needs if need in back),
            "profile": current.profile,
            **self.asked(item),
        }
        imported = self.imported[item]
        last = object_of(imported.get("last"))
        merged = merge(last, theirs, values)
        # Dates and the words of the source are nobody's here: they are kept as they came last.
        is_other = object_of(imported.get("facts")) != dict(theirs.facts)
        merged.is_stale |= is_other or imported.get("state", "") != theirs.said
        return ItemComparison(
            id=name,
            merged=merged,
            needs=frozenset(needs),
            last=last,
            category=current.category,
            closed_gates=frozenset(g.name for g in self.gates[item] if g.status == "closed"),
        )


def known_items(context: Context, imported: SourceItems) -> list[KnownItem]:
    """Return the items of a source that are here, as they were when it last came: by their ids, parents and titles there."""
    items: dict[str, KnownItem] = {}
    names = list(imported.ids)
    for start in range(0, len(names), _COMPARED_AT_ONCE):
        some = names[start : start + _COMPARED_AT_ONCE]
        ids = tuple(imported.ids[name] for name in some)
        with context.reading() as view:
            around = ItemRows(view, ids)
            worked = {
                item for (item,) in view.cells(Contribution, ("item",), item=ids, how="worked")
            }
        for name in some:
            item, last = (
                around.items[imported.ids[name]],
                object_of(around.imported[imported.ids[name]].get("last")),
            )
            has_ended = item.category != "open" and last.get("state", "open") == "open"
            items[name] = KnownItem(
                id=name,
                parent=str(last.get("parent", "")) or ROOT,
                kind=item.kind,
                title=title_of(last),
                is_begun=item.id in worked or has_ended,
            )
    return [items[name] for name in _from_the_top(items)]


def _from_the_top(items: Mapping[str, KnownItem]) -> Iterator[str]:
    """Return ids, each behind that of what holds it."""
    below = _grouped(
        (item.parent if item.parent in items else ROOT, name) for name, item in items.items()
    )
    waiting = [ROOT]
    while waiting:
        names = below[waiting.pop()]
        yield from names
        waiting += names


def tags_of(context: Context, items: Iterable[str]) -> defaultdict[str, set[str]]:
    """Return the tags of all records of some items, by item."""
    tags: defaultdict[str, set[str]] = defaultdict(set)
    names = tuple(items)
    for start in range(0, len(names), _COMPARED_AT_ONCE):
        with context.reading() as view:
            for record in view.select(Record, item=names[start : start + _COMPARED_AT_ONCE]):
                tags[record.item].update(record.tags)
    return tags


def _grouped(pairs: Iterable[tuple[str, str]]) -> defaultdict[str, list[str]]:
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for item, value in pairs:
        groups[item].append(value)
    return groups


_ENDS = frozenset({"closed", "because"})
_EXPORTED_AT_ONCE = 500
TOOL = "counterpoint"


class ForeignExports(Verbs):
    """Verbs for work that goes to other programs."""

    def work(self, name: str = "") -> ForeignWork:
        """Return all work, or that below an item (itself, if nothing is below it); NotFound."""
        with self._context.reading() as view:
            top = item_named(view, name) if name else None
            if name and top is None:
                raise missing(Item, name)
            items = list(_below(view, top))
            project = view.find(Project)
            title = top.title if top else project.title if project else self._context.project
            work_items = [item for part in _chunks(items) for item in _items(view, part, top)]
        return ForeignWork(
            tool=TOOL,
            key=top.id if top else self._context.project,
            title=title,
            body=top.body if top else "",
            items=tuple(work_items),
        )


def _below(view: Reading, top: Item | None) -> Iterator[Item]:
    """Return what is to be written, what holds others before what it holds."""
    if top is None:
        level = view.select(Item, parent="", order="number")
    else:
        level = view.select(Item, parent=top.id, order="position,number") or [top]
    while level:
        yield from level
        if level == [top]:
            return
        below = [
            view.select(Item, parent=tuple(i.id for i in part), order="position,number")
            for part in _chunks(level)
        ]
        level = [item for part in below for item in part]


def _chunks(items: list[Item]) -> Iterator[list[Item]]:
    for start in range(0, len(items), _EXPORTED_AT_ONCE):
        yield items[start : start + _EXPORTED_AT_ONCE]


def _items(view: Reading, items: list[Item], top: Item | None) -> Iterator[ForeignItem]:
    names = tuple(item.id for item in items)
    around = ItemRows(view, names)
    notes: dict[str, list[ForeignNote]] = {}
    for record in view.select(Record, item=names, order="number"):
        if not is_told_again(record.tags, record.body):
            text = (
                record.body
                if record.kind == "comment"
                else f"{record.kind}: {record.title}\n\n{record.body}"
            )
            note = note_of(record.tags, text, record.agent, record.created_at)
            notes.setdefault(record.item, []).append(note)
    for item in items:
        is_top = top is not None and item.parent in {top.id, top.parent}
        yield ForeignItem(
            id=item.id,
            title=item.title,
            body=item.body,
            parent="" if is_top else item.parent,
            state=item.status,
            said=item.status,
            priority=item.priority,
            assignee=item.assignee,
            labels=tuple(around.labels[item.id]),
            needs=tuple(around.needs[item.id]),
            acceptance=tuple(around.criteria[item.id]),
            areas=tuple(around.areas[item.id]),
            is_phase=not item.is_workable,
            **around.asked(item.id),
            profile=item.profile,
            notes=tuple(notes.get(item.id, ())),
            facts=_facts(item, around.imported[item.id]),
        )


def _facts(item: Item, imported: Mapping[str, Json]) -> dict[str, str]:
    """Return the dates of an item and what else is known of it: of one that was imported, those of its source."""
    own = {"created": item.created_at, **({"closed": item.closed_at} if item.closed_at else {})}
    theirs = {name: str(value) for name, value in object_of(imported.get("facts")).items()}
    if str(object_of(imported.get("last")).get("state")) != item.status:
        # It came to its end here.
        theirs = {name: value for name, value in theirs.items() if name not in _ENDS}
    return own | theirs

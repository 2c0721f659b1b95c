"""Specs as they were: folded from the ledger, compared, and brought back.

Rules: (1) a version is a position in the ledger, or a time, which is the last entry of that time: of a whole second, if that is all
that was said. (2) A document of then is made of the rows that the entries up to there wrote; a text that was redacted since shows its
mark. Work outside of the spec is named as it is now: names stay. (3) To roll back is to apply the document of then, under the rules of every
word; what waits for work outside of the spec goes on waiting for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from counterpoint.core.ledger.entry import Entry, list_references, load_fields, origin_of_fields
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import Noun, columns
from counterpoint.core.model.work import (
    Alias,
    Area,
    Attribute,
    Criterion,
    Dependency,
    Gate,
    Item,
    Label,
    Staging,
)
from counterpoint.core.operations.auditing.replay import Fold
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import labels_of, value_of
from counterpoint.core.ports.store import Reading, Writing
from counterpoint.dialects.foundry.nouns.nodes import DEPENDS, Folder
from counterpoint.dialects.foundry.rules.editing.comparing import diff
from counterpoint.dialects.foundry.rules.shape import (
    dependencies_of,
    items_of,
    metadata_of,
    nodes_of,
    texts_of,
)
from counterpoint.dialects.foundry.rules.standing import folder_of
from counterpoint.dialects.foundry.rules.versions import moment_of, position_of
from counterpoint.dialects.foundry.verbs.documents.applying import Applied, Applying
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks, spec_id, spec_named
from counterpoint.dialects.foundry.verbs.specs import whole
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import NotFound

_TABLES: Final = {
    noun.table: noun
    for noun in (Item, Alias, Label, Area, Criterion, Dependency, Attribute, Record, Staging, Gate)
}
"""What documents are made of."""
_SCANNED: Final = 2_000
"""Entries that one page of the history looks at."""
_AT_ONCE: Final = 100
_TOLD: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PastChange:
    """An entry that changed a spec; fields: what of which nodes it wrote, in short."""

    position: int
    at: str
    agent: str
    action: str
    node: str
    fields: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A page of the history of a spec, the newest change first; following: where the next begins, -1 for none."""

    spec: str
    changes: tuple[PastChange, ...]
    revisions: tuple[Mapping[str, Json], ...]
    following: int


class History:
    """Verbs for how specs were."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def position(self, version: str) -> int:
        """Return the entry that a version means; InvalidInput for what is none, NotFound before the first."""
        with self._context.reading() as view:
            return _position(view, version)

    def document(self, spec: str, version: str) -> dict[str, Json]:
        """Return the document of a spec as a version had it; NotFound if it was not there."""
        with self._context.reading() as view:
            return self._then(view, spec_named(view, spec), _position(view, version))[0]

    def present(self, spec: str) -> tuple[int, dict[str, Json]]:
        """Return the last entry of the ledger, and the document of a spec as it is with that; NotFound."""
        with self._context.reading() as view:
            return view.head().size - 1, whole(view, spec_named(view, spec))

    def changes(self, spec: str, before: int = -1, limit: int = 50) -> Past:
        """Return what changed a spec before an entry (-1: up to now), the newest first; NotFound.

        A page is short where little of what was looked at was about the spec.
        """
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            end = view.head().size if before < 0 else min(before, view.head().size)
            found, place = _changes(view, known, end, limit)
            revisions = items_of(metadata_of(whole(view, known.root)).get("revision_history"))
            return Past(
                spec=known.spec,
                changes=tuple(found),
                revisions=tuple(object_of(one) for one in revisions if isinstance(one, dict)),
                following=place if place > 0 else -1,
            )

    def diff(self, spec: str, target: str = "", limit: int = 100) -> tuple[str, dict[str, Json]]:
        """Return what a spec differs in from a version, or from another spec, after what that was.

        target: empty for the version before the last change. Raises NotFound, InvalidInput.
        """
        with self._context.reading() as view:
            root = spec_named(view, spec)
            now = whole(view, root)
            if not target:
                changes, _ = _changes(view, Nodes(view, root), view.head().size, 1)
                target = str(changes[0].position - 1 if changes else view.head().size - 1)
            if position_of(target) is None and moment_of(target) is None:
                other = spec_named(view, target)
                return spec_id(view, other), diff(whole(view, other), now, limit)
            place = _position(view, target)
            return str(place), diff(self._then(view, root, place)[0], now, limit)

    def rollback(
        self, spec: str, version: str, *, whole: bool = False, dry_run: bool = False
    ) -> tuple[int, Applied]:
        """Bring a spec to be as it was, after the entry that this means; as `Applying.apply`, and NotFound."""
        with self._context.reading() as view:
            root = spec_named(view, spec)
            place = _position(view, version)
            wanted, folder = self._then(view, root, place)
            name = spec_id(view, root)
            wanted = _with_outside(wanted, self._now(view, root))
        told = Applying(self._context).apply(
            name,
            wanted,
            whole=whole,
            dry_run=dry_run,
            because=f"rolled back to {place}",
            facts={"rolled_back_to": place},
            folder=folder,
        )
        return place, told

    def _now(self, view: Reading, root: Item) -> dict[str, Json]:
        return whole(view, root)

    def _then(self, view: Reading, root: Item, place: int) -> tuple[dict[str, Json], Folder]:
        start = _beginning(view, root)
        if place < start:
            raise _unknown_version(f"there was no spec {spec_id(view, root)} at {place}")
        scratch = self._context.ports.scratch(tuple(view.tables.values()))
        with closing(scratch):
            with scratch.writing(self._context.project) as writing:
                then = _Then(view, writing, root.id)
                then.fold(start, place + 1)
                then.name_others()
            with scratch.reading(self._context.project) as past:
                found = past.find(Item, root.id)
                if found is None:
                    raise _unknown_version(f"there was no spec {spec_id(view, root)} at {place}")
                return whole(past, found), folder_of(found.category, labels_of(past, found.id))


class _Then:
    """Folds what the entries wrote of one spec into empty tables."""

    def __init__(self, view: Reading, writing: Writing, root: str) -> None:
        self._view = view
        self._writing = writing
        self._fold = Fold(writing)
        self._root = root
        self._mine = {name for (name,) in view.cells(Item, ("id",), root=root)}
        self._seen: set[tuple[str, str]] = set()

    def fold(self, start: int, stop: int) -> None:
        """Apply entries from a place and before another."""
        for data in self._view.entries(start, stop):
            fields = load_fields(data)
            images = [image for image in fields.get("r", ()) if self._is_mine(image)]
            if not images:
                continue
            known = {one: self._view.salted(one) for one in list_references(data)}
            self._writing.keep({one: text for one, text in known.items() if text is not None})
            for image in images:
                self._fold.write(image, origin_of_fields(fields))

    def name_others(self) -> None:
        """Write down what work outside of the spec is called that edges name: nothing else is told of it."""
        edges = self._writing.select(Dependency)
        named = {name for edge in edges for name in (edge.item, edge.needs)}
        for kept in self._writing.select(Attribute, name=DEPENDS):
            named.update(texts_of(value_of(kept)))
        for some in chunks(sorted(named - self._mine)):
            for item in self._view.select(Item, id=some):
                self._writing.put(Item, _without_texts(item))
            for alias in self._view.select(Alias, item=some):
                self._writing.put(Alias, _without_texts(alias))

    def _is_mine(self, image: Mapping[str, Any]) -> bool:
        """Return whether a row is of the spec; a change is if the row it changes was."""
        if image["t"] not in _TABLES:
            return False
        place = image["t"], repr(sorted(image["k"].items()))
        values: Mapping[str, Any] = image.get("v") or {}
        if "c" in image or image.get("v") is None:
            return place in self._seen
        if image["t"] == Item.table:
            name = image["k"]["id"]
            if name in self._mine or values.get("parent") in self._mine:
                self._mine.add(name)
            is_mine = name in self._mine
        else:
            # An edge is of both whom it joins.
            about = {image["k"].get("item", values.get("item")), image["k"].get("needs")}
            is_mine = image["t"] == Staging.table or not about.isdisjoint(self._mine)
        if is_mine:
            self._seen.add(place)
        return is_mine


def _without_texts(row: Noun) -> dict[str, Json]:
    """Return a row as it is written down, without the texts that it refers to."""
    return {
        column.name: "" if column.is_prose else getattr(row, column.name)
        for column in columns(type(row))
    }


def _beginning(view: Reading, root: Item) -> int:
    """Return the first entry that can be about a spec: that of its root, unless it holds something older."""
    numbers = view.cells(Item, ("number",), root=root.id)
    if min(number for (number,) in numbers) < root.number:
        return 0
    first = view.sequences(subject=root.id, after=-1, limit=1)
    return first[0] if first else 0


def _position(view: Reading, version: str) -> int:
    end = view.head().size
    place = position_of(version)
    if place is not None:
        if place >= end:
            raise _unknown_version(f"this ledger has no entry {place}: its last is {end - 1}")
        return place
    moment = moment_of(version)
    if moment is None:
        raise _unknown_version(f"there is no version {version!r}")
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        if load_fields(next(view.entries(middle, middle + 1)))["t"] <= moment:
            low = middle + 1
        else:
            high = middle
    if not low:
        raise _unknown_version(f"nothing was written until {version}")
    return low - 1


def _unknown_version(message: str) -> NotFound:
    return NotFound(
        message,
        hint='`spec action="history"` lists the versions; one is a position of the ledger, or a time such as'
        " 2025-12-27T12:00:00Z or 20251227T120000.",
    )


def _changes(view: Reading, known: Nodes, end: int, limit: int) -> tuple[list[PastChange], int]:
    """Return changes of a spec before an entry, and where to go on; 0 if that is the beginning."""
    mine = {name for (name,) in view.cells(Item, ("id",), root=known.root.id)}
    start = _beginning(view, known.root)
    found: list[PastChange] = []
    place, last = end, max(start, end - _SCANNED)
    while place > last and len(found) < limit:
        begin = max(last, place - _AT_ONCE)
        some = [Entry.from_bytes(data) for data in view.entries(begin, place)]
        for entry in reversed(some):
            place = entry.sequence
            fields = dict(_fields(known, entry, mine))
            if fields:
                found.append(_told(known, entry, fields))
                if len(found) == limit:
                    break
    return found, place if place > start else 0


def _fields(known: Nodes, entry: Entry, mine: set[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return what an entry wrote of nodes, by the id of each."""
    written: dict[str, dict[str, None]] = {}
    for row in entry.rows:
        if row.table not in _TABLES:
            continue
        columns = {**(row.values or {}), **row.key}
        name = columns.get("id" if row.table == Item.table else "item")
        if isinstance(name, str) and name in mine:
            told = written.setdefault(name, {})
            if row.table != Item.table:
                told[row.table] = None
            elif row.whole:
                told["created"] = None
            else:
                told.update(dict.fromkeys(row.values or ()))
    names = known.ids([*written][:_TOLD])
    for item, name in names.items():
        yield name, tuple(written[item])


def _told(known: Nodes, entry: Entry, fields: Mapping[str, tuple[str, ...]]) -> PastChange:
    return PastChange(
        position=entry.sequence,
        at=entry.time,
        agent=entry.actor.name,
        action=entry.action,
        node=known.id(entry.subject) if entry.subject else "",
        fields=fields,
    )


def _with_outside(wanted: Mapping[str, Json], now: Mapping[str, Json]) -> dict[str, Json]:
    """Return a document of then that waits for the work outside of the spec for which it waits now."""
    before, after = nodes_of(now), nodes_of(wanted)
    nodes: dict[str, Json] = {}
    for name, node in after.items():
        inside = [one for one in dependencies_of(node, "blocked_by") if one in after]
        outside = [
            one
            for one in dependencies_of(before.get(name, {}), "blocked_by")
            if one not in before and one not in after
        ]
        edges = {**object_of(node.get("dependencies")), "blocked_by": [*inside, *outside]}
        edges["blocks"] = [one for one in dependencies_of(node, "blocks") if one in after]
        edges["depends"] = [one for one in dependencies_of(node, "depends") if one in after]
        nodes[name] = {**node, "dependencies": edges}
    return {**wanted, "hierarchy": nodes}

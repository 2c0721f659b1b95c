"""Specs as they were: rebuilt from the ledger, compared, and rolled back.

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
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import labels_of, value_of
from counterpoint.core.ports.store import Reading, Writing
from counterpoint.dialects.foundry.documents.operations import Applied, Applying
from counterpoint.dialects.foundry.documents.rules.comparing import diff
from counterpoint.dialects.foundry.models.specs import DEPENDS, Folder
from counterpoint.dialects.foundry.nodes.queries import Nodes, chunks, get_spec, spec_id
from counterpoint.dialects.foundry.nodes.rules.progress import folder_of
from counterpoint.dialects.foundry.nodes.rules.shape import (
    dependencies_of,
    items_of,
    metadata_of,
    moment_of,
    nodes_of,
    position_of,
    texts_of,
)
from counterpoint.dialects.foundry.specs.operations import whole
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
    """An entry that changed a spec; fields: the columns that it wrote, by node, shortened."""

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


class History(Verbs):
    """Verbs for past versions of specs."""

    def position(self, version: str) -> int:
        """Return the entry of a version; InvalidInput for one that cannot be parsed, NotFound before the first."""
        with self._context.reading() as view:
            return _parse_position(view, version)

    def document(self, spec: str, version: str) -> dict[str, Json]:
        """Return the document of a spec as a version had it; NotFound if it was not there."""
        with self._context.reading() as view:
            return self._then(view, get_spec(view, spec), _parse_position(view, version))[0]

    def present(self, spec: str) -> tuple[int, dict[str, Json]]:
        """Return the last entry of the ledger, and the document of a spec as it is with that; NotFound."""
        with self._context.reading() as view:
            return view.head().size - 1, whole(view, get_spec(view, spec))

    def changes(self, spec: str, before: int = -1, limit: int = 50) -> Past:
        """List changes of a spec before an entry (-1: up to now), the newest first; NotFound.

        A page may be short where few of the scanned entries are about the spec.
        """
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            end = view.head().size if before < 0 else min(before, view.head().size)
            changes, next_position = _list_changes(view, nodes, end, limit)
            revisions = items_of(metadata_of(whole(view, nodes.root)).get("revision_history"))
            return Past(
                spec=nodes.spec,
                changes=tuple(changes),
                revisions=tuple(
                    object_of(revision) for revision in revisions if isinstance(revision, dict)
                ),
                following=next_position if next_position > 0 else -1,
            )

    def diff(self, spec: str, target: str = "", limit: int = 100) -> tuple[str, dict[str, Json]]:
        """Return how a spec differs from a version, or from another spec, after the name of that.

        target: empty for the version before the last change. Raises NotFound, InvalidInput.
        """
        with self._context.reading() as view:
            root = get_spec(view, spec)
            now = whole(view, root)
            if not target:
                changes, _ = _list_changes(view, Nodes(view, root), view.head().size, 1)
                target = str(changes[0].position - 1 if changes else view.head().size - 1)
            if position_of(target) is None and moment_of(target) is None:
                other = get_spec(view, target)
                return spec_id(view, other), diff(whole(view, other), now, limit)
            position = _parse_position(view, target)
            return str(position), diff(self._then(view, root, position)[0], now, limit)

    def rollback(
        self, spec: str, version: str, *, whole: bool = False, dry_run: bool = False
    ) -> tuple[int, Applied]:
        """Apply a past version of a spec; return its position too. Raises what `Applying.apply` does, and NotFound."""
        with self._context.reading() as view:
            root = get_spec(view, spec)
            position = _parse_position(view, version)
            document, folder = self._then(view, root, position)
            name = spec_id(view, root)
            document = _keep_outside_edges(document, self._now(view, root))
        applied = Applying(self._context).apply(
            name,
            document,
            whole=whole,
            dry_run=dry_run,
            because=f"rolled back to {position}",
            facts={"rolled_back_to": position},
            folder=folder,
        )
        return position, applied

    def _now(self, view: Reading, root: Item) -> dict[str, Json]:
        return whole(view, root)

    def _then(self, view: Reading, root: Item, position: int) -> tuple[dict[str, Json], Folder]:
        start = _find_beginning(view, root)
        if position < start:
            raise _unknown_version(f"there was no spec {spec_id(view, root)} at {position}")
        scratch = self._context.ports.scratch(tuple(view.tables.values()))
        with closing(scratch):
            with scratch.writing(self._context.project) as writing:
                then = _PastSpec(view, writing, root.id)
                then.fold(start, position + 1)
                then.name_others()
            with scratch.reading(self._context.project) as past:
                item = past.find(Item, root.id)
                if item is None:
                    raise _unknown_version(f"there was no spec {spec_id(view, root)} at {position}")
                return whole(past, item), folder_of(item.category, labels_of(past, item.id))


class _PastSpec:
    """Rebuilds one spec from the ledger in empty tables."""

    def __init__(self, view: Reading, writing: Writing, root: str) -> None:
        self._view = view
        self._writing = writing
        self._fold = Fold(writing)
        self._root = root
        self._mine = {name for (name,) in view.cells(Item, ("id",), root=root)}
        self._seen: set[tuple[str, str]] = set()

    def fold(self, start: int, stop: int) -> None:
        """Apply entries from a position and before another."""
        for data in self._view.entries(start, stop):
            fields = load_fields(data)
            images = [image for image in fields.get("r", ()) if self._is_mine(image)]
            if not images:
                continue
            texts_by_reference = {
                reference: self._view.salted(reference) for reference in list_references(data)
            }
            self._writing.keep(
                {
                    reference: text
                    for reference, text in texts_by_reference.items()
                    if text is not None
                }
            )
            for image in images:
                self._fold.write(image, origin_of_fields(fields))

    def name_others(self) -> None:
        """Write the names of work outside of the spec that edges name, and nothing else of it."""
        edges = self._writing.select(Dependency)
        item_ids = {name for edge in edges for name in (edge.item, edge.needs)}
        for attribute in self._writing.select(Attribute, name=DEPENDS):
            item_ids.update(texts_of(value_of(attribute)))
        for some in chunks(sorted(item_ids - self._mine)):
            for item in self._view.select(Item, id=some):
                self._writing.put(Item, _without_texts(item))
            for alias in self._view.select(Alias, item=some):
                self._writing.put(Alias, _without_texts(alias))

    def _is_mine(self, image: Mapping[str, Any]) -> bool:
        """Return whether a row belongs to the spec; a change does if the row it changes did."""
        if image["t"] not in _TABLES:
            return False
        key = image["t"], repr(sorted(image["k"].items()))
        values: Mapping[str, Any] = image.get("v") or {}
        if "c" in image or image.get("v") is None:
            return key in self._seen
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
            self._seen.add(key)
        return is_mine


def _without_texts(row: Noun) -> dict[str, Json]:
    """Return a row without the texts that it refers to."""
    return {
        column.name: "" if column.is_prose else getattr(row, column.name)
        for column in columns(type(row))
    }


def _find_beginning(view: Reading, root: Item) -> int:
    """Return the first entry that can be about a spec: that of its root, unless it holds something older."""
    numbers = view.cells(Item, ("number",), root=root.id)
    if min(number for (number,) in numbers) < root.number:
        return 0
    first = view.sequences(subject=root.id, after=-1, limit=1)
    return first[0] if first else 0


def _parse_position(view: Reading, version: str) -> int:
    end = view.head().size
    position = position_of(version)
    if position is not None:
        if position >= end:
            raise _unknown_version(f"this ledger has no entry {position}: its last is {end - 1}")
        return position
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


def _list_changes(
    view: Reading, nodes: Nodes, end: int, limit: int
) -> tuple[list[PastChange], int]:
    """Return changes of a spec before an entry, and where the next page begins; 0 at the beginning."""
    own_ids = {name for (name,) in view.cells(Item, ("id",), root=nodes.root.id)}
    start = _find_beginning(view, nodes.root)
    changes: list[PastChange] = []
    position, last = end, max(start, end - _SCANNED)
    while position > last and len(changes) < limit:
        begin = max(last, position - _AT_ONCE)
        some = [Entry.from_bytes(data) for data in view.entries(begin, position)]
        for entry in reversed(some):
            position = entry.sequence
            fields = dict(_list_fields(nodes, entry, own_ids))
            if fields:
                changes.append(_build_change(nodes, entry, fields))
                if len(changes) == limit:
                    break
    return changes, position if position > start else 0


def _list_fields(
    nodes: Nodes, entry: Entry, own_ids: set[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the columns that an entry wrote, by node."""
    written: dict[str, dict[str, None]] = {}
    for row in entry.rows:
        if row.table not in _TABLES:
            continue
        columns = {**(row.values or {}), **row.key}
        name = columns.get("id" if row.table == Item.table else "item")
        if isinstance(name, str) and name in own_ids:
            written_columns = written.setdefault(name, {})
            if row.table != Item.table:
                written_columns[row.table] = None
            elif row.whole:
                written_columns["created"] = None
            else:
                written_columns.update(dict.fromkeys(row.values or ()))
    names = nodes.ids([*written][:_TOLD])
    for item, name in names.items():
        yield name, tuple(written[item])


def _build_change(nodes: Nodes, entry: Entry, fields: Mapping[str, tuple[str, ...]]) -> PastChange:
    return PastChange(
        position=entry.sequence,
        at=entry.time,
        agent=entry.actor.name,
        action=entry.action,
        node=nodes.id(entry.subject) if entry.subject else "",
        fields=fields,
    )


def _keep_outside_edges(document: Mapping[str, Json], now: Mapping[str, Json]) -> dict[str, Json]:
    """Return a past document with the present dependencies on work outside of the spec."""
    before, after = nodes_of(now), nodes_of(document)
    nodes: dict[str, Json] = {}
    for name, node in after.items():
        inside = [other for other in dependencies_of(node, "blocked_by") if other in after]
        outside = [
            other
            for other in dependencies_of(before.get(name, {}), "blocked_by")
            if other not in before and other not in after
        ]
        edges = {**object_of(node.get("dependencies")), "blocked_by": [*inside, *outside]}
        edges["blocks"] = [other for other in dependencies_of(node, "blocks") if other in after]
        edges["depends"] = [other for other in dependencies_of(node, "depends") if other in after]
        nodes[name] = {**node, "dependencies": edges}
    return {**document, "hierarchy": nodes}

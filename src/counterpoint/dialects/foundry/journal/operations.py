"""The journal of a spec: records about its items of any dialect.

Rules: (1) an entry is a record about an item of the spec; its type stands in the details, and where another dialect wrote it the
kind of the record says it. (2) An entry about a blocker blocks nothing: only `task block` does. (3) Whether a
completed node has no entry since it was completed is derived, and stored nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import Final

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.journal.rules import ENTRY_TYPE, SHOWN, entry_of, note_kind
from counterpoint.dialects.foundry.models.specs import ROOT, JournalEntry
from counterpoint.dialects.foundry.nodes.queries import Nodes, chunks, get_spec
from counterpoint.dialects.foundry.nodes.rules.progress import is_node
from counterpoint.kernel.canonical import Json

_ALL: Final = 1_000_000
_NUMBERS_AT_ONCE: Final = 200


class Journals(Verbs):
    """Verbs for the journals of specs."""

    def add(
        self,
        spec: str,
        entry_type: str,
        title: str,
        content: str,
        task: str = "",
        metadata: Mapping[str, Json] | None = None,
    ) -> JournalEntry:
        """Write an entry about a node, or about the whole spec; NotFound."""
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            item = nodes.get(task or ROOT)
            name = nodes.id(item.id)
        details: dict[str, Json] = {**(metadata or {}), ENTRY_TYPE: entry_type}
        note = Note(
            kind=note_kind(entry_type), title=title, body=content, item=item.id, details=details
        )
        return entry_of(Journal(self._context).append(note), "" if name == ROOT else name)

    def list(
        self, spec: str, task: str = "", entry_type: str = "", before: int = 0, limit: int = 100
    ) -> list[JournalEntry]:
        """List entries, the newest first, before the one of a number (0: all); NotFound."""
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            if task:
                items = [nodes.get(task).id]
            else:
                items = [name for (name,) in view.cells(Item, ("id",), root=nodes.root.id)]
            return latest(nodes, items, entry_type, before, limit)

    def unjournaled(
        self, spec: str, after: int = 0, limit: int = 100
    ) -> tuple[list[tuple[str, Item]], str]:
        """List completed nodes without an entry since they were completed, after a number, each with its id; NotFound.

        Skipped nodes need no entry. The id of the spec is returned with them.
        """
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, spec))
            unjournaled: list[Item] = []
            while len(unjournaled) < limit:
                items = view.select(
                    Item,
                    root=nodes.root.id,
                    category="done",
                    order="number",
                    after=(after,),
                    limit=_NUMBERS_AT_ONCE,
                )
                untold = _list_unjournaled(view, [item for item in items if _needs_entry(item)])
                # What was done below a removed item is no node any more.
                unjournaled += [
                    item for item in untold if all(map(is_node, line_of(view, item.parent)))
                ]
                if len(items) < _NUMBERS_AT_ONCE:
                    break
                after = items[-1].number
            names = nodes.ids(item.id for item in unjournaled)
            return [(names[item.id], item) for item in unjournaled[:limit]], nodes.spec


def latest(
    nodes: Nodes, items: Sequence[str], entry_type: str = "", before: int = 0, limit: int = 100
) -> list[JournalEntry]:
    """List the entries about some items, the newest first, before the one of a number (0: all)."""
    selected: list[JournalEntry] = []
    while True:
        records = _load_newest(nodes.view, items, before, limit)
        entries = _build_entries(nodes, records)
        selected += [entry for entry in entries if entry_type in {"", entry.entry_type}]
        if len(records) < limit or len(selected) >= limit:
            return selected[:limit]
        before = records[-1].number


def journal_of(nodes: Nodes) -> list[dict[str, Json]]:
    """Return the journal of a spec for its document, the oldest entry first."""
    items = [name for (name,) in nodes.view.cells(Item, ("id",), root=nodes.root.id)]
    entries = _build_entries(nodes, _load_newest(nodes.view, items, 0, _ALL))
    return [document_entry(entry) for entry in reversed(entries)]


def document_entry(entry: JournalEntry) -> dict[str, Json]:
    """Return an entry in the form of documents."""
    document: dict[str, Json] = {
        "timestamp": entry.timestamp,
        "entry_type": entry.entry_type,
        "title": entry.title,
        "content": entry.content,
        "author": entry.author,
        "metadata": dict(entry.metadata),
    }
    return {**document, "task_id": entry.task} if entry.task else document


def _load_newest(view: Reading, items: Sequence[str], before: int, limit: int) -> list[Record]:
    """Return the newest records about some items before a number, the newest first."""
    # Numbers first: to select in that order a database would walk through all records.
    numbers: list[tuple[int, str]] = []
    for some in chunks(items):
        for number, name in view.cells(Record, ("number", "id"), item=some, kind=SHOWN):
            if not before or number < before:
                numbers.append((number, name))
    ids = [name for _, name in nlargest(limit, numbers)]
    records = [record for some in chunks(ids) for record in view.select(Record, id=some)]
    return sorted(records, key=lambda record: record.number, reverse=True)


def _build_entries(nodes: Nodes, records: Iterable[Record]) -> list[JournalEntry]:
    listed = list(records)
    names = nodes.ids(record.item for record in listed)
    return [
        entry_of(record, "" if names[record.item] == ROOT else names[record.item])
        for record in listed
    ]


def _needs_entry(item: Item) -> bool:
    return bool(item.parent) and is_node(item) and item.status != "skipped"


def _list_unjournaled(view: Reading, items: Sequence[Item]) -> list[Item]:
    """Return the items without a record since they were completed."""
    last: dict[str, str] = {}
    for some in chunks([item.id for item in items]):
        for name, at in view.cells(Record, ("item", "created_at"), item=some, kind=SHOWN):
            last[name] = max(last.get(name, ""), at)
    return [item for item in items if last.get(item.id, "") < item.closed_at]

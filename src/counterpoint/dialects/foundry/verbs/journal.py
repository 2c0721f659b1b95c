"""The journal of a spec: what was written about its items in any dialect.

Rules: (1) an entry is a record about an item of the spec; its type stands in the details, and where another dialect wrote it the
kind of the record says it. (2) An entry that tells of a blocker blocks nothing: only `task block` does. (3) That a
completed node has no entry since it was completed is worked out, and kept nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import Final

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.nodes import ROOT
from counterpoint.dialects.foundry.nouns.specs import JournalEntry
from counterpoint.dialects.foundry.rules.entries import ENTRY_TYPE, SHOWN, entry_of, note_kind
from counterpoint.dialects.foundry.rules.standing import is_node
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks, spec_named
from counterpoint.kernel.canonical import Json

_ALL: Final = 1_000_000
_NUMBERS_AT_ONCE: Final = 200


class Journals:
    """Verbs for the journals of specs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def add(
        self,
        spec: str,
        entry_type: str,
        title: str,
        content: str,
        task: str = "",
        metadata: Mapping[str, Json] | None = None,
    ) -> JournalEntry:
        """Write an entry down about a node, or about the whole spec; NotFound."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            item = known.named(task or ROOT)
            name = known.id(item.id)
        details: dict[str, Json] = {**(metadata or {}), ENTRY_TYPE: entry_type}
        note = Note(
            kind=note_kind(entry_type), title=title, body=content, item=item.id, details=details
        )
        return entry_of(Journal(self._context).append(note), "" if name == ROOT else name)

    def list(
        self, spec: str, task: str = "", entry_type: str = "", before: int = 0, limit: int = 100
    ) -> list[JournalEntry]:
        """Return entries, the newest first, before the one of a number (0: all); NotFound."""
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            if task:
                items = [known.named(task).id]
            else:
                items = [name for (name,) in view.cells(Item, ("id",), root=known.root.id)]
            return latest(known, items, entry_type, before, limit)

    def unjournaled(
        self, spec: str, after: int = 0, limit: int = 100
    ) -> tuple[list[tuple[str, Item]], str]:
        """Return completed nodes without an entry since they were completed, beyond a number, each with its id; NotFound.

        What was skipped has nothing to tell of. The id of the spec comes with them.
        """
        with self._context.reading() as view:
            known = Nodes(view, spec_named(view, spec))
            found: list[Item] = []
            while len(found) < limit:
                items = view.select(
                    Item,
                    root=known.root.id,
                    category="done",
                    order="number",
                    after=(after,),
                    limit=_NUMBERS_AT_ONCE,
                )
                untold = _untold(view, [item for item in items if _has_to_tell(item)])
                # What was done below something that was removed is no node any more.
                found += [item for item in untold if all(map(is_node, line_of(view, item.parent)))]
                if len(items) < _NUMBERS_AT_ONCE:
                    break
                after = items[-1].number
            names = known.ids(item.id for item in found)
            return [(names[item.id], item) for item in found[:limit]], known.spec


def latest(
    known: Nodes, items: Sequence[str], entry_type: str = "", before: int = 0, limit: int = 100
) -> list[JournalEntry]:
    """Return the entries about some items, the newest first, before the one of a number (0: all)."""
    found: list[JournalEntry] = []
    while True:
        records = _newest(known.view, items, before, limit)
        entries = _entries(known, records)
        found += [one for one in entries if entry_type in {"", one.entry_type}]
        if len(records) < limit or len(found) >= limit:
            return found[:limit]
        before = records[-1].number


def journal_of(known: Nodes) -> list[dict[str, Json]]:
    """Return the journal of a spec as its document holds it, the oldest entry first."""
    items = [name for (name,) in known.view.cells(Item, ("id",), root=known.root.id)]
    entries = _entries(known, _newest(known.view, items, 0, _ALL))
    return [document_entry(one) for one in reversed(entries)]


def document_entry(entry: JournalEntry) -> dict[str, Json]:
    """Return an entry as a document holds it."""
    found: dict[str, Json] = {
        "timestamp": entry.timestamp,
        "entry_type": entry.entry_type,
        "title": entry.title,
        "content": entry.content,
        "author": entry.author,
        "metadata": dict(entry.metadata),
    }
    return {**found, "task_id": entry.task} if entry.task else found


def _newest(view: Reading, items: Sequence[str], before: int, limit: int) -> list[Record]:
    """Return the newest records about some items before a number, the newest first."""
    # By their numbers first: to have them in that order a database walks through all records there are.
    numbers: list[tuple[int, str]] = []
    for some in chunks(items):
        for number, name in view.cells(Record, ("number", "id"), item=some, kind=SHOWN):
            if not before or number < before:
                numbers.append((number, name))
    wanted = [name for _, name in nlargest(limit, numbers)]
    found = [one for some in chunks(wanted) for one in view.select(Record, id=some)]
    return sorted(found, key=lambda one: one.number, reverse=True)


def _entries(known: Nodes, records: Iterable[Record]) -> list[JournalEntry]:
    listed = list(records)
    names = known.ids(record.item for record in listed)
    return [entry_of(one, "" if names[one.item] == ROOT else names[one.item]) for one in listed]


def _has_to_tell(item: Item) -> bool:
    return bool(item.parent) and is_node(item) and item.status != "skipped"


def _untold(view: Reading, items: Sequence[Item]) -> list[Item]:
    """Return the items without a record since they were completed."""
    last: dict[str, str] = {}
    for some in chunks([item.id for item in items]):
        for name, at in view.cells(Record, ("item", "created_at"), item=some, kind=SHOWN):
            last[name] = max(last.get(name, ""), at)
    return [item for item in items if last.get(item.id, "") < item.closed_at]

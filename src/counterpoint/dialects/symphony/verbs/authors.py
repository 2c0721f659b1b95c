"""What verbs of handing over share: words on the item, its labels, its moves."""

from __future__ import annotations

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import RecordKind
from counterpoint.core.model.work import Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import follow
from counterpoint.kernel.canonical import Json


def note(change: Change, item: str, kind: RecordKind, body: str, **details: Json) -> str:
    """Write a record about an item as a part of a change; answer its id. A blocker is in the way."""
    asked = Note(kind=kind, item=item, body=body, details=details)
    record = Journal(change.context).draft(change, asked, change.open_session(), ())
    change.put(record)
    if kind == "blocker":
        shift(change, change.get(Item, item), 1)
    return record.id


def bring_to_review(change: Change, item: Item) -> Item:
    """Return an item that is in review; one that nobody holds at this moment goes there too."""
    if item.category == "review":
        return item
    if item.status in item.states.parked:
        item = follow(change, item, item.states.first)
    if item.category == "open":
        item = follow(change, item, "active")
    return follow(change, item, "review")

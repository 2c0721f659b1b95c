"""Entries of journals: their types, and the kinds of records that store them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.core.model.journal import NoteKind, Record, RecordKind
from counterpoint.core.model.rows import load_object
from counterpoint.dialects.foundry.models.specs import JournalEntry
from counterpoint.dialects.foundry.nodes.rules.shape import (
    JOURNAL_TYPES,
    RUN_TYPES,
    is_one_of,
    text_of,
)
from counterpoint.kernel.canonical import Json, object_of

ENTRY_TYPE: Final = "entry_type"
"""Where the details of a record say of which type the entry is."""
SOURCE: Final = "source"
"""Where the details of a record that came with a document say who wrote it, and when."""
_KINDS: Final[Mapping[str, NoteKind]] = {
    "status_change": "milestone",
    "deviation": "finding",
    # An open record of the kind `blocker` would stand in the way of the item.
    "blocker": "comment",
    "decision": "decision",
    "note": "comment",
}
_TYPES: Final[Mapping[RecordKind, str]] = {
    "milestone": "status_change",
    "blocker": "blocker",
    "decision": "decision",
    "finding": "note",
    "learning": "note",
    "comment": "note",
    "log": "note",
    "checkpoint": "note",
}
SHOWN: Final[tuple[str, ...]] = tuple(_TYPES)
"""The kinds of records that are entries: not what is counted or measured beside the work."""


def note_kind(entry_type: str) -> NoteKind:
    """Return the kind of the record that an entry of a type becomes."""
    return _KINDS.get(entry_type, "comment")


def said_of(entry: Json) -> tuple[str, ...]:
    """Return what an entry of a document says, without author and time."""
    fields = object_of(entry)
    return tuple(
        text_of(fields.get(name)) for name in ("entry_type", "title", "content", "task_id")
    )


def entry_of(record: Record, task: str) -> JournalEntry:
    """Return a record as an entry; task: the node it is about, empty for the spec."""
    details = load_object(record.details)
    entry_type = text_of(details.pop(ENTRY_TYPE, None))
    known_type = entry_type if is_one_of(entry_type, (*JOURNAL_TYPES, *RUN_TYPES)) else ""
    source = object_of(details.pop(SOURCE, None))
    return JournalEntry(
        number=record.number,
        record=record.id,
        timestamp=text_of(source.get("timestamp")) or record.created_at,
        entry_type=known_type or _TYPES.get(record.kind, "note"),
        title=record.title,
        content=record.body,
        author=text_of(source.get("author")) or record.agent,
        task=task,
        metadata=details,
    )

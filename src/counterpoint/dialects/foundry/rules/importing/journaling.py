"""Entries of a journal that others wrote, as the ledger keeps them.

What an entry has and a record of the ledger has no place for is kept in its metadata under `AS_IMPORTED`. So an entry
that was written out comes in as the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from counterpoint.core.model.work import TITLE_LIMIT
from counterpoint.core.rules.wording import few, first_line
from counterpoint.dialects.foundry.nouns.nodes import AS_IMPORTED
from counterpoint.dialects.foundry.rules.entries import ENTRY_TYPE, SOURCE
from counterpoint.dialects.foundry.rules.importing.drafting import title_of
from counterpoint.dialects.foundry.rules.shape import JOURNAL_TYPES, RUN_TYPES, has_text, text_of
from counterpoint.dialects.foundry.rules.validation.document import is_time
from counterpoint.kernel.canonical import Json, dump_any, object_of

_TEXTS: Final = ("timestamp", "entry_type", "title", "content", "author")
_FIELDS: Final = frozenset({*_TEXTS, "metadata", "task_id"})
_TYPES: Final = frozenset({*JOURNAL_TYPES, *RUN_TYPES})


@dataclass(frozen=True, slots=True)
class Written:
    """An entry as it is kept; told: what was done to it, empty for nothing."""

    entry: dict[str, Json]
    told: str = ""


def written(entry: Json, nodes: Collection[str]) -> Written:
    """Return an entry of a file as it is kept; nodes: those that it may be about. What is no object is the text of a note."""
    if not isinstance(entry, dict):
        entry = {"content": entry if isinstance(entry, str) else dump_any(entry)}
        return Written(written(entry, nodes).entry, "Made a note of what was no entry")
    entry_fields = object_of(entry)
    odd: dict[str, Json] = {key: value for key, value in entry_fields.items() if key not in _FIELDS}
    odd |= {
        key: entry_fields[key]
        for key in _TEXTS
        if not isinstance(entry_fields.get(key), str | None)
    }
    if has_text(when := entry_fields.get("timestamp")) and not is_time(when):
        odd["timestamp"] = when
    title, content = title_of("", entry_fields.get("title")), text_of(entry_fields.get("content"))
    if len(title) > TITLE_LIMIT:
        odd["title"], title = title, title[:TITLE_LIMIT].strip()
    kind = text_of(entry_fields.get("entry_type"))
    if kind and kind not in _TYPES:
        odd["entry_type"], kind = kind, ""
    metadata, more = _metadata(entry_fields.get("metadata"))
    fields: dict[str, Json] = {
        "timestamp": "" if "timestamp" in odd else text_of(entry_fields.get("timestamp")),
        "entry_type": kind or "note",
        "title": title or first_line(content, TITLE_LIMIT),
        "content": content,
        "author": text_of(entry_fields.get("author")),
    }
    about: Json = entry_fields.get("task_id")
    if isinstance(about, str) and about in nodes:
        fields["task_id"] = about
    elif about not in (None, ""):
        odd["task_id"] = about
    odd |= more
    fields["metadata"] = with_kept(metadata, odd) if odd else metadata
    return Written(fields, f"Kept in metadata what has no place: {few([*odd])}" if odd else "")


def _metadata(raw: Json) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the metadata of an entry, and what of it has no place: it is no object, or has a name of a record's own."""
    if not isinstance(raw, dict):
        return {}, {} if raw is None else {"metadata": raw}
    fields = object_of(raw)
    own = {key: fields[key] for key in (ENTRY_TYPE, SOURCE) if key in fields}
    return {key: value for key, value in fields.items() if key not in own}, (
        {"metadata": own} if own else {}
    )


def with_kept(metadata: Mapping[str, Json], values: Mapping[str, Json]) -> dict[str, Json]:
    """Return metadata with values that a file said beside what they keep of one already."""
    before = metadata.get(AS_IMPORTED, {})
    earlier = object_of(before) if isinstance(before, dict) else {AS_IMPORTED: before}
    return {**metadata, AS_IMPORTED: {**earlier, **values}}

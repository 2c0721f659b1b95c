"""Reads what another ledger exported as JSON, and writes it.

    {"format": "counterpoint", "version": 1, "title": …, "description": …, "items": [{"id": …, "title": …, …}]}

The items are those of `ForeignItem` (core/model/foreign.py) under the names of its fields; what has its usual value is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast

from counterpoint.cli.importing.files import (
    FILE_LIMIT,
    json_of,
    list_in,
    objects_in,
    read_text,
    source_error,
    text_in,
    words_in,
)
from counterpoint.core.model.foreign import ForeignItem, ForeignNote, ForeignWork
from counterpoint.kernel.canonical import Json, object_of

TOOL: Final = "counterpoint"
_VERSION: Final = 1
_USUAL: Final = asdict(ForeignItem(id="", title=""))


def read(path: Path) -> list[ForeignWork]:
    """Return the work of an export; MalformedDocument, NotFound."""
    document = object_of(json_of(read_text(path, limit=FILE_LIMIT), path.name))
    if document.get("format") != TOOL or document.get("version") != _VERSION:
        raise source_error(path.name, "it is no export of Counterpoint of version 1")
    items = [
        _item(entry, f"{path.name}, items[{index}]")
        for index, entry in enumerate(objects_in(document, "items"))
    ]
    return [
        ForeignWork(
            tool=TOOL,
            key=text_in(document, "key") or TOOL,
            title=text_in(document, "title"),
            body=text_in(document, "description"),
            items=tuple(items),
        )
    ]


def work_to_json(work: ForeignWork) -> Json:
    """Return work as the JSON that `read` takes."""
    return {
        "format": TOOL,
        "version": _VERSION,
        "key": work.key,
        "title": work.title,
        "description": work.body,
        "items": [
            {
                name: value
                for name, value in asdict(item).items()
                if name in {"id", "title"} or (value != _USUAL[name] and name != "where")
            }
            for item in work.items
        ],
    }


def _item(entry: Mapping[str, Json], where: str) -> ForeignItem:
    priority = entry.get("priority", _USUAL["priority"])
    texts = {
        name: _text(entry, name)
        for name in ("title", "body", "parent", "said", "assignee", "profile")
    }
    lists = {name: words_in(entry, name) for name in ("labels", "needs", "acceptance", "areas")}
    return ForeignItem(
        id=text_in(entry, "id"),
        **cast("dict[str, Any]", texts),
        **cast("dict[str, Any]", lists),
        state=text_in(entry, "state") or "open",
        priority=priority if isinstance(priority, int) else 2,
        is_phase=entry.get("is_phase") is True,
        checks=tuple(
            tuple(map(str, cast("list[Json]", argv)))
            for argv in list_in(entry, "checks")
            if isinstance(argv, list)
        ),
        approval=entry.get("approval") is True,
        review=entry.get("review") is True,
        artifact=entry.get("artifact") is True,
        notes=tuple(
            ForeignNote(
                text=_text(note, "text"), author=_text(note, "author"), at=_text(note, "at")
            )
            for note in objects_in(entry, "notes")
        ),
        facts={name: str(value) for name, value in object_of(entry.get("facts")).items()},
        where=where,
    )


def _text(values: Mapping[str, Json], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""

"""Folds the entries of a ledger into tables, as they must be.

Rules: (1) the rows of each entry are applied in order; what an image leaves out follows from its entry
(core.ledger.derived). (2) A reference to a text becomes what the column keeps of it. (3) An entry that
writes to a table nobody knows, or changes a row that is not there, is a fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from counterpoint.core.ledger.derived import Origin, expand, expand_change, rules
from counterpoint.core.ledger.entry import origin_of_fields, parse_reference
from counterpoint.core.model.rows import Noun, Sort, columns
from counterpoint.core.ports.store import Writing
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import ChainBroken

_TEXT: Final = frozenset((str,))
MOST_REMEMBERED: Final = 50_000
"""Rows of which a replay remembers what changes of them leave out."""


class Fold:
    """Applies the rows of entries, one entry after the other, to tables that begin empty.

    A change leaves out what follows from the row before it: of the rows written last that much is
    remembered, so that it is not read again for each change.
    """

    def __init__(self, writing: Writing) -> None:
        """Write in a transaction."""
        self._writing = writing
        self._before: dict[tuple[str, tuple[Any, ...]], dict[str, Json]] = {}

    def apply(self, fields: Mapping[str, Any]) -> None:
        """Write what the rows of an entry, as its short keys, say; ChainBroken, StateDiffers."""
        origin = origin_of_fields(fields)
        for image in fields.get("r", ()):
            self.write(image, origin)

    def write(self, image: Mapping[str, Any], origin: Origin) -> None:
        """Write what one row image says; ChainBroken if no noun has such a row, StateDiffers."""
        noun = self._writing.tables.get(image["t"])
        if noun is None:
            raise ChainBroken(f"an entry writes to a table {image['t']!r} that there is not")
        if fault := image_fault(noun, image):
            raise ChainBroken(f"an entry writes to {noun.table} {fault}")
        if "c" in image:
            self._change(noun, image, origin)
        elif image["v"] is None:
            self._before.pop(_place(noun, image["k"]), None)
            self._writing.drop(noun, image["k"])
        else:
            row = expand(noun, image["k"], _plain(image["v"]), origin)
            self._remember(noun, image["k"], row)
            self._writing.put(noun, {"project": self._writing.project, **row})

    def _change(self, noun: type[Noun], image: Mapping[str, Any], origin: Origin) -> None:
        key: Mapping[str, Any] = image["k"]
        before = None
        if ruled := rules(noun, whole=False):
            before = self._before.get(_place(noun, key))
            if before is None and (row := self._found(noun, key)):
                before = {name: getattr(row, name) for name, _ in ruled}
        changed = expand_change(noun, before, _plain(image["c"]), origin)
        if before is not None:
            self._remember(noun, key, {**before, **changed})
        self._writing.change(noun, key, changed)

    def _found(self, noun: type[Noun], key: Mapping[str, Any]) -> Noun | None:
        with self._writing.unveiled():
            return self._writing.find(noun, *_place(noun, key)[1])

    def _remember(self, noun: type[Noun], key: Mapping[str, Any], row: Mapping[str, Json]) -> None:
        """Keep what a change may leave out; the row that was written longest ago makes room."""
        if ruled := rules(noun, whole=False):
            row_key = _place(noun, key)
            # Taken out first, so that it goes to the end: a dictionary keeps the order of
            # insertion.
            self._before.pop(row_key, None)
            self._before[row_key] = {name: row[name] for name, _ in ruled}
            if len(self._before) > MOST_REMEMBERED:
                del self._before[next(iter(self._before))]


def image_fault(noun: type[Noun], image: Mapping[str, Any]) -> str:
    """Say in words what keeps a row image from being one of a noun; nothing if nothing does."""
    sorts, key = _sorts(noun), image["k"]
    if key.keys() != set(noun.key[1:]):
        return f"by the key {', '.join(key) or 'of nothing'}"
    wrong = [name for name, value in key.items() if not _is_of(sorts[name], value)]
    columns_written: Mapping[str, Any] = image.get("v", image.get("c")) or {}
    wrong += [
        name
        for name, value in columns_written.items()
        if name in noun.key or name not in sorts or not _is_of(sorts[name], value)
    ]
    return f"what the column {wrong[0]} cannot hold" if wrong else ""


@cache
def _sorts(noun: type[Noun]) -> dict[str, Sort]:
    return {column.name: column.sort for column in columns(noun)}


def _is_of(sort: Sort, value: Any) -> bool:
    """Return whether a JSON value of an entry is of a sort of columns; a reference stands for a text."""
    if sort == "int":
        return type(value) is int
    if sort == "list":
        return type(value) is list and _TEXT.issuperset(map(type, cast("list[Any]", value)))
    if sort == "text":
        return type(value) is str
    # No other key than that of a reference begins with this sign (see entry.py).
    if type(value) is not dict:
        return value == ""
    return next(iter(cast("dict[str, Any]", value)), "").startswith("$")


def _place(noun: type[Noun], key: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    return noun.table, tuple(key.get(name) for name in noun.key[1:])


def _plain(columns: Mapping[str, Any]) -> dict[str, Json]:
    """Return columns with the commitment of each text that they refer to in place of the reference."""
    return {
        name: parse_reference(value) if isinstance(value, dict) else value
        for name, value in columns.items()
    }

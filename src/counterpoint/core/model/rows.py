"""How a noun becomes a row of a table and back: one column a field.

A noun is a frozen dataclass with two class variables: `table`, its name in the store, and `key`, the
fields that find one row (always `project` first). The type of a field says how it is kept:

    type            column   in the ledger        meaning
    str, literals   text     as it is             short words: ids, names, states, times
    int, bool       int      as it is             |n| < 2^53; booleans are 0 and 1
    tuple[str, …]   list     array of text        short words
    Prose           prose    SHA-256 of the text  what people and agents wrote; redactable
    Proses          proses   SHA-256 of the JSON  several such texts, kept as one JSON array
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NewType,
    Protocol,
    TypeVar,
    get_origin,
    get_type_hints,
)

from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json

Prose = NewType("Prose", str)
"""Text that the ledger names by its digest, so that it can be redacted."""

Proses = NewType("Proses", tuple[str, ...])
"""Several texts that the ledger names by one digest."""

REDACTED = "[redacted]"
"""What stands in the place of a prose whose text is gone."""

Sort = Literal["text", "int", "list", "prose", "proses"]
Cell = str | int
"""What a column of a table holds."""


N = TypeVar("N", bound="Noun")


class Column(NamedTuple):
    """One field of a noun and how it is kept."""

    name: str
    sort: Sort


class Noun(Protocol):
    """What every noun has."""

    table: ClassVar[str]
    key: ClassVar[tuple[str, ...]]
    __dataclass_fields__: ClassVar[dict[str, Any]]


@cache
def columns(noun: type[Noun]) -> tuple[Column, ...]:
    """Answer the columns of a noun in the order of its fields."""
    hints = get_type_hints(noun)
    return tuple(Column(f.name, _sort(hints[f.name])) for f in dataclasses.fields(noun))


def _sort(hint: Any) -> Sort:
    if hint is Prose:
        return "prose"
    if hint is Proses:
        return "proses"
    if hint is int or hint is bool:
        return "int"
    if get_origin(hint) is tuple:
        return "list"
    return "text"


def prose_of(column: Column, value: Any) -> str:
    """Answer the text that a prose column keeps; empty for an empty value."""
    if column.sort == "proses":
        return canonical.dump(list(value)).decode() if value else ""
    return str(value)


def image_of(noun: Noun, texts: dict[str, str]) -> dict[str, Json]:
    """Answer the row as the ledger holds it; puts each prose into `texts` by its digest."""
    row: dict[str, Json] = {}
    for column in columns(type(noun)):
        value = getattr(noun, column.name)
        if column.sort == "int":
            row[column.name] = int(value)
        elif column.sort == "list":
            row[column.name] = list(value)
        elif column.sort == "text":
            row[column.name] = value
        else:
            row[column.name] = _keep(prose_of(column, value), texts)
    return row


def _keep(text: str, texts: dict[str, str]) -> str:
    if not text:
        return ""
    digest = canonical.text_digest(text)
    texts[digest] = text
    return digest


def empty_row(noun: type[Noun]) -> dict[str, Json]:
    """Answer the image of a row in which everything is empty: what a whole image leaves out."""
    empty: dict[Sort, Json] = {"int": 0, "list": [], "text": "", "prose": "", "proses": ""}
    return {name: empty[sort] for name, sort in columns(noun)}


def cell_of(value: Json) -> Cell:
    """Answer what a table holds for a value of a row image."""
    if isinstance(value, str | int):
        return value
    return canonical.dump(value).decode()


def noun_of(noun: type[N], cells: Mapping[str, Any]) -> N:
    """Answer the noun of a row whose prose columns hold their texts (None: redacted)."""
    fields: dict[str, Any] = dict(cells)
    for name, read in _readers(noun):
        fields[name] = read(fields[name])
    return noun(**fields)


@cache
def _readers(noun: type[Noun]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """Answer how each column that is not kept as it is becomes a field again."""
    hints = get_type_hints(noun)
    readers: list[tuple[str, Callable[[Any], Any]]] = []
    for name, sort in columns(noun):
        if sort in _READERS:
            readers.append((name, _READERS[sort]))
        elif hints[name] is bool:
            readers.append((name, bool))
    return tuple(readers)


def _read_prose(text: str | None) -> str:
    return REDACTED if text is None else text


def _read_proses(text: str | None) -> tuple[str, ...]:
    if text is None:
        return (REDACTED,)
    return tuple(canonical.load(text)) if text else ()


def _read_list(text: str) -> tuple[str, ...]:
    return tuple(canonical.load(text))


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "prose": _read_prose,
    "proses": _read_proses,
    "list": _read_list,
}

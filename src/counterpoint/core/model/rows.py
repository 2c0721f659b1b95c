"""How a noun becomes a row of a table and back: one column a field.

A noun is a frozen dataclass with slots and two class variables: `table`, its name in the store, and `key`, the
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
from collections.abc import Callable, Mapping, Sequence
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

_CELLS = (str, int)


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
    """Return the columns of a noun in the order of its fields."""
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
    """Return the text that a prose column keeps; empty for an empty value."""
    if column.sort == "proses":
        return canonical.dump(list(value)).decode() if value else ""
    return str(value)


def image_of(noun: Noun, texts: dict[str, str]) -> dict[str, Json]:
    """Return the row as the ledger holds it; puts each prose into `texts` by its digest."""
    return {
        column.name: _image(column, getattr(noun, column.name), texts)
        for column in columns(type(noun))
    }


def changes_of(before: Noun, after: Noun, texts: dict[str, str]) -> dict[str, Json]:
    """Return the part of the image of `after` that differs from `before`, a row of the same noun."""
    return {
        column.name: _image(column, value, texts)
        for column in columns(type(after))
        if (value := getattr(after, column.name)) != getattr(before, column.name)
    }


def _image(column: Column, value: Any, texts: dict[str, str]) -> Json:
    if column.sort == "text":
        return value
    if column.sort == "int":
        return int(value)
    if column.sort == "list":
        return list(value)
    return _keep(prose_of(column, value), texts)


def _keep(text: str, texts: dict[str, str]) -> str:
    if not text:
        return ""
    digest = canonical.text_digest(text)
    texts[digest] = text
    return digest


def load_object(text: str) -> dict[str, Json]:
    """Return the JSON object that a prose keeps; an empty one if there is none or it was redacted."""
    return {} if text in {"", REDACTED} else canonical.object_of(canonical.load(text))


def empty_row(noun: type[Noun]) -> dict[str, Json]:
    """Return the image of a row in which everything is empty: what a whole image leaves out."""
    empty: dict[Sort, Json] = {"int": 0, "list": [], "text": "", "prose": "", "proses": ""}
    return {name: empty[sort] for name, sort in columns(noun)}


def cell_of(value: Json) -> Cell:
    """Return what a table holds for a value of a row image."""
    # A tuple, made once: this is asked for every column of every row that is written.
    if isinstance(value, _CELLS):
        return value
    return canonical.dump(value).decode()


def noun_of(noun: type[N], cells: Sequence[Any]) -> N:
    """Return the noun of a row, in the order of its columns; prose as its text (None: redacted)."""
    write, readers = _writers(noun), _readers(noun)
    if readers:
        cells = list(cells)
        for place, read in readers:
            cells[place] = read(cells[place])
    # Twice as fast as calling the noun: reading rows is most of what the product does.
    made = object.__new__(noun)
    for put, value in zip(write, cells, strict=True):
        put(made, value)
    return made


@cache
def _writers(noun: type[Noun]) -> tuple[Callable[[Any, Any], None], ...]:
    """Return what sets each slot of a fresh noun, in the order of the columns."""
    return tuple(getattr(noun, column.name).__set__ for column in columns(noun))


@cache
def _readers(noun: type[Noun]) -> tuple[tuple[int, Callable[[Any], Any]], ...]:
    """Return the places of columns that are not kept as they are, and what makes each a field."""
    hints = get_type_hints(noun)
    readers: list[tuple[int, Callable[[Any], Any]]] = []
    for place, (name, sort) in enumerate(columns(noun)):
        if sort in _READERS:
            readers.append((place, _READERS[sort]))
        elif hints[name] is bool:
            readers.append((place, bool))
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

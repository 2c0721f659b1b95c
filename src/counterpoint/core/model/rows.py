"""How a noun becomes a row of a table and back: one column a field.

A noun is a frozen dataclass with slots, drawn from `Noun`. The type of a field says how it is kept, and
whether secrets in it are masked before it is written; a field of any other type is refused.

    type                  SQLite   PostgreSQL  in the ledger        masked            holds
    Id                    TEXT     text        as it is             no                an id made here, or found in a table
    Word, Literal[…]      TEXT     text        as it is             no                a word of the program's own: a state, a method
    Time, Timestamp       TEXT     text        as it is             no                a time as `kernel.clock` writes it, or nothing
    Digest                TEXT     text        as it is             no                a hash or a signature of what is no text
    Name                  TEXT     text        as it is             yes               a short text that anybody may have written
    Names                 TEXT     text        array of text        yes, each         several of them, kept as a JSON array
    int, bool             INTEGER  bigint      as it is             no                |n| < 2^53; booleans are 0 and 1
    Prose                 BLOB     bytea       commitment           yes               what people and agents wrote; redactable
    JsonText              BLOB     bytea       commitment           value by value    such a text that is JSON, and stays JSON
    Proses                BLOB     bytea       commitment           yes, each         several texts, kept as one JSON array
    PlainHash             BLOB     bytea       commitment           yes               a hash of what may be a text; goes with it

The last four are kept in `texts` with a salt each, by their commitments (kernel.canonical); their columns
hold the first half of the commitment, or none. So no hash outlives the text that it is of. Texts
compare byte by byte in both databases. Which columns full-text search reads is said by the noun (`Searched`).

Agent is a Name, InSession and Root are Ids, Touched is a Timestamp, Number and Version are ints, of which
an entry of the ledger need not tell what it tells elsewhere (see core.ledger.derived).
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NewType,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

Id = Annotated[str, "id"]
InSession = Annotated[str, "session"]
Root = Annotated[str, "root"]
Word = Annotated[str, "word"]
Time = Annotated[str, "time"]
Digest = Annotated[str, "digest"]
Name = Annotated[str, "name"]
Agent = Annotated[str, "agent"]
Names = Annotated[tuple[str, ...], "names"]
Touched = Annotated[Timestamp, "touched"]
Number = Annotated[int, "number"]
Version = Annotated[int, "version"]
Prose = NewType("Prose", str)
JsonText = Annotated[Prose, "json"]
Proses = NewType("Proses", tuple[str, ...])
PlainHash = Annotated[Prose, "hash"]

REDACTED = "[redacted]"
"""What stands in the place of a prose whose text is gone."""

Sort = Literal["text", "int", "list", "prose", "proses", "hash"]
Masking = Literal["no", "text", "json"]
Cell = str | int
"""What a column of a table holds."""

_CELLS = (str, int)
_PLAIN: Mapping[str, type] = {"int": int, "bool": bool}
_KINDS: Mapping[Any, tuple[Sort, Masking]] = {
    **dict.fromkeys((Id, InSession, Root, Word, Digest), ("text", "no")),
    **dict.fromkeys((Time, Timestamp, Touched), ("text", "no")),
    **dict.fromkeys((int, bool, Number, Version), ("int", "no")),
    **dict.fromkeys((Name, Agent), ("text", "text")),
    Names: ("list", "text"),
    Prose: ("prose", "text"),
    JsonText: ("prose", "json"),
    Proses: ("proses", "text"),
    PlainHash: ("hash", "text"),
}

Keep = Callable[[str], str]
"""Keeps a text with a salt, and answers its commitment."""

N = TypeVar("N", bound="Noun")


class Column(NamedTuple):
    """One field of a noun and how it is kept."""

    name: str
    sort: Sort
    masking: Masking

    @property
    def is_prose(self) -> bool:
        """Whether the column holds the commitment of a text that is kept elsewhere."""
        return self.sort in {"prose", "proses", "hash"}


@frozen
class Searched:
    """Which columns of a noun full-text search reads, and how a hit in it is named.

    title, body: those that are read; a title counts four times as much. about: the column that names
    what a hit is about. kind: the column with the kind of a hit; empty: the noun's own name.
    """

    body: str
    about: str
    title: tuple[str, ...] = ()
    kind: str = ""


@frozen
class Partial:
    """Indexes of those rows of a noun in which a column holds one of some words.

    A question that names one of the words reads them; what is over and done with takes no room in them.
    """

    column: str
    words: tuple[str, ...]
    indexes: tuple[str, ...]


@frozen
class Noun:
    """What every noun has: a project, a table, and the fields that find one row of it.

    key: begins with `project`. letter: stands before the number in its ids (`x-r12`), if it has such.
    indexes, unique: what is asked for besides the key, each as columns after the project with commas;
    of what is unique a project has one row only. partial: such indexes of some of the rows.
    """

    table: ClassVar[str]
    key: ClassVar[tuple[str, ...]]
    letter: ClassVar[str] = ""
    indexes: ClassVar[tuple[str, ...]] = ()
    unique: ClassVar[tuple[str, ...]] = ()
    partial: ClassVar[Partial | None] = None
    searched: ClassVar[Searched | None] = None

    project: Id


@cache
def hints_of(noun: type[Noun]) -> Mapping[str, Any]:
    """Return the type of each field of a noun, as its column is chosen by it."""
    hints: dict[str, Any] = {}
    for base in reversed(noun.__mro__):
        # Nearly all are plain names: to look them up takes a tenth of what `typing` does for any annotation.
        names = vars(sys.modules[base.__module__])
        for name, text in vars(base).get("__annotations__", {}).items():
            hints[name] = names.get(text, _PLAIN.get(text))
    known_hints = {field.name: hints.get(field.name) for field in dataclasses.fields(noun)}
    if None in known_hints.values():
        return get_type_hints(noun, include_extras=True)
    return known_hints


@cache
def columns(noun: type[Noun]) -> tuple[Column, ...]:
    """Return the columns of a noun in the order of its fields; TypeError for a field of no kind."""
    hints = hints_of(noun)
    return tuple(_column(noun, field.name, hints[field.name]) for field in dataclasses.fields(noun))


def _column(noun: type[Noun], name: str, hint: Any) -> Column:
    if get_origin(hint) is Literal and all(isinstance(word, str) for word in get_args(hint)):
        return Column(name, "text", "no")
    kind = _KINDS.get(hint)
    if kind is None:
        raise TypeError(f"{noun.__name__}.{name} is of no type that says how a column is kept")
    return Column(name, *kind)


@cache
def shared_fields(view: type, noun: type[Noun]) -> tuple[str, ...]:
    """Return the fields that a noun has by the same name as what somebody asks for."""
    names = {field.name for field in dataclasses.fields(noun)}
    return tuple(field.name for field in dataclasses.fields(view) if field.name in names)


@cache
def masked_columns(noun: type[Noun]) -> tuple[Column, ...]:
    """Return the columns of a noun that may hold a secret."""
    return tuple(column for column in columns(noun) if column.masking != "no")


@cache
def prose_columns(noun: type[Noun]) -> tuple[str, ...]:
    """Return the names of the columns of a noun that hold commitments of texts."""
    return tuple(column.name for column in columns(noun) if column.is_prose)


def prose_of(column: Column, value: Any) -> str:
    """Return the text that a prose column keeps; empty for an empty value."""
    if column.sort == "proses":
        return canonical.dump(list(value)).decode() if value else ""
    return str(value)


class _Layout(NamedTuple):
    """The columns of a noun, and those that its image holds in another form than its fields."""

    names: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]
    flags: tuple[str, ...]
    lists: tuple[str, ...]
    proses: tuple[Column, ...]


@cache
def _layout(noun: type[Noun]) -> _Layout:
    hints, every = hints_of(noun), columns(noun)
    return _Layout(
        names=tuple(column.name for column in every),
        values=attrgetter(*(column.name for column in every)),
        flags=tuple(column.name for column in every if hints[column.name] is bool),
        lists=tuple(column.name for column in every if column.sort == "list"),
        proses=tuple(column for column in every if column.is_prose),
    )


def image_of(noun: Noun, keep: Keep) -> dict[str, Json]:
    """Return the row as the ledger holds it, each prose as the commitment that `keep` answers."""
    names, values, flags, lists, proses = _layout(type(noun))
    image: dict[str, Json] = dict(zip(names, values(noun), strict=True))
    for name in flags:
        image[name] = int(image[name])
    for name in lists:
        image[name] = list(image[name])
    for column in proses:
        value = image[column.name]
        if value:
            text = prose_of(column, value) if column.sort == "proses" else value
            image[column.name] = keep(text)
        else:
            image[column.name] = ""
    return image


def changes_of(before: Noun, after: Noun, keep: Keep) -> dict[str, Json]:
    """Return the part of the image of `after` that differs from `before`, a row of the same noun."""
    values = _layout(type(after)).values
    return {
        column.name: _image(column, value, keep)
        for column, old, value in zip(
            columns(type(after)), values(before), values(after), strict=True
        )
        if value != old
    }


def _image(column: Column, value: Any, keep: Keep) -> Json:
    if column.sort == "text":
        return value
    if column.sort == "int":
        return int(value)
    if column.sort == "list":
        return list(value)
    return keep(prose_of(column, value)) if value else ""


def load_object(text: str) -> dict[str, Json]:
    """Return the JSON object that a prose keeps; an empty one if there is none or it was redacted."""
    return {} if text in {"", REDACTED} else canonical.object_of(canonical.load(text))


def empty_row(noun: type[Noun]) -> dict[str, Json]:
    """Return the image of a row in which everything is empty: what a whole image leaves out."""
    empty: dict[Sort, Json] = {
        "int": 0,
        "list": [],
        "text": "",
        "prose": "",
        "proses": "",
        "hash": "",
    }
    return {column.name: empty[column.sort] for column in columns(noun)}


def cell_of(value: Json) -> Cell:
    """Return what a table holds for a value of a row image."""
    # A tuple, made once: this is asked for every column that changes.
    if isinstance(value, _CELLS):
        return value
    return canonical.dump(value).decode()


def cells_of(noun: type[Noun], image: Mapping[str, Json]) -> dict[str, Cell]:
    """Return what a table holds for a whole row image, in the order of its columns."""
    names, _, _, lists, _ = _layout(noun)
    cells = {name: image[name] for name in names}
    for name in lists:
        cells[name] = cell_of(cells[name]) if cells[name] else "[]"
    return cells


def noun_of(noun: type[N], cells: Sequence[Any]) -> N:
    """Return the noun of a row, in the order of its columns; prose as its text (None: redacted)."""
    write, readers = _writers(noun), _readers(noun)
    if readers:
        cells = list(cells)
        for index, read in readers:
            cells[index] = read(cells[index])
    # Twice as fast as calling the noun: reading rows is most of what the product does.
    row = object.__new__(noun)
    for put, value in zip(write, cells, strict=True):
        put(row, value)
    return row


def replace_cells(row: N, cells: Mapping[str, Any]) -> N:
    """Return a row as it is once some of its cells, none of prose, are these."""
    read = _named_readers(type(row))
    fields = {name: read[name](value) if name in read else value for name, value in cells.items()}
    return dataclasses.replace(row, **fields)


@cache
def _writers(noun: type[Noun]) -> tuple[Callable[[Any, Any], None], ...]:
    """Return what sets each slot of a fresh noun, in the order of the columns."""
    return tuple(getattr(noun, column.name).__set__ for column in columns(noun))


@cache
def _readers(noun: type[Noun]) -> tuple[tuple[int, Callable[[Any], Any]], ...]:
    """Return the places of columns that are not kept as they are, and what makes each a field."""
    hints = hints_of(noun)
    readers: list[tuple[int, Callable[[Any], Any]]] = []
    for index, (name, sort, _) in enumerate(columns(noun)):
        if sort in _READERS:
            readers.append((index, _READERS[sort]))
        elif hints[name] is bool:
            readers.append((index, bool))
    return tuple(readers)


@cache
def _named_readers(noun: type[Noun]) -> Mapping[str, Callable[[Any], Any]]:
    """Return the same by the names of the columns."""
    return {columns(noun)[index].name: read for index, read in _readers(noun)}


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
    "hash": _read_prose,
    "proses": _read_proses,
    "list": _read_list,
}

"""What the row images of an entry leave out, because the entry says it elsewhere.

A column is left out if its value is the one that its rule gives; any other value is written, an empty one
too. So nothing is lost: `expand` gives back what `compact` was given. The type of a field says which rule
its column has (see model/rows.py); a column of any other type has none.

    type       in a whole image (v)                    in a change (c)
    Timestamp  the time of the entry (t)               –
    Touched    the time of the entry (t)               the time of the entry (t)
    Agent      the name of who acted (w.n)             –
    InSession  the session of who acted (w.s, or "")   –
    Number     the digits at the end of the last       –
               column of the key, 0 without any
    Root       the column `parent`, or the last        –
               column of the key if that is empty
    Version    1                                       one more than it was

Every other column that a whole image leaves out is empty ("", 0 or []); every other column that a change
leaves out stays as it was. Columns of the key, and `project`, stand in no image. A category is written
although it follows from the state: whoever reads a ledger need not know every table of states.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

from counterpoint.core.model.rows import (
    Agent,
    InSession,
    Noun,
    Number,
    Root,
    Touched,
    Version,
    empty_row,
    hints_of,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.matching.expressions import expression

Rule = Literal["time", "touched", "agent", "session", "number", "root", "version"]
Row = Mapping[str, Json]

_RULES: Final[Mapping[object, Rule]] = {
    Timestamp: "time",
    Touched: "touched",
    Agent: "agent",
    InSession: "session",
    Number: "number",
    Root: "root",
    Version: "version",
}
_PLACES: Final[Mapping[Rule, int]] = {"time": 0, "touched": 0, "agent": 1, "session": 2}
"""What of an origin a rule gives."""
_DIGITS: Final = expression(r"[0-9]{1,15}\Z")


class Origin(NamedTuple):
    """What an entry says of all its rows: when, and by whom, in which session."""

    time: str
    agent: str
    session: str


@cache
def rules(noun: type[Noun], *, whole: bool) -> tuple[tuple[str, Rule], ...]:
    """Return the columns of a noun that a whole image (or a change) may leave out, with their rules."""
    columns: list[tuple[str, Rule]] = []
    for name, hint in hints_of(noun).items():
        rule = _RULES.get(hint)
        if rule and name not in noun.key and (whole or rule in {"touched", "version"}):
            columns.append((name, rule))
    return tuple(columns)


def compact(noun: type[Noun], key: Row, row: Row, origin: Origin) -> dict[str, Json]:
    """Return the columns of a whole image. row: every column of the noun."""
    image = {
        name: value
        for name, value in row.items()
        if value and name not in key and name != "project"
    }
    for name, value in _derived(noun, key, row, origin):
        if row[name] == value:
            image.pop(name, None)
        elif value:
            image[name] = row[name]
    return image


def expand(noun: type[Noun], key: Row, image: Row, origin: Origin) -> dict[str, Json]:
    """Return every column of the noun but `project`, from the columns of a whole image."""
    row = {**empty_row(noun), **key, **image}
    derived = _derived(noun, key, row, origin)
    row |= {name: value for name, value in derived if name not in image}
    del row["project"]
    return row


def compact_change(noun: type[Noun], before: Row, changed: Row, origin: Origin) -> dict[str, Json]:
    """Return the columns of a change. before: what those with a rule were; changed: what is another."""
    image = dict(changed)
    for name, rule in rules(noun, whole=False):
        was = before[name]
        value = origin.time if rule == "touched" else was + 1
        if changed.get(name, was) == value:
            image.pop(name, None)
        else:
            image[name] = changed.get(name, was)
    return image


def expand_change(
    noun: type[Noun], before: Row | None, image: Row, origin: Origin
) -> dict[str, Json]:
    """Return what a change changes. before: as for `compact_change`; None: the version is left out."""
    changed = dict(image)
    for name, rule in rules(noun, whole=False):
        if before is None:
            if rule == "touched":
                changed.setdefault(name, origin.time)
            continue
        was = before[name]
        value = image.get(name, origin.time if rule == "touched" else was + 1)
        if value == was:
            changed.pop(name, None)
        else:
            changed[name] = value
    return changed


def fill_columns(
    noun: type[Noun], key: Row, image: Row | None, origin: Origin, *, whole: bool
) -> dict[str, Json] | None:
    """Return the columns of an image with those that it leaves out filled in; None for a deleted row.

    For a reader without the tables: of a whole row the columns that are not empty, else the changed ones.
    """
    if image is None:
        return None
    if not whole:
        return expand_change(noun, None, image, origin)
    row = expand(noun, key, image, origin)
    return {name: value for name, value in row.items() if value and name not in key}


def _derived(noun: type[Noun], key: Row, row: Row, origin: Origin) -> list[tuple[str, Json]]:
    """Return what the rules give for the columns of a whole image that have one."""
    last = key.get(noun.key[-1])
    derived: list[tuple[str, Json]] = []
    for name, rule in rules(noun, whole=True):
        if rule == "root":
            derived.append((name, row.get("parent") or last))
        elif rule == "number":
            digits = _DIGITS.search(last) if isinstance(last, str) else None
            derived.append((name, int(digits[0]) if digits else 0))
        elif rule == "version":
            derived.append((name, 1))
        else:
            derived.append((name, origin[_PLACES[rule]]))
    return derived

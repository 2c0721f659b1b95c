"""Reads entries block by block, and checks each rule for a whole block at once.

What is a valid entry is said in entry.py, and `load_fields` there is the measure: a block is answered here
if and only if `load_fields` answers each of its entries. To ask them one after the other takes three times
as long, for the rules are many and each is small. So a block is taken apart into columns (all versions, all
times, all keys of rows …), and a rule is a question to a column, which C code answers: which types are in
it, which values at all. Where an answer is not the one of sound entries, nothing is said about which entry
is wrong, or how: whoever asked goes through the block entry by entry.

Rules that are asked in another way than in entry.py, and why it is the same question:

    times     with each digit made 0, a time of 24 characters is 0000-00-00T00:00:00.000Z
    digests   with each hex digit taken away, 64 characters are none
    order     the bytes are what the value is dumped to, so keys are met in their order
    profile   layer by layer down from facts and rows, no value is a fraction and no key beyond ASCII; the
              other places cannot have such: their keys and the types of their values are told
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import orjson

from counterpoint.core.ledger.entry import (
    ACTION,
    CANONICAL,
    VERSION,
    Parsed,
    has_other_reference,
    is_who,
)

SIZE: Final = 64
"""How many entries are read at once: enough to ask once for all, few enough to stay in the cache of the processor."""

Fields = dict[str, Any]
"""What an entry holds, by its short keys."""

_TEXT, _INTEGER, _OBJECT = frozenset((str,)), frozenset((int,)), frozenset((dict,))
_VALUES = dict[str, Any].values
_KEY_CELLS = frozenset((str, int))
_TIME: Final = b"0000-00-00T00:00:00.000Z"
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_HEX: Final = b"0123456789abcdef"
_HEX_DIGITS: Final = 64


def load_block(block: Sequence[bytes]) -> list[Fields] | None:
    """Return what each entry of a block holds; None if one of them is no valid entry."""
    written = b"[%b]" % b",".join(block)
    try:
        values: list[Any] = list(map(orjson.loads, block))
        # Together they are in the one spelling only if each is: an object ends where its bytes end.
        if orjson.dumps(values, option=CANONICAL) != written:
            return None
        if has_other_reference(written):
            return None
        return values if _are_entries(values, is_ascii=written.isascii()) else None
    except (LookupError, TypeError, ValueError):
        return None


def _are_entries(values: list[Any], *, is_ascii: bool) -> bool:
    """Return whether all values have the layout of an entry, or raise that they have not.

    What should be an object and is none raises TypeError as soon as one looks into it; a key that is
    not there raises LookupError, a time that no calendar has ValueError.
    """
    actions, previous, numbers, projects, times, versions, actors = zip(
        *map(itemgetter(*"ahnptvw"), values), strict=True
    )
    subjects, facts, lists = _given(values, "s"), _given(values, "f"), _given(values, "r")
    return (
        # Each has seven keys at least: so none has another one if all have no more than these.
        sum(map(len, values)) == 7 * len(values) + len(subjects) + len(facts) + len(lists)
        and _INTEGER.issuperset(map(type, versions))
        and set(versions) == {VERSION}
        and _are_texts(projects)
        and _INTEGER.issuperset(map(type, numbers))
        and min(numbers) >= 0
        and _are_times(times)
        and all(map(is_who, map(orjson.loads, set(map(orjson.dumps, actors)))))
        and _are_texts(actions)
        and all(map(ACTION.fullmatch, set(actions)))
        and _are_texts(subjects)
        and _are_digests(previous)
        and all(facts)
        and all(lists)
        and _are_rows(list(chain.from_iterable(lists)), facts, is_ascii=is_ascii)
    )


def _are_rows(rows: list[Any], facts: list[Any], *, is_ascii: bool) -> bool:
    """Return whether all are row images, and they and the facts are in the profile."""
    keys, tables = list(map(itemgetter("k"), rows)), list(map(itemgetter("t"), rows))
    columns = [row["v"] if "v" in row else row["c"] for row in rows]
    if not _OBJECT.issuperset(map(type, columns)):
        if None in _given(rows, "c"):
            return False
        columns = [image for image in columns if image is not None]  # rows that are deleted
    return (
        sum(map(len, rows)) == 3 * len(rows)
        and _are_texts(tables)
        and _KEY_CELLS.issuperset(map(type, chain.from_iterable(map(_VALUES, keys))))
        and _are_in_profile([*facts, *columns], is_ascii=is_ascii)
        and (is_ascii or _are_in_profile(keys, is_ascii=False))
    )


def _are_in_profile(objects: list[Any], *, is_ascii: bool) -> bool:
    """Return whether no value is a fraction and every key is ASCII, in objects and all below them."""
    while objects:
        if not is_ascii and not all(map(str.isascii, chain.from_iterable(objects))):
            return False
        cells: list[Parsed] = list(chain.from_iterable(map(_VALUES, objects)))
        types = set(map(type, cells))
        while list in types:
            inner = chain.from_iterable([cell for cell in cells if type(cell) is list])
            cells = [*[cell for cell in cells if type(cell) is not list], *inner]
            types = set(map(type, cells))
        if float in types:
            return False
        objects = [cell for cell in cells if type(cell) is dict] if dict in types else []
    return True


def _are_texts(column: Sequence[Any]) -> bool:
    """Return whether all are texts that are not empty."""
    return _TEXT.issuperset(map(type, column)) and all(column)


def _are_times(column: Sequence[Any]) -> bool:
    if not _TEXT.issuperset(map(type, column)) or set(map(len, column)) != {len(_TIME)}:
        return False
    list(map(datetime.fromisoformat, column))
    return "".join(column).encode().translate(_ZEROS) == _TIME * len(column)


def _are_digests(column: Sequence[Any]) -> bool:
    if not _TEXT.issuperset(map(type, column)) or set(map(len, column)) != {_HEX_DIGITS}:
        return False
    return not "".join(column).encode().translate(None, _HEX)


def _given(values: list[Any], name: str) -> list[Any]:
    """Return what those of the objects that have it hold under a key."""
    return [value[name] for value in values if name in value]

"""Entries read by the block: the same are valid as when each is read alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.ledger.blocks import load_block
from counterpoint.core.ledger.entry import Entry, load_fields
from counterpoint.kernel.errors import MalformedDocument
from fakes.entries import ENTRIES, FAULTS, OUTSIDE, SPELLINGS, TEXTS, VALUES, dump

PLACES = ("$text", "a", "f", "h", "k", "n", "p", "r", "s", "t", "v", "w", "c", "i", "x", "ü")


def is_valid(data: bytes) -> bool:
    """Answer whether an entry can be read alone."""
    try:
        load_fields(data)
    except MalformedDocument:
        return False
    return True


@given(st.lists(ENTRIES, min_size=1, max_size=5))
def test_a_block_of_entries_is_read_as_each_of_them(entries: list[Entry]) -> None:
    """Whatever valid entries stand together, each is answered as alone."""
    block = [entry.to_bytes() for entry in entries]
    assert load_block(block) == [load_fields(data) for data in block]


@pytest.mark.parametrize(("key", "wrong"), FAULTS)
def test_a_block_with_a_wrong_field_is_not_answered(entry: Entry, key: str, wrong: object) -> None:
    value = orjson.loads(entry.to_bytes()) | {key: wrong}
    assert load_block([entry.to_bytes(), dump(value), entry.to_bytes()]) is None


def test_a_block_with_a_key_that_no_entry_has_is_not_answered(entry: Entry) -> None:
    more = orjson.loads(entry.to_bytes()) | {"x": 1}
    less = {key: value for key, value in orjson.loads(entry.to_bytes()).items() if key != "s"}
    assert load_block([dump(more)]) is None
    assert load_block([dump(more), dump(less)]) is None


@pytest.mark.parametrize("wrong", [None, [], "text", 1, {}, {"a": 1}])
def test_a_block_with_something_else_is_not_answered(entry: Entry, wrong: object) -> None:
    """Another JSON value, or an object with other keys, is no entry."""
    assert load_block([entry.to_bytes(), dump(wrong)]) is None


@pytest.mark.parametrize("wrong", OUTSIDE)
def test_a_block_outside_of_the_profile_is_not_answered(
    entry: Entry, wrong: dict[str, Any]
) -> None:
    """Fractions, large numbers and keys that are not ASCII are found at every depth."""
    value = orjson.loads(entry.to_bytes()) | wrong
    assert load_block([entry.to_bytes(), dump(value)]) is None


@pytest.mark.parametrize("spoil", SPELLINGS)
def test_a_block_with_another_spelling_is_not_answered(
    entry: Entry, spoil: Callable[[bytes], bytes]
) -> None:
    """Bytes that say the same in another way are no entry."""
    assert load_block([spoil(entry.to_bytes()), entry.to_bytes()]) is None


def test_a_block_with_deleted_rows_is_answered(entry: Entry) -> None:
    """A deleted row tells no columns; those beside it are looked at all the same."""
    image = {"t": "claims", "k": {"item": "cp-1"}, "v": None}
    sound = orjson.loads(entry.to_bytes()) | {"r": [image]}
    wrong = orjson.loads(entry.to_bytes()) | {"r": [image, {**image, "v": {"share": 0.5}}]}
    assert load_block([dump(sound), entry.to_bytes()]) == [sound, load_fields(entry.to_bytes())]
    assert load_block([dump(sound), dump(wrong)]) is None


def test_entries_that_are_one_only_together_are_not_answered(entry: Entry) -> None:
    """What is cut in another place is not mended by its neighbour."""
    first, second = entry.to_bytes(), entry.to_bytes()
    assert load_block([first + b"," + second[:9], second[9:]]) is None
    assert load_block([first[:9], first[9:]]) is None


@given(
    ENTRIES,
    st.lists(st.sampled_from(PLACES) | st.integers(0, 2), min_size=1, max_size=4),
    VALUES | st.floats(allow_nan=False) | st.dictionaries(TEXTS, VALUES, max_size=2),
)
def test_a_block_is_answered_if_and_only_if_each_entry_is_valid(
    entry: Entry, path: list[str | int], free: Any
) -> None:
    """Any value put anywhere into an entry is judged alike in a block and alone."""
    value = orjson.loads(entry.to_bytes())
    place: Any = value
    for step in path[:-1]:
        if (isinstance(place, dict) and step in place) or (
            isinstance(place, list) and isinstance(step, int) and step < len(place)
        ):
            place = place[step]
    if isinstance(place, dict):
        place[str(path[-1])] = free
    elif isinstance(place, list):
        place.append(free)
    data = dump(value)
    assert (load_block([entry.to_bytes(), data]) is not None) == is_valid(data)

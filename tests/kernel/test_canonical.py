"""Canonical JSON: equal to RFC 8785 inside the profile, refused outside of it."""

from __future__ import annotations

from collections import UserList
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput

KEYS = st.text(st.characters(codec="ascii"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
    max_leaves=8,
)


@given(VALUES)
def test_canonical_bytes_are_those_of_the_standard(value: Any) -> None:
    """Another program that follows RFC 8785 writes the same bytes."""
    assert canonical.dump(value) == rfc8785.dumps(value)


@given(VALUES)
def test_a_value_comes_back_from_its_canonical_bytes(value: Any) -> None:
    """Nothing is lost, and writing it again gives the same bytes."""
    written = canonical.dump(value)
    assert canonical.load(written) == value
    assert canonical.dump(canonical.load(written)) == written


@given(st.dictionaries(KEYS, VALUES, min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    """Equal objects have equal bytes."""
    assert canonical.dump(dict(reversed(value.items()))) == canonical.dump(value)


def test_tuples_are_arrays() -> None:
    """What is frozen in the core is written as what JSON knows."""
    assert canonical.dump({"b": (1, ("x",)), "a": None}) == b'{"a":null,"b":[1,["x"]]}'


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        1.0,
        float("nan"),
        2**53,
        -(2**53),
        {"größe": 1},
        {1: "one"},
        {None: 1},
        b"bytes",
        bytearray(b"bytes"),
        object(),
        {"deep": [{"deeper": (1, 2.5)}]},
        {"set": {1, 2}},
        "\ud800",
        {"\ud800": 1},
        UserList([1]),
        MappingProxyType({"a": 1}),
    ],
)
def test_a_value_outside_of_the_profile_is_refused(value: Any) -> None:
    """What two programs could write in two ways is not written at all."""
    with pytest.raises(InvalidInput):
        canonical.dump(value)


def test_the_largest_integers_of_the_profile_are_written() -> None:
    """Up to 2^53 - 1 every program keeps an integer exactly."""
    assert canonical.dump([2**53 - 1, 1 - 2**53]) == b"[9007199254740991,-9007199254740991]"


def test_great_depth_is_refused_without_a_crash() -> None:
    """A value nested a hundred thousand times is wrong input, not the end of the process."""
    value: Any = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InvalidInput):
        canonical.dump(value)
    while value:
        value = value.pop()


@pytest.mark.parametrize("text", ["", "{", "nul", '{"a":1}x', b"\xff", "NaN", "[1,]"])
def test_something_that_is_no_json_is_not_loaded(text: bytes | str) -> None:
    """The refusal is an error of ours."""
    with pytest.raises(InvalidInput):
        canonical.load(text)


def test_text_of_any_json_value_may_hold_floats() -> None:
    """Where nothing is hashed, floats and large numbers are welcome."""
    assert canonical.dump_any({"b": 0.5, "a": [2**60]}) == '{"a":[1152921504606846976],"b":0.5}'


@pytest.mark.parametrize("value", [object(), {1: 2}, "\ud800"])
def test_text_of_something_that_is_no_json_is_refused(value: Any) -> None:
    """The refusal is an error of ours."""
    with pytest.raises(InvalidInput):
        canonical.dump_any(value)


def test_digests_are_sha256_in_hex() -> None:
    """Bytes are taken as they are, texts as UTF-8."""
    assert canonical.sha256(b"abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    assert canonical.text_digest("größe") == sha256("größe".encode()).hexdigest()


def test_a_text_that_is_not_unicode_has_no_digest() -> None:
    """Half of a surrogate pair has no bytes."""
    with pytest.raises(InvalidInput):
        canonical.text_digest("\ud800")


def test_a_text_is_committed_to_with_a_salt():
    """Of the same text two salts tell nothing; what is no Unicode is refused."""
    told = {canonical.commitment(bytes([n]) * 16, "größe") for n in range(2)}
    assert sha256(b"\x02" + bytes(16) + "größe".encode()).hexdigest() in told
    assert len(told) == 2
    with pytest.raises(InvalidInput, match="Unicode"):
        canonical.commitment(bytes(16), "\ud800")

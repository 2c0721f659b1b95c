"""Packed entries: whatever goes in comes out, and what was never packed is left as it is."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.kernel import canonical
from counterpoint.storage.packing import DICTIONARY, pack, unpack

BEFORE = "ab" * 32
PLACE = b'"h":"%b","n":7,"p":"demo"' % BEFORE.encode()
ENTRY = (
    b'{"a":"task.finished","f":{},%b,"r":[{"k":{"item":"demo-7"},"t":"outcomes","v":'
    b'{"summary":{"$text":"%b"}}}],"v":2}' % (PLACE, b"0123456789abcdef" * 4)
)


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([PLACE, b'"', b"\0", b"\1", b"ab" * 32, b"{"])).map(b"".join)
)
def test_whatever_is_packed_comes_out_again(data: bytes):
    """Also what holds the bytes that stand for something, twice the place, or hashes in a row."""
    assert unpack(pack(data, "demo", 7, BEFORE), "demo", 7, BEFORE) == data


def test_the_place_and_the_hashes_take_next_to_no_room():
    """The hash before is not stored at all, another takes its 32 bytes."""
    packed = pack(ENTRY, "demo", 7, BEFORE)
    assert bytes.fromhex(BEFORE) not in packed
    assert packed.endswith(bytes.fromhex("0123456789abcdef" * 4))
    assert len(packed) < 100 < len(ENTRY) // 2


def test_a_project_is_written_as_json():
    """A name with a quotation mark in it is found in the bytes of an entry too."""
    name = 'a"ü'
    data = b'{"h":"%b","n":7,"p":%b}' % (BEFORE.encode(), canonical.dump(name))
    assert len(pack(data, name, 7, BEFORE)) < 20
    assert unpack(pack(data, name, 7, BEFORE), name, 7, BEFORE) == data


@pytest.mark.parametrize(
    "harm",
    [
        lambda packed: b"",
        lambda packed: b"\x02" + packed,
        lambda packed: packed[:20],
        lambda packed: packed + b"more",
        lambda packed: packed[:-1],
        lambda packed: packed[:2] + b"\xff" + packed[3:],
    ],
    ids=["nothing", "another mark", "cut", "more", "a byte less", "changed"],
)
def test_what_was_harmed_is_returned_as_it_is_stored(harm: Callable[[bytes], bytes]):
    """Whoever verifies finds that it is no entry."""
    harmed = harm(pack(ENTRY, "demo", 7, BEFORE))
    assert unpack(harmed, "demo", 7, BEFORE) == harmed


def test_the_dictionary_is_frozen():
    """Entries that were packed with it need these very bytes."""
    assert zlib.crc32(DICTIONARY) == 3366505248
    assert b"\n" not in DICTIONARY

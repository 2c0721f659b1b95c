"""Which tiles a tree has, where they lie, and what is in a bundle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.ledger.exports.tiles import ENTRIES, Tile, dump_entries, tiles_of
from counterpoint.kernel.errors import InvalidInput


def test_a_tree_of_70_000_entries_has_the_tiles_that_the_specification_counts():
    """273 full ones and one of 112; one full and one of 17 above; one of 1 on top."""
    found: dict[int, list[int]] = {}
    for tile in tiles_of(70_000):
        found.setdefault(tile.level, []).append(tile.count)
    assert found == {ENTRIES: [*[256] * 273, 112], 0: [*[256] * 273, 112], 1: [256, 17], 2: [1]}


def test_a_tree_of_256_entries_has_a_full_tile_and_one_above():
    """What is full counts on the next level."""
    paths = [tile.path for tile in tiles_of(256)]
    assert paths == ["tile/entries/000", "tile/0/000", "tile/1/000.p/1"]
    assert list(tiles_of(0)) == []


def test_numbers_are_written_in_groups_of_three_digits():
    """So that no file has the name of a folder."""
    assert Tile(level=2, number=1234067).path == "tile/2/x001/x234/067"
    assert Tile(level=0, number=1000, count=7).path == "tile/0/x001/000.p/7"
    assert Tile(level=ENTRIES, number=999).path == "tile/entries/999"


@given(st.integers(0, 2**40).filter(lambda size: size < 3_000_000))
def test_no_two_tiles_have_one_path_and_each_place_has_one(size):
    """However long the ledger is."""
    tiles = list(tiles_of(size))
    assert len({tile.path for tile in tiles}) == len(tiles)
    for level in {tile.level for tile in tiles}:
        mine = [tile for tile in tiles if tile.level == level]
        ends = [tile.stop for tile in mine]
        assert [tile.start for tile in mine] == [0, *ends[:-1]]
        assert ends[-1] == size >> (8 * max(level, 0))


def test_a_bundle_is_each_entry_after_its_length():
    """Two bytes, the larger one first; what does not fit is named."""
    assert dump_entries(5, [b"", b"ab", b"c" * 300]) == b"\0\0\0\2ab\1\x2c" + b"c" * 300
    assert len(dump_entries(0, [bytes(65_535)])) == 65_537
    with pytest.raises(InvalidInput, match="entry 6 has 65,536 bytes"):
        dump_entries(5, [b"", bytes(65_536)])

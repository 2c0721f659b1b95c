"""A ledger as tiles: static files that any monitor can read (C2SP tlog-tiles).

Layout of a folder, which any static server can hold:

    checkpoint             the signed head, of SIZE entries
    tile/L/N               256 hashes of 32 bytes: the roots of the N-th 256 subtrees of 256^L entries
    tile/L/N.p/W           the W hashes there are, 1 to 255, of a tile that is not full yet
    tile/entries/N         256 entries, each after its length in 2 bytes, big-endian
    tile/entries/N.p/W     the W entries there are of a bundle that is not full yet

N is written in groups of three digits, of which all but the last begin with `x`: 1234067 is `x001/x234/067`. A
tree of SIZE entries has floor(SIZE / 256^L) hashes on level L; levels without any have no tile, and what is
not full is on no level above. A file never changes: a longer tree has a wider tile, under another name.

An entry of more than 65,535 bytes does not fit into a bundle. The bundle that it belongs to cannot be made then; its
hashes are there all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from counterpoint.kernel.errors import InvalidInput

WIDTH: Final = 256
HEIGHT: Final = 8
"""Levels of the tree from one level of tiles to the next."""
ENTRIES: Final = -1
"""The level of bundles of entries."""
MOST_BYTES: Final = 65_535
_DIGITS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A tile or bundle: its level, its number, and how many of its 256 places are filled."""

    level: int
    number: int
    count: int = WIDTH

    @property
    def start(self) -> int:
        """The first place of its level that it holds."""
        return self.number * WIDTH

    @property
    def stop(self) -> int:
        """The place after the last."""
        return self.start + self.count

    @property
    def path(self) -> str:
        """Its path below the checkpoint."""
        level = "entries" if self.level == ENTRIES else str(self.level)
        part = "" if self.count == WIDTH else f".p/{self.count}"
        return f"tile/{level}/{_number(self.number)}{part}"


def tiles_of(size: int) -> Iterator[Tile]:
    """Return every tile and bundle that a tree of so many entries has; what is full first on each level."""
    yield from _level(ENTRIES, size)
    level = 0
    while hashes := size >> (HEIGHT * level):
        yield from _level(level, hashes)
        level += 1


def dump_entries(first: int, entries: Iterable[bytes]) -> bytes:
    """Return entries as a bundle; InvalidInput if one is too long. first: the sequence of the first."""
    parts: list[bytes] = []
    for sequence, entry in enumerate(entries, first):
        if len(entry) > MOST_BYTES:
            raise InvalidInput(
                f"entry {sequence} has {len(entry):,} bytes, and a bundle takes {MOST_BYTES:,}",
                sequence=sequence,
            )
        parts += (len(entry).to_bytes(2, "big"), entry)
    return b"".join(parts)


def _level(level: int, filled: int) -> Iterator[Tile]:
    full, part = divmod(filled, WIDTH)
    for number in range(full):
        yield Tile(level=level, number=number)
    if part:
        yield Tile(level=level, number=full, count=part)


def _number(number: int) -> str:
    above, last = divmod(number, _DIGITS)
    groups = [f"{last:03}"]
    while above:
        above, group = divmod(above, _DIGITS)
        groups.append(f"x{group:03}")
    return "/".join(reversed(groups))

"""Which hashes of a ledger's tree are stored, and how the others are found.

Level 0 are the leaves, which stand beside the entries. Above them every fourth level is stored: a hash of a
level between is that of at most eight hashes below it. So a tree takes a fifteenth of the room, and
fifteen of sixteen entries complete nothing that has to be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from counterpoint.core.ledger.merkle import root_of

STEP: Final = 4
"""From one stored level to the next."""


def to_store(nodes: Iterable[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    """Return which of the completed hashes (level, position, hash) are stored as nodes."""
    return [node for node in nodes if node[0] and node[0] % STEP == 0]


def sources(level: int, start: int, stop: int) -> tuple[int, int, int]:
    """Return the stored level that a range of hashes is made from, and the range there."""
    above = level % STEP
    return level - above, start << above, stop << above


def join(hashes: Sequence[bytes], level: int) -> list[bytes]:
    """Return the hashes of a level above those that `sources` names, as many as are complete."""
    width = 1 << level % STEP
    if width == 1:
        return list(hashes)
    return [root_of(hashes[end - width : end]) for end in range(width, len(hashes) + 1, width)]

"""How the commitment of a text lies in a table: the first 16 of its 32 bytes.

In entries a commitment is 64 hex digits, and that of no text is ''. A table finds a text by it and proves
nothing, for which 128 bits are enough; what proves is the entry, with all of it. So a table takes half the
room, and whoever reads the raw cells gets 32 digits. Rule: what goes into a table or comes out of it is cut by
`HALF` and turned by `to_blob` and `from_blob`, which are C code: every write of the product calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from counterpoint.core.model.rows import Cell, Noun, columns
from counterpoint.kernel.errors import StateDiffers

HALF: Final = slice(32)
"""Of a commitment in hex, so many digits are kept."""
to_blob: Final[Callable[[Any], bytes]] = bytes.fromhex
"""Returns what a table holds for half of a commitment; ValueError, TypeError for what is no hex."""
from_blob: Final = bytes.hex
"""Returns the half of a commitment that a table holds."""


def decode_rows(noun: type[Noun], rows: Iterable[tuple[Any, ...]]) -> Iterable[tuple[Cell, ...]]:
    """Return the cells of whole rows that a table holds."""
    are_digests = [column.is_prose for column in columns(noun)]
    if not any(are_digests):
        return rows
    return _decode_digests(noun, rows, are_digests)


def _decode_digests(
    noun: type[Noun], rows: Iterable[tuple[Any, ...]], are_digests: list[bool]
) -> Iterator[tuple[Cell, ...]]:
    try:
        for row in rows:
            yield tuple(
                from_blob(cell) if is_digest else cell
                for cell, is_digest in zip(row, are_digests, strict=True)
            )
    except TypeError as fault:
        raise no_digest(noun) from fault


def no_digest(noun: type[Noun]) -> StateDiffers:
    """Return the refusal of a row that has something else where a commitment belongs."""
    return StateDiffers(f"a row of {noun.table} has no commitment where that of a text belongs")

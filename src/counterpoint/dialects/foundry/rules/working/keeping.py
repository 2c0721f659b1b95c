"""What is kept with a node of what happened to it: the newest entries that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import InvalidInput

KEPT_BYTES: Final = 60_000
"""How much JSON the entries take together."""
TEXT_BYTES: Final = 28_000
"""The most JSON that each of the two texts of one entry takes."""


def newest(entries: Sequence[Json], most: int) -> list[Json]:
    """Return the last of some entries, as many as fit; the newest is among them in any case."""
    newest_entries = list(entries[-most:])
    while len(newest_entries) > 1 and len(dump_any(newest_entries).encode()) > KEPT_BYTES:
        newest_entries = newest_entries[1:]
    return newest_entries


def fits(text: str) -> bool:
    """Return whether an entry can keep a text beside another."""
    return len(dump_any(text).encode()) <= TEXT_BYTES


def refuse_large(text: str, what: str) -> None:
    """Raise InvalidInput for a text that no entry could keep whole."""
    if not fits(text):
        raise InvalidInput(
            f"the {what} is too long: it has more than {TEXT_BYTES} bytes as JSON",
            hint="Say it in short, and the rest in an entry of the journal.",
        )

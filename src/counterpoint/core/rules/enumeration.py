"""Words in a sentence: the first few of many names, and the first line of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SHOWN: Final = 5


def few(names: Sequence[str], most: int = _SHOWN) -> str:
    """Return the first names, divided by commas, with the number of the others after them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def first_line(text: str, most: int) -> str:
    """Return the first line of a text that is not blank, cut to so many characters."""
    line = next(iter(text.strip().splitlines()), "").strip()
    return line if len(line) <= most else line[: most - 1] + "…"

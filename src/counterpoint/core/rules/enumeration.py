"""Names in a sentence: the first few of them, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SHOWN: Final = 5


def few(names: Sequence[str], most: int = _SHOWN) -> str:
    """Return the first names, divided by commas, with the number of the others after them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more

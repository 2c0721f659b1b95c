"""How often Python looks for garbage in a process of ours.

Nearly all that a call makes is in use until its answer, and goes by itself then. At Python's own thresholds each large answer is
searched again and again while it grows: half of the time that it takes to write the document of a spec of 20,000 nodes. While a
command loads its modules nothing of them is garbage, and a twentieth of its time went into looking for some.
"""

from __future__ import annotations

import gc
from typing import Final

THRESHOLDS: Final = (50_000, 20, 10)
"""Objects that are made before the young are searched, and how many such searches go before one of the older."""


def settle() -> None:
    """Take what is loaded out of the search, and have what is made from now on searched seldom."""
    gc.freeze()
    search_seldom()


def search_seldom() -> None:
    """Have what is made from now on searched seldom."""
    gc.set_threshold(*THRESHOLDS)

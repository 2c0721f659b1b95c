"""How long the tests of faults are, and what they draw: COUNTERPOINT_LONG=1 and COUNTERPOINT_SEED.

Read once, before any test takes these variables away from what it starts.
"""

from __future__ import annotations

import os
from random import Random
from typing import Final

IS_LONG: Final = os.environ.get("COUNTERPOINT_LONG") == "1"
SEED: Final = os.environ.get("COUNTERPOINT_SEED", "1")


def share(count: int) -> int:
    """Answer how many of so many seeded forms are tried: a tenth, at least one; all in the long forms."""
    return count if IS_LONG else max(1, count // 10)


def draw(what: str) -> Random:
    """Answer what draws for a purpose: the same in each run with the same seed."""
    return Random(f"{SEED} {what}")  # noqa: S311 -- it must draw the same again

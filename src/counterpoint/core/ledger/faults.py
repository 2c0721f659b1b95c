"""Faults in the order found: all of them counted, the first hundred kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from counterpoint.kernel.errors import LedgerBroken

MOST_FAULTS: Final = 100


class Faults:
    """What a pass over a ledger found; one that is broken all through does not fill the memory.

    Its length and what it iterates over are the faults kept; `count` has those left out as well.
    """

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[LedgerBroken] = []

    def add(self, fault: LedgerBroken) -> None:
        """Count a fault, and keep it if there is room."""
        self.count += 1
        if len(self._kept) < MOST_FAULTS:
            self._kept.append(fault)

    def __iter__(self) -> Iterator[LedgerBroken]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

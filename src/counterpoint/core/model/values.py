"""What a remembered value was before, as the ledger tells it."""

from __future__ import annotations

from dataclasses import dataclass

from counterpoint.kernel.clock import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What a value was after an entry: its JSON as text; None if only its words changed."""

    sequence: int
    version: int
    value: str | None
    agent: str
    at: Timestamp

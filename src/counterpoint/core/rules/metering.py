"""Judgments about use that is counted by calendar months, in UTC."""

from __future__ import annotations

from counterpoint.kernel.clock import Timestamp

MOST_AT_ONCE = 64
"""How many calls a process takes ahead at most."""

_DECEMBER = 12


def granted(used: int, wanted: int, most: int) -> int:
    """Return how many of the wanted calls there are."""
    return max(0, min(wanted, most - used))


def handful(most: int) -> int:
    """Return how many calls of a month to take at once: at most a hundredth of it may be lost."""
    return max(1, min(MOST_AT_ONCE, most // 100))


def month_of(now: Timestamp) -> str:
    """Return the month of a moment, such as `2026-11`."""
    return now[:7]


def next_month(now: Timestamp) -> Timestamp:
    """Return the first moment of the month after."""
    year, month = int(now[:4]), int(now[5:7])
    year, month = (year + 1, 1) if month == _DECEMBER else (year, month + 1)
    return Timestamp(f"{year:04d}-{month:02d}-01T00:00:00.000Z")

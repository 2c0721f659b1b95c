"""How far the time of a ledger is ahead of the clock, and since which entry."""

from __future__ import annotations

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.model.answers import Ahead
from counterpoint.core.ports.store import Head, Reading
from counterpoint.kernel.clock import TOLERANCE_MS, Timestamp, elapsed_ms


def ahead_of(view: Reading, head: Head, now: Timestamp) -> Ahead | None:
    """Return how far a ledger is ahead of the clock; None if it is not by more than clocks may differ."""
    ahead = elapsed_ms(now, Timestamp(head.time)) if head.time else 0
    if ahead <= TOLERANCE_MS:
        return None
    # Times never run backwards in it: so the first that is ahead is found by halving.
    start, stop = 0, head.size - 1
    while start < stop:
        middle = (start + stop) // 2
        if _time(view, middle) > now:
            stop = middle
        else:
            start = middle + 1
    after = _time(view, start - 1) if start else ""
    return Ahead(seconds=ahead // 1000, since=start, after=after)


def _time(view: Reading, sequence: int) -> str:
    return load_fields(next(view.entries(sequence, sequence + 1)))["t"]

"""The only place that reads the time: UTC, milliseconds, ending in Z."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, NewType, Protocol

Timestamp = NewType("Timestamp", str)
"""ISO-8601 in UTC with milliseconds and `Z`, so that text order is time order."""


TOLERANCE_MS: Final = 60_000
"""How far two clocks, or one and what it said before, may differ before anything comes of it."""


class Clock(Protocol):
    """What tells the time; tests put a hand-driven one in its place."""

    def now(self) -> Timestamp:
        """Return the present moment."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> Timestamp:
        """Return the present moment."""
        return stamp(datetime.now(UTC))


def stamp(moment: datetime) -> Timestamp:
    """Return an aware datetime as text."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return Timestamp(text.replace("+00:00", "Z"))


def moment(text: str) -> datetime:
    """Return the datetime of a timestamp; raises ValueError on anything else."""
    return datetime.fromisoformat(text)


def later(text: Timestamp, seconds: float) -> Timestamp:
    """Return the timestamp so many seconds after (or, negative, before) another."""
    return stamp(moment(text) + timedelta(seconds=seconds))


def elapsed_ms(start: Timestamp, end: Timestamp) -> int:
    """Return the whole milliseconds from one timestamp to another."""
    return round((moment(end) - moment(start)).total_seconds() * 1000)

"""Decide whether a connection is gone, by its row and what the kernel shows.

Rule 1: a connection that its server saw end is gone since then. Rule 2: while that server lives it is there. A server lives
unless its process is known to have ended or its last beat is older than the time of grace. Rule 3: without its server the
process at the other end decides: where the kernel shows that it lives, it is there; else it is gone since the last beat.
Rule 4: a session of which several connections tell is gone when all of them are, since the last of these ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from counterpoint.core.model.presence import Absence, Presence, ProcessMark
from counterpoint.kernel.clock import Timestamp, elapsed_ms

BEAT_SECONDS: Final = 10.0
"""Time between two beats of a server that has connections."""
_MIN_SILENCE: Final = 3 * BEAT_SECONDS
"""How old a beat is at least, whatever the time of grace, before it counts as missed."""

HasEnded = Callable[[ProcessMark], bool | None]
"""Answers whether a process has ended; None where the kernel does not show it here."""


def absence_of(
    rows: Iterable[Presence], now: Timestamp, grace: float, has_ended: HasEnded
) -> Absence | None:
    """Return how long the connections of one session have been gone; None if one is there, or there is no row."""
    latest: Absence | None = None
    for row in rows:
        seconds = _seconds_gone(row, now, grace, has_ended)
        if seconds is None:
            return None
        if latest is None or seconds < latest.seconds:
            since = Timestamp(row.ended_at or row.server.beat_at)
            latest = Absence(seconds=seconds, since=since, origin=row.origin)
    return latest


def _seconds_gone(row: Presence, now: Timestamp, grace: float, has_ended: HasEnded) -> float | None:
    if row.ended_at:
        return _age(Timestamp(row.ended_at), now)
    silence = _age(row.server.beat_at, now)
    is_silent = silence > max(grace, _MIN_SILENCE)
    if not is_silent and not has_ended(row.server.process):
        return None
    return None if has_ended(row.process) is False else silence


def _age(then: Timestamp, now: Timestamp) -> float:
    """Return the seconds between two times; a clock that was set back makes none negative."""
    return max(0.0, elapsed_ms(then, now) / 1000)

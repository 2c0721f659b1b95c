"""What a node waits for in words, and how long one took."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from counterpoint.core.model.answers import Obstacle
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.rules.standing import status_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms

_HOUR: Final = 3_600_000
_SHOWN: Final = 200


def waits_text(obstacle: Obstacle, names: Mapping[str, str]) -> str:
    """Return one thing in the way of a node; names: the ids of nodes by item."""
    thing, about = obstacle.thing, names[obstacle.item.id]
    if isinstance(thing, Gate):
        return f"{about} waits for its {thing.name}"
    if isinstance(thing, Record):
        return f"{about} is blocked: {thing.body[:_SHOWN]}"
    if obstacle.kind == "parked":
        return f"{about} is put off"
    return f"{about} waits for {names[thing.id]} ({status_of(thing.category)})"


def hours_between(start: Json, end: str) -> float | None:
    """Return the hours from one time to another; None unless both are times in that order."""
    if isinstance(start, str):
        with suppress(ValueError, TypeError):
            passed = elapsed_ms(Timestamp(start), Timestamp(end))
            return round(passed / _HOUR, 3) if passed >= 0 else None
    return None


def is_stale(since: str, now: Timestamp, hours: float) -> bool:
    """Return whether something was begun longer ago than so many hours; what was never begun is not."""
    return bool(since) and elapsed_ms(Timestamp(since), now) > hours * _HOUR

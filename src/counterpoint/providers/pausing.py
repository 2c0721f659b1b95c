"""Waits before another try, second by second, so that whoever waits may go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterpoint.core.ports.models import Listen

_TICK: Final = 1.0


def pause(sleep: Callable[[float], None], seconds: float, listen: Listen) -> None:
    """Return after some seconds; `listen` is called with each of them."""
    seconds_left = seconds
    while seconds_left > 0:
        sleep(min(_TICK, seconds_left))
        seconds_left -= _TICK
        listen("")

"""The time of a PostgreSQL server, one for all machines that use it.

Rules: (1) it is what the server said last, and as much as has passed here since, by a clock that nobody sets. (2) It is
asked in statements that are sent anyway: whenever a writer locks the head, and by each fresh connection. (3) Before the
first of them there is only the machine's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from counterpoint.kernel.clock import Clock, Timestamp, later, stamp


def _running() -> float:
    """Return seconds that nobody sets back, and that go on while the machine sleeps where the system can count them."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class DatabaseClock:
    """A clock that follows the server's."""

    def __init__(self, machine: Clock, seconds: Callable[[], float] = _running) -> None:
        """Know nothing yet but the clock of this machine. seconds: tells a time that never goes back."""
        self._machine = machine
        self._seconds = seconds
        self._heard: tuple[Timestamp, float] | None = None

    def now(self) -> Timestamp:
        """Return the present moment, as the server would say it."""
        # One look: another thread may hear something between two.
        heard = self._heard
        if heard is None:
            return self._machine.now()
        server_time, at = heard
        return later(server_time, self._seconds() - at)

    def hear(self, server_time: datetime) -> None:
        """Go on from what the server says."""
        self._heard = stamp(server_time), self._seconds()

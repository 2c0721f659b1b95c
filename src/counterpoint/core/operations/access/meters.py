"""Counting use: what is taken of a month's calls, kept beside the ledger.

Use is no state of the work: nobody plans by it and nothing is proved by it. So it has no entry, is
not replayed, and is counted by the handful: whoever serves takes some calls ahead and spends them in
memory. No month ever has more calls than it may; a process that dies loses those it had taken.
"""

from __future__ import annotations

from counterpoint.core.model.access import Usage
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules import metering
from counterpoint.kernel.clock import Timestamp, elapsed_ms


class Meters:
    """Verbs for what is counted of use."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def usage(self, subject: str) -> Usage:
        """Return what a subject has used of this month, with what was taken ahead."""
        now = self._context.ports.clock.now()
        with self._context.reading() as view:
            return _usage(view, subject, now)

    def take(self, subject: str, most: int) -> Usage:
        """Take a handful of a month's calls, or as many as are left of them.

        most: how many the month has. What is not used can be given back.
        """
        known = self.usage(subject)
        if known.used >= most:
            return known
        ports = self._context.ports
        with ports.store.writing(self._context.project) as writing:
            now = ports.clock.now()
            used = _usage(writing, subject, now).used
            granted = metering.granted(used, metering.handful(most), most)
            writing.use(subject, _measure(metering.month_of(now)), used + granted)
            return _usage(writing, subject, now, granted=granted)

    def give_back(self, subject: str, month: str, calls: int) -> None:
        """Put back calls that were taken from a month and not made."""
        with self._context.ports.store.writing(self._context.project) as writing:
            used = writing.meter(subject, _measure(month))
            writing.use(subject, _measure(month), max(0, used - calls))


def _usage(view: Reading, subject: str, now: Timestamp, granted: int = 0) -> Usage:
    month, resets_at = metering.month_of(now), metering.next_month(now)
    return Usage(
        month=month,
        used=view.meter(subject, _measure(month)),
        resets_at=resets_at,
        resets_in=-(-elapsed_ms(now, resets_at) // 1000),
        granted=granted,
    )


def _measure(month: str) -> str:
    return f"calls {month}"

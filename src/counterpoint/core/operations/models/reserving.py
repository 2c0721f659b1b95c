"""What may be spent is reserved in the database before anybody is asked.

Rule 1: what was spent and what is reserved are read, and the reservation is written, in one transaction: so of two processes one sees the other's, and they hold one limit together. Rule 2: no transaction is open while somebody is asked. Rule 3: a reservation ends in the transaction of its use, or in one of its own
where nothing came of it. Rule 4: what a process has reserved is one row of the sums of a day, which counts as spent while that process lives: the next who
reserves takes away what those have left that are gone.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from counterpoint.core.model.models.configured import Modelling
from counterpoint.core.model.models.uses import RESERVED, ModelDay
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.models.limits import Spent, day_of, refuse_beyond, refuse_overspent
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import mutable


@mutable
class Reservation:
    """What a process has reserved for something that it asks, in millionths of a dollar, of which day. is_held: whether it still counts."""

    day: str
    micros: int
    is_held: bool = True

    def give_back(self, change: Change) -> None:
        """Write that it counts no longer."""
        row = _mine(change, self.day)
        # Who took this process for gone, as one of another machine that was silent for long, has taken it away.
        if row is None:
            return
        micros_left = max(0, row.cost_micros - self.micros)
        if micros_left:
            change.put(replace(row, cost_micros=micros_left, updated_at=change.now))
        else:
            change.drop(row)


@contextmanager
def set_aside(
    context: Context, limits: Modelling, comes_to: int, most: int | None = None
) -> Generator[Reservation]:
    """Have what something costs at most reserved while it is asked; BudgetSpent. most: what this alone may cost.

    Whoever writes down the use gives it back with that (`Asked.reserved`); else it is given back at the end of the block.
    """
    refuse_beyond(most, comes_to)
    alone = replace(context, unit=None)
    with recording(alone, "model.reserved") as change:
        refuse_overspent(limits, _spent(change), comes_to, change.now)
        reservation = Reservation(day=day_of(change.now), micros=comes_to)
        _add(change, reservation)
    try:
        yield reservation
    finally:
        if reservation.is_held:
            with recording(alone, "model.reserved") as change:
                reservation.give_back(change)
                reservation.is_held = False


def _spent(change: Change) -> Spent:
    """Return what was spent and is reserved; what those reserved who are gone is taken away."""
    host, today, now = change.context.ports.host, 0, day_of(change.now)
    ever = 0
    columns = ("day", "provider", "purpose", "cost_micros", "updated_at")
    for day, provider, purpose, micros, heard in change.writing.cells(ModelDay, columns):
        if purpose == RESERVED and host.is_gone(provider, Timestamp(heard)):
            change.drop(change.get(ModelDay, day, provider, "", RESERVED))
            continue
        ever += micros
        # What was reserved before midnight is spent today, if ever.
        today += micros if day == now or purpose == RESERVED else 0
    return Spent(today=today, ever=ever)


def _add(change: Change, reservation: Reservation) -> None:
    before = _mine(change, reservation.day)
    row = before or ModelDay(
        project=change.context.project,
        day=reservation.day,
        provider=change.context.ports.host.name,
        model="",
        purpose=RESERVED,
        requests=0,
        kept=0,
        failures=0,
        input_tokens=0,
        cached_tokens=0,
        output_tokens=0,
        cost_micros=0,
        updated_at=change.now,
    )
    change.put(
        replace(row, cost_micros=row.cost_micros + reservation.micros, updated_at=change.now)
    )


def _mine(change: Change, day: str) -> ModelDay | None:
    return change.find(ModelDay, day, change.context.ports.host.name, "", RESERVED)

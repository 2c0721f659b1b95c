"""What is reserved of a limit: by many processes together, given back with its use, and by nobody who is gone."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.models import ModelDay, Modelling
from counterpoint.core.operations.models.spending import (
    Reservation,
    UseDraft,
    record_use,
    set_aside,
)
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.host import OnlyHost
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import BudgetSpent
from fakes.studio import Studio

LIMITS = Modelling(day_limit=100)


@dataclass
class Machine(OnlyHost):
    """A process that knows which others have ended."""

    gone: set[str] = field(default_factory=set[str])

    def is_gone(self, name: str, last: Timestamp) -> bool:
        """Answer whether it has ended."""
        assert last
        return name in self.gone


def process(studio: Studio, name: str, gone: set[str]) -> Context:
    """Answer a context of a process of its own on the same ledger."""
    context: Context = studio.core("a").use(lambda one: one)
    return replace(context, ports=replace(context.ports, host=Machine(name=name, gone=gone)))


@contextmanager
def held(context: Context, micros: int) -> Generator[Reservation]:
    """Have something reserved during the block."""
    with set_aside(context, LIMITS, micros) as found:
        yield found


def rows(studio: Studio) -> dict[tuple[str, str], int]:
    """Answer what stands in the sums, by process or provider and purpose."""
    with studio.view() as view:
        return {(one.provider, one.purpose): one.cost_micros for one in view.select(ModelDay)}


@pytest.fixture
def studio() -> Studio:
    """Answer a project of its own."""
    return Studio()


def test_processes_hold_a_limit_together_and_one_that_is_gone_holds_nothing(studio: Studio) -> None:
    """What several questions of a process have reserved is one row, which ends with the last of them."""
    gone: set[str] = set()
    one, two = process(studio, "one", gone), process(studio, "two", gone)
    with held(one, 30):
        with held(one, 20), held(two, 50):
            assert rows(studio) == {("one", "reserved"): 50, ("two", "reserved"): 50}
            with pytest.raises(BudgetSpent) as refused, held(two, 1):
                pass
            assert refused.value.facts["spent_micros"] == 100
            gone.add("one")
            with held(two, 1):
                assert rows(studio) == {("two", "reserved"): 51}
            gone.clear()
        # Its own row was taken from it, as from one of another machine that was silent for long.
        assert rows(studio) == {}
    assert rows(studio) == {}
    assert studio.core("a").audit.verify().faults == ()


def test_what_was_reserved_ends_in_the_entry_of_its_use(studio: Studio) -> None:
    """It never counts twice, and never not at all; and once it is given back nothing more is written."""
    context = process(studio, "one", set())
    asked = UseDraft(
        provider="local",
        model="m",
        purpose="test",
        item="",
        status="failed",
        began=studio.clock.now(),
        lost=7,
    )
    with held(context, 30) as reserved:
        record_use(context, replace(asked, reserved=reserved))
        assert rows(studio) == {("local", "test"): 7}
    core: Core = studio.core("a")
    assert [one.action for one in core.audit.log(limit=2)] == ["model.asked", "model.reserved"]


def test_a_use_that_does_not_land_leaves_its_reservation_to_the_end(studio: Studio) -> None:
    """As when what is made of an answer is refused by the database."""
    context = process(studio, "one", set())
    alone = replace(context, unit=None)

    def fail() -> None:
        with held(context, 30) as reserved, recording(alone, "model.reserved") as change:
            reserved.give_back(change)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert rows(studio) == {}


def test_what_was_reserved_before_midnight_counts_afterwards_too(studio: Studio) -> None:
    """For it is spent then, if ever."""
    one, two = process(studio, "one", set()), process(studio, "two", set())
    with held(one, 60):
        studio.clock.pass_by(seconds=86_400)
        with pytest.raises(BudgetSpent), held(two, 50):
            pass
        with held(one, 40):
            assert len(rows(studio)) == 1
            with studio.view() as view:
                assert [row.cost_micros for row in view.select(ModelDay)] == [60, 40]
    assert rows(studio) == {}

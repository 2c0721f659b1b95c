"""The account of calls: two rows each, no gap, and an end for what was left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.ports.host import OnlyHost
from counterpoint.dialects.colibri.nouns import Action, Asked, Ended
from counterpoint.dialects.colibri.verbs import actions as condition
from counterpoint.dialects.colibri.verbs.actions import Actions, Health
from counterpoint.dialects.colibri.verbs.seals import AuditSessions
from counterpoint.kernel.errors import InvalidInput
from fakes.studio import Studio

ASKED = Asked(tool="do", arguments="a" * 64)
OK = Ended(outcome="ok", answer="b" * 64)


@dataclass
class FakeHost(OnlyHost):
    """A process that knows which others are gone."""

    name: str = "here"
    gone: frozenset[str] = frozenset()
    free: int = -1
    swept: set[str] = field(default_factory=set)

    def is_gone(self, name: str, last: str) -> bool:
        """Answer whether a process was said to be gone."""
        assert last
        return name in self.gone

    def free_bytes(self) -> int:
        """Answer what was told."""
        return self.free


@pytest.fixture
def on(studio: Studio) -> Callable[..., Core]:
    """Answer what makes a core that runs in a process of a name."""

    def running(name: str, *gone: str) -> Any:
        was = studio.ports
        studio.ports = replace(was, host=FakeHost(name=name, gone=frozenset(gone)))
        core = studio.core("ada")
        studio.ports = was
        return core

    return running


def test_a_call_that_is_refused_leaves_only_its_rows(studio: Studio, ada: Core) -> None:
    """What it wrote is undone; its end is written afterwards."""
    entered = ada.use(Actions).enter(ASKED)

    def run() -> tuple[str, Ended]:
        ada.journal.append(Note(kind="finding", body="Lost."))
        raise InvalidInput("no")

    with pytest.raises(InvalidInput):
        ada.use(Actions).complete(entered, run)
    assert ada.use(Actions).list() == [(entered, None)]
    with studio.view() as view:
        assert not view.exists(Record)
    ada.use(Actions).leave(entered, Ended(outcome="error", code="x"))
    assert ada.use(Actions).list()[0][1].code == "x"


def test_numbers_have_no_gap_also_for_calls_that_never_ran(studio: Studio, ada: Core) -> None:
    """They are given inside the transaction."""
    for _ in range(3):
        ada.use(Actions).refuse(ASKED, Ended(outcome="invalid", code="INVALID_PARAMS"))
        ada.use(Actions).leave(ada.use(Actions).enter(ASKED), OK)
    with studio.view() as view:
        numbers = [row.number for row in view.select(Action, step="enter", order="number")]
    assert numbers == [1, 2, 3, 4, 5, 6]


def test_calls_are_listed_by_tool_outcome_and_session(ada: Core, bob: Core) -> None:
    """The latest first, from before a number."""
    first = ada.use(Actions).enter(ASKED)
    second = bob.use(Actions).enter(Asked(tool="other", arguments=""))
    third = ada.use(Actions).enter(ASKED)
    ada.use(Actions).leave(first, OK)

    def listed(**only: Any) -> list[int]:
        return [begun.number for begun, _ in ada.use(Actions).list(**only)]

    assert listed() == [3, 2, 1]
    assert listed(before=3, limit=1) == [2]
    assert listed(tool="other") == [second.number]
    assert listed(outcome="ok") == [first.number]
    assert listed(outcome="running") == [third.number, second.number]
    assert listed(outcome="running", limit=1) == [third.number]
    assert listed(session=bob.caller.actor.session) == [2]


def test_a_list_of_what_runs_looks_past_what_has_ended(ada: Core) -> None:
    """However much of that there is in between."""
    left = ada.use(Actions).enter(ASKED)
    for _ in range(5):
        ada.use(Actions).leave(ada.use(Actions).enter(ASKED), OK)
    assert ada.use(Actions).list(outcome="running", limit=2) == [(left, None)]


def test_calls_of_a_process_that_is_gone_are_ended_once(on: Callable[..., Core]) -> None:
    """Those of one that lives are left alone, and so are those that had ended."""
    dead, alive = on("dead"), on("alive")
    dead.use(Actions).leave(dead.use(Actions).enter(ASKED), OK)
    left = dead.use(Actions).enter(ASKED)
    running = alive.use(Actions).enter(ASKED)
    after = on("after", "dead")
    assert (after.use(Actions).sweep(), after.use(Actions).sweep()) == (1, 0)
    assert on("later", "dead").use(Actions).sweep() == 0
    [(begun, ended)] = after.use(Actions).list(outcome="crashed")
    assert (begun, ended.code) == (left, "after")
    assert after.use(Actions).list(outcome="running") == [(running, None)]
    assert after.audit.log(limit=1)[0].facts["calls"] == 1


def test_two_that_find_the_same_end_it_once(
    on: Callable[..., Core], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second looks again when it is alone."""
    dead = on("dead")
    dead.use(Actions).enter(ASKED)
    first, second = on("first", "dead"), on("second", "dead")
    close = Actions._close

    def late(actions: Any) -> int:
        monkeypatch.undo()
        assert second.use(Actions).sweep() == 1
        return close(actions)

    monkeypatch.setattr(Actions, "_close", late)
    assert first.use(Actions).sweep() == 0


def test_a_project_stands_as_its_parts_do(studio: Studio, on: Callable[..., Core]) -> None:
    """Running and crashed calls, open sessions, room, and the faults of the file."""
    dead = on("dead")
    dead.use(Actions).enter(ASKED)
    core = on("here", "dead")
    core.use(Actions).sweep()
    core.use(Actions).enter(ASKED)
    core.use(AuditSessions).open("Mend it")
    found = core.use(Health).look()
    assert (found.running, found.crashed, found.unsealed) == (1, 1, 1)
    assert (found.skipped, found.faults, found.free_bytes) == ((), (), -1)
    assert found.entries == studio.image().size


def test_a_long_ledger_is_not_looked_through(ada: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what `doctor` is for."""
    monkeypatch.setattr(condition, "_LOOKED_THROUGH", 0)
    assert ada.use(Health).look().faults == ()


def test_the_only_process_knows_of_no_other(studio: Studio, ada: Core) -> None:
    """Nobody is gone as far as it can tell, and the room is unknown."""
    host = studio.ports.host
    assert not host.is_gone("other", studio.clock.now())
    assert host.free_bytes() == -1
    ada.use(Actions).enter(ASKED)
    assert ada.use(Actions).sweep() == 0

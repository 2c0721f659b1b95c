"""Wholes that were given up and are reopened: all that closed with them comes back as it was."""

from __future__ import annotations

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit, ItemFilter, Report
from counterpoint.core.model.work import Gate
from fakes.studio import Studio

PLAN = """# Yard
## Walls
- review: yes
- [ ] Lay bricks
- [ ] Point them
- [ ] Paint them
- [ ] Clean up
## Roof
- [ ] Tar it
"""
DONE = Report(outcome="done", summary="It stands")
CANCEL, REOPEN = Edit(status="cancelled", reason="no"), Edit(status="open", reason="yes")


def states(core: Core) -> dict[str, str]:
    """Return the state of each item by its title."""
    return {item.title: item.status for item in core.overview.items(ItemFilter(), 0, 1_000)}


def ids(core: Core) -> dict[str, str]:
    return {item.title: item.id for item in core.overview.items(ItemFilter(), 0, 1_000)}


@pytest.fixture
def yard(ada: Core) -> dict[str, str]:
    """Give a plan with work that is done, under way, dropped on its own and not begun, by titles."""
    ada.plans.create(ada.plans.read(PLAN))
    named = ids(ada)
    token = ada.claims.start(named["Lay bricks"]).claim.token
    ada.tasks.finish(named["Lay bricks"], token, DONE)
    ada.claims.start(named["Point them"])
    ada.items.edit(named["Paint them"], CANCEL)
    return named


def test_a_plan_that_was_given_up_comes_back_as_it_was(studio: Studio, ada: Core, yard) -> None:
    """Done work is done, what was dropped before stays dropped, gates are closed; what somebody was at is open."""
    before = states(ada)
    ada.items.edit(yard["Yard"], CANCEL)
    ada.items.edit(yard["Yard"], REOPEN)
    assert states(ada) == {**before, "Point them": "open"}
    assert states(ada)["Yard"] == "active"
    with studio.view() as view:
        (gate,) = view.select(Gate, item=yard["Walls"])
    assert gate.status == "closed"
    token = ada.claims.start(yard["Point them"]).claim.token
    ada.tasks.finish(yard["Point them"], token, DONE)
    assert studio.last().facts.get("restored") is None
    studio.check()


def test_what_was_closed_again_on_its_own_stays_closed(studio: Studio, ada: Core, yard) -> None:
    """Reopened and dropped while the plan was given up."""
    ada.items.edit(yard["Yard"], CANCEL)
    studio.clock.pass_by(minutes=1)
    ada.items.edit(yard["Clean up"], REOPEN)
    ada.items.edit(yard["Clean up"], CANCEL)
    studio.clock.pass_by(minutes=1)
    ada.items.edit(yard["Yard"], CANCEL)
    ada.items.edit(yard["Yard"], REOPEN)
    assert (states(ada)["Clean up"], states(ada)["Paint them"]) == ("cancelled", "cancelled")


def test_a_phase_of_a_plan_that_was_given_up_comes_back_with_its_own(ada: Core, yard) -> None:
    """What stands beside it stays given up."""
    ada.items.edit(yard["Yard"], CANCEL)
    ada.items.edit(yard["Walls"], REOPEN)
    found = states(ada)
    assert (found["Point them"], found["Clean up"]) == ("open", "open")
    assert (found["Roof"], found["Tar it"]) == ("cancelled", "cancelled")
    assert found["Lay bricks"] == "done"


def test_work_that_waited_for_a_verdict_waits_for_it_again(ada: Core, bob: Core) -> None:
    text = "# Yard\n- [ ] Dig\n  - review: yes\n- [ ] Fill\n"
    made = ada.plans.create(ada.plans.read(text))
    dig = ids(ada)["Dig"]
    ada.tasks.finish(dig, ada.claims.start(dig).claim.token, DONE)
    ada.items.edit(made.root.id, CANCEL)
    ada.items.edit(made.root.id, REOPEN)
    assert states(ada)["Dig"] == "review"


def test_a_large_tree_comes_back_whole(studio: Studio, ada: Core) -> None:
    """What was closed in slices, too."""
    lines = "\n".join(f"- [ ] Brick {number}" for number in range(150))
    made = ada.plans.create(ada.plans.read(f"# Wall\n## Course\n{lines}\n"))
    ada.items.edit(made.root.id, CANCEL)
    assert set(states(ada).values()) == {"cancelled"}
    ada.items.edit(made.root.id, REOPEN)
    assert set(states(ada).values()) == {"open"}
    studio.check()


def test_what_was_given_up_twice_comes_back_as_it_was_the_second_time(ada: Core, yard) -> None:
    """Each reopening ends what the one before could bring back."""
    for _ in range(2):
        ada.items.edit(yard["Yard"], CANCEL)
        ada.items.edit(yard["Yard"], REOPEN)
    assert states(ada)["Tar it"] == "open"
    ada.items.edit(yard["Tar it"], CANCEL)
    ada.items.edit(yard["Yard"], CANCEL)
    ada.items.edit(yard["Yard"], REOPEN)
    assert states(ada)["Tar it"] == "cancelled"


def test_what_lies_below_something_that_has_ended_comes_back_with_nothing(ada: Core) -> None:
    """It was moved there since; what holds it stays as it ended."""
    ada.plans.create(ada.plans.read("# P\n## Q\n- [ ] q\n## R\n- [ ] r\n- [ ] s\n"))
    named = ids(ada)
    token = ada.claims.start(named["q"]).claim.token
    ada.tasks.finish(named["q"], token, DONE)
    assert states(ada)["Q"] == "done"
    ada.items.edit(named["P"], CANCEL)
    ada.items.edit(named["s"], Edit(parent=named["Q"]))
    ada.items.edit(named["P"], REOPEN)
    assert states(ada) == {
        "P": "open",
        "Q": "done",
        "q": "done",
        "R": "open",
        "r": "open",
        "s": "cancelled",
    }

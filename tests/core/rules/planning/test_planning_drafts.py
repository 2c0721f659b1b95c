"""Drafts of plans out of lists of phases and tasks."""

from __future__ import annotations

import pytest

from counterpoint.core.rules.drafting import plan_of
from counterpoint.dialects.agentic.rules.drafting import (
    PhaseSketch,
    PlanSketch,
    TaskSketch,
    draft_of,
)
from counterpoint.kernel.errors import InvalidInput


def made(*phases, **more):
    """Answer the draft of a plan of these phases."""
    return draft_of(PlanSketch(title="P", phases=phases, **more))


def test_phases_have_names_and_no_order_of_their_own():
    """Without a name they are called by their place."""
    draft = made(PhaseSketch(), PhaseSketch(name=" B "))
    assert [(phase.title, phase.needs) for phase in draft.children] == [("Phase 1", ()), ("B", ())]
    assert draft.attributes == {}


def test_dependencies_are_orders_or_names():
    """Also texts that are orders; a title that begins like a mark is no harm."""
    draft = made(
        PhaseSketch(name="@2"), PhaseSketch(name="B", after=("@2", 1)), PhaseSketch(after=("2",))
    )
    planned = plan_of(draft, lambda _: False)
    assert [part.needs for part in planned] == [(), (), (1,), (2,)]


@pytest.mark.parametrize("wrong", [0, 4, "X", "Same", "9", "1000000", "²"])
def test_a_phase_that_is_not_there_or_not_one_is_refused(wrong):
    """With all the others that are wrong."""
    same = PhaseSketch(name="Same")
    with pytest.raises(InvalidInput) as caught:
        made(same, same, PhaseSketch(after=(wrong, "Y")))
    assert len(caught.value.facts["faults"]) == 2


def test_a_long_name_becomes_a_title_and_a_body():
    """Nothing of it is lost."""
    lines = TaskSketch(name="First\nsecond", description="more")
    long = TaskSketch(name="x" * 600)
    short = TaskSketch(name=" Plain ", description="about")
    tasks = made(PhaseSketch(tasks=(lines, long, short)), context={"a": 1}).children[0].children
    assert (tasks[0].title, tasks[0].body) == ("First", "First\nsecond\n\nmore")
    assert (len(tasks[1].title), tasks[1].title[-1], tasks[1].body) == (500, "…", "x" * 600)
    assert (tasks[2].title, tasks[2].body) == ("Plain", "about")

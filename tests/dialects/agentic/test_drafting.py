"""Drafts of plans out of lists of phases and tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.rules.drafting import PlannedItem, plan_of
from counterpoint.dialects.agentic.words import parse_phases
from counterpoint.kernel.errors import InvalidInput, MalformedDocument


def made(*phases: Any) -> Sequence[Draft]:
    """Answer the drafts of these phases."""
    return parse_phases(phases)


def planned(*phases: Any) -> list[PlannedItem]:
    """Answer a plan of these phases, laid flat."""
    return plan_of(Draft(kind="plan", title="P", children=parse_phases(phases)), lambda _: False)


def test_phases_have_names_and_no_order_of_their_own() -> None:
    """Without a name they are called by their place."""
    phases = made({}, {"name": " B "})
    assert [(phase.title, phase.needs) for phase in phases] == [("Phase 1", ()), ("B", ())]


def test_dependencies_are_orders_or_names() -> None:
    """Also texts that are orders; a title that looks like the name of a place is refused as a title."""
    phases = planned(
        {"name": "@2"}, {"name": "B", "dependencies": ["@2", 1]}, {"dependencies": ["2"]}
    )
    assert [part.needs for part in phases] == [(), (), (1,), (2,)]
    with pytest.raises(MalformedDocument):
        plan_of(
            Draft(kind="plan", title="P", children=(Draft(kind="phase", title="place\n1"),)),
            lambda _: False,
        )


@pytest.mark.parametrize("wrong", [0, 4, "X", "Same", "9", "1000000", "²"])
def test_a_phase_that_is_not_there_or_not_one_is_refused(wrong: int | str) -> None:
    """With all the others that are wrong."""
    with pytest.raises(InvalidInput) as caught:
        made({"name": "Same"}, {"name": "Same"}, {"dependencies": [wrong, "Y"]})
    assert len(caught.value.facts["faults"]) == 2


def test_a_long_name_becomes_a_title_and_a_body() -> None:
    """Nothing of it is lost."""
    given = ({"name": "First\nsecond", "description": "more"}, "x" * 600, " Plain ")
    lines, long, short = made({"tasks": given})[0].children
    assert (lines.title, lines.body) == ("First", "First\nsecond\n\nmore")
    assert (len(long.title), long.title[-1], long.body) == (500, "…", "x" * 600)
    assert (short.title, short.body) == ("Plain", "")

"""Deadlocks: what of a plan no work will ever make ready, said wherever a plan is made."""

from __future__ import annotations

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.rules.drafting import plan_of
from counterpoint.core.rules.planning.deadlock import deadlocks


def judged(*children, dropped=None, needs_person=False):
    """Answer what is said of a plan with these parts."""
    dropped = dropped or {}
    planned = plan_of(Draft(kind="plan", title="P", children=children), dropped.__contains__)
    return deadlocks(planned, dropped, needs_person=needs_person)


def phase(title, *children, **fields):
    """Answer a phase."""
    return Draft(kind="phase", title=title, children=children, **fields)


TASK = Draft(kind="task", title="t")


def test_a_phase_that_waits_for_an_empty_one_is_told():
    """With how much waits for it, through other phases too; an empty one at the end holds nothing."""
    (said,) = judged(phase("Empty", line=3), phase("Build", TASK), phase("Ship"))
    assert said == (
        "the phase 'Empty' (line 3) has no task, so it never ends by work, and 3 items wait for it:"
        " give it a task, or take it out"
    )
    assert judged(phase("Build", TASK), phase("Ship")) == ()
    assert judged(phase("Empty"), phase("Build", TASK, needs=())) == ()


@pytest.mark.parametrize(
    "free",
    [
        phase("Declared", lifecycle="declared"),
        phase("Done", done=True),
        phase("Full", Draft(kind="task", title="u", status="backlog")),
    ],
)
def test_what_ends_by_word_or_has_ended_is_no_deadlock(free):
    assert judged(free, phase("Build", TASK)) == ()


def test_what_was_given_up_outside_is_told():
    child = Draft(kind="task", title="u")
    needy = Draft(kind="task", title="t", needs=("p-1",), children=(child,))
    (said,) = judged(needy, dropped={"p-1": "cancelled"})
    assert said.startswith("p-1 is cancelled and 2 items wait for it: reopen it")
    assert (
        judged(Draft(kind="task", title="t", needs=("p-1",), done=True), dropped={"p-1": "failed"})
        == ()
    )


def test_gates_that_nobody_opens_are_told():
    (said,) = judged(Draft(kind="task", title="t", approval=True), TASK, needs_person=True)
    assert "nobody opens the gates of the task 't'" in said
    assert judged(TASK, needs_person=True) == ()


def test_only_the_first_of_many_are_told():
    empty = [phase(str(place), needs=()) for place in range(30)]
    last = Draft(kind="task", title="t", needs=tuple(str(place) for place in range(30)))
    said = judged(*empty, last)
    assert (len(said), said[-1]) == (21, "and 10 more of the kind")

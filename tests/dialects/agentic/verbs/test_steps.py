"""Phases and tasks moved along by a word for how they stand."""

from __future__ import annotations

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.agentic.nouns import NOTES
from counterpoint.dialects.agentic.rules.progress import (
    plan_standing,
    reason_of,
    slug_of,
    standing_of,
    text_in,
)
from counterpoint.dialects.agentic.verbs.plans import Planning
from counterpoint.dialects.agentic.verbs.steps import Steps
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    Conflict,
    Forbidden,
    GateClosed,
    IllegalMove,
    InvalidInput,
    NotFound,
    NotReady,
)

WORDS = ("open", "active", "done", "blocked", "skipped")


def task(title, **more):
    """Answer the draft of a task."""
    return Draft(kind="task", title=title, **more)


def phase(title, *tasks, **more):
    """Answer the draft of a phase that needs nothing."""
    return Draft(kind="phase", title=title, children=tasks, **({"needs": ()} | more))


def plan(*phases, **more):
    """Answer the draft of a plan."""
    return Draft(kind="plan", title="Plan", children=phases, **more)


@pytest.fixture
def slug(ada):
    """Give a plan with two phases, the second after the first."""
    draft = plan(
        phase("One", task("a"), task("b"), name="one"), phase("Two", task("c"), needs=("one",))
    )
    return slug_of(ada.use(Planning).open(draft, "p"))


@pytest.mark.parametrize("before", WORDS)
def test_every_standing_leads_to_every_other(ada, slug, before):
    """Of a phase and of a task; moved again nothing is written."""
    for move in (
        lambda to: ada.use(Steps).move_phase(slug, 1, to, "why"),
        lambda to: ada.use(Steps).move_task(slug, "1", "a", to),
    ):
        for after in WORDS:
            assert move(before).standing == before
            assert move(after).standing == after
            size = ada.overview.state().ledger_size
            assert move(after).standing == after
            assert ada.overview.state().ledger_size == size


def test_what_is_reopened_holds_again(studio, ada, slug):
    """The tasks of a phase that has begun wait like those that `next` would not offer."""
    ada.use(Steps).move_phase(slug, 1, "done")
    ada.use(Steps).move_phase(slug, 2, "active")
    ada.use(Steps).move_task(slug, 1, 0, "open")
    fault = studio.refuses(NotReady, lambda: ada.use(Steps).move_task(slug, 2, 0, "active"))
    assert fault.facts["reasons"] == ["'Two' comes after 'One', which is not completed"]


def test_a_gate_that_holds_the_start_holds_a_phase(studio, ada):
    draft = plan(phase("A", task("a"), approval=True), phase("B", task("b"), review=True))
    slug = slug_of(ada.use(Planning).open(draft, "p"))
    fault = studio.refuses(NotReady, lambda: ada.use(Steps).move_phase(slug, 1, "active"))
    assert "approval" in fault.message
    studio.refuses(GateClosed, lambda: ada.use(Steps).move_phase(slug, 2, "done"))
    assert ada.use(Steps).move_phase(slug, 2, "skipped").standing == "skipped"


def test_a_gate_of_the_plan_holds_its_tasks(studio, ada):
    """One definition of what is in the way, up to the top; a draft and a blocker above do not count."""
    ada.use(Planning).open(plan(phase("A", task("a")), approval=True), "held")
    fault = studio.refuses(NotReady, lambda: ada.use(Steps).move_task("held", 1, 0, "active"))
    assert fault.facts["reasons"] == ["'Plan' waits for its approval"]
    ada.use(Planning).open(plan(phase("B", task("b"))), "free")
    ada.use(Steps).move_phase("free", 1, "blocked", "no key")
    assert ada.use(Steps).move_task("free", 1, 0, "active").standing == "active"


def test_who_worked_on_it_does_not_skip_past_its_gates(studio, ada):
    made = ada.use(Planning).open(plan(phase("A", task("a", review=True))), "p", start=True)
    item = ada.use(Steps).tasks(ada.use(Steps).phase("p", 1).item.id, -1, 9)[0].item.id
    ada.claims.start(item)
    assert plan_standing(made) == "active"
    studio.refuses(Forbidden, lambda: ada.use(Steps).move_task("p", 1, 0, "skipped"))


def test_what_another_holds_is_left_alone(studio, ada, bob):
    """Neither moved nor skipped with what it is a part of."""
    ada.use(Planning).open(plan(phase("A", task("a"), task("b"))), "p", start=True)
    bob.claims.start(ada.use(Steps).tasks(ada.use(Steps).phase("p", 1).item.id, -1, 1)[0].item.id)
    studio.refuses(AlreadyClaimed, lambda: ada.use(Steps).move_task("p", 1, 0, "open"))
    studio.refuses(AlreadyClaimed, lambda: ada.use(Steps).move_phase("p", 1, "done"))
    assert bob.use(Steps).move_phase("p", 1, "done").skipped == ("a", "b")


def test_completing_skips_what_is_open_below(ada, slug):
    """Blocked work too, whose blockers are resolved."""
    ada.use(Steps).move_task(slug, 1, 0, "blocked", notes="no key")
    assert ada.use(Steps).move_phase(slug, 1, "done").skipped == ("a", "b")
    line = ada.use(Steps).phase(slug, 1)
    assert (line.progress.states, line.progress.blocked) == ({("skipped", "done"): 2}, {})
    first = ada.use(Steps).tasks(line.item.id, -1, 1)[0].item.id
    assert slug_of(ada.use(Steps).around(first)[2]) == slug


def test_tasks_below_tasks_are_skipped_with_them(ada):
    """And a native phase that closes with its last task is closed but once."""
    inner = task("a", children=(task("x"), task("y")))
    ada.use(Planning).open(plan(phase("A", inner, lifecycle="part")), "p")
    assert ada.use(Steps).move_phase("p", 1, "done").skipped == ("a", "x", "y")
    assert plan_standing(ada.use(Planning).get("p")) == "done"


def test_the_last_phase_completes_the_plan(ada, slug):
    """And what is reopened reopens it."""
    ada.use(Steps).move_phase(slug, 1, "done")
    assert ada.use(Planning).current(ada.use(Planning).get(slug).item.id) is None
    ada.use(Steps).move_phase(slug, 2, "skipped", "not now")
    assert reason_of(ada.use(Steps).phase(slug, 2)) == "not now"
    assert plan_standing(ada.use(Planning).get(slug)) == "done"
    ada.use(Steps).move_task(slug, 2, "c", "active")
    head = ada.use(Planning).get(slug)
    assert (plan_standing(head), ada.use(Planning).current(head.item.id)) == ("active", 2)


def test_redacted_notes_are_marked(ada, person, slug):
    """What was taken away is told as such."""
    from counterpoint.core.model.work import Attribute

    ada.use(Steps).move_task(slug, 1, 0, notes="secret")
    item = ada.use(Steps).tasks(ada.use(Steps).phase(slug, 1).item.id, -1, 1)[0].item.id
    person.erasing.of_row(Attribute, item, "notes", reason="asked")
    assert text_in(ada.use(Steps).around(item)[0], NOTES) == "[redacted]"


def test_a_failed_task_stands_as_blocked(ada, slug):
    """Somebody has to decide; its state is the reason."""
    item = ada.use(Steps).tasks(ada.use(Steps).phase(slug, 1).item.id, -1, 1)[0].item.id
    ada.use(Planning).move(slug, "active")
    started = ada.claims.start(item)
    from counterpoint.core.model.filters import Report

    ada.tasks.finish(item, started.claim.token, Report(outcome="failed", summary="no"))
    line = ada.use(Steps).around(item)[0]
    assert (standing_of(line), reason_of(line)) == ("blocked", "failed")
    assert ada.use(Steps).move_task(slug, 1, 0, "done").standing == "done"


def test_a_staged_task_goes_its_own_way(studio, ada):
    """No word leads through all its stages at once."""
    ada.use(Planning).open(plan(phase("A", task("a", lifecycle="staged"))), "p")
    assert ada.use(Steps).move_task("p", 1, 0, "active").item.status == "gather"
    studio.refuses(IllegalMove, lambda: ada.use(Steps).move_task("p", 1, 0, "done"))


@pytest.mark.parametrize("to", ["archived", "paused"])
def test_a_plan_that_is_put_away_takes_nothing_up(studio, ada, slug, to):
    ada.use(Planning).move(slug, to)
    studio.refuses(Conflict, lambda: ada.use(Steps).move_phase(slug, 1, "active"))
    studio.refuses(Conflict, lambda: ada.use(Steps).toggle(slug, 1, 0))
    assert [slug_of(line) for line in ada.use(Planning).list(to, None, 5)] == [slug]


def test_a_name_that_means_several_is_refused(studio, ada):
    """Their places tell them apart; a phase without tasks has none."""
    ada.use(Planning).open(plan(phase("A", task("x"), task("x")), phase("A")), "p")
    studio.refuses(InvalidInput, lambda: ada.use(Steps).phase("p", "A"))
    studio.refuses(InvalidInput, lambda: ada.use(Steps).toggle("p", 1, "x"))
    assert ada.use(Steps).tasks(ada.use(Steps).phase("p", 2).item.id, -1, 5) == []
    found = ada.use(Steps).tasks(ada.use(Steps).phase("p", 1).item.id, 0, 5)
    assert [line.item.position for line in found] == [1]


def test_what_is_not_there_is_not_found(studio, ada, slug):
    """By place, by name, by id."""
    for place in (0, 9, "Nothing", "9", "²"):
        studio.refuses(NotFound, lambda place=place: ada.use(Steps).phase(slug, place))
        studio.refuses(NotFound, lambda place=place: ada.use(Steps).toggle(slug, 1, place or "x"))
    studio.refuses(NotFound, lambda: ada.use(Steps).around("demo-999"))
    assert ada.use(Steps).tasks("demo-999", -1, 5) == []
    assert ada.use(Steps).toggle(slug, 1, "demo-4").item.id == "demo-4"

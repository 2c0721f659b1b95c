"""Large plans: in slices that nobody sees, and there by one last entry or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note, ReadyFilter
from counterpoint.core.model.identity import Contribution
from counterpoint.core.model.journal import Reply
from counterpoint.core.model.work import Item, Staging
from counterpoint.kernel.errors import (
    Conflict,
    CyclicDependency,
    SessionEnded,
    StaleVersion,
    StoreFull,
)
from fakes.pausing import pausing
from fakes.studio import Studio

LAPSE = 61
ROWS = ("items", "labels", "areas", "criteria", "dependencies", "attributes", "aliases")


def large(count: int = 249, **first: Any) -> Draft:
    """Answer a plan of so many tasks and its root: every facet, and what waits in it."""
    tasks = tuple(Draft(kind="task", title=f"Okapi {n}", **first) for n in range(count - 2))
    full = Draft(
        kind="task",
        title="Full",
        labels=("zoo",),
        areas=("zoo/**",),
        acceptance=("it is fed",),
        checks=(("true",),),
        review=True,
        artifact=True,
        aliases=(("slug", "okapi"),),
        attributes={"legs": 4},
        needs=("Okapi 3",),
    )
    return Draft(
        kind="plan",
        title="Zoo",
        children=(Draft(kind="task", title="Done", done=True), *tasks, full),
    )


def killed(studio: Studio, core: Core, after: int) -> None:
    """Begin a large plan whose maker writes nothing any more after so many slices."""

    def fail() -> None:
        store.fault = StoreFull

    maker, store = pausing(studio, core, after, fail)
    with pytest.raises(StoreFull):
        maker.plans.create(large())


def rows(studio: Studio) -> dict[str, Any]:
    """Answer what is kept of work."""
    return {name: studio.image().tables[name] for name in ROWS}


def test_a_large_plan_is_seen_by_its_last_entry_and_others_write_in_between(studio, ada, bob):
    """The numbers stay side by side, and whoever comes between gets others."""
    seen: list[Any] = []

    def look() -> None:
        seen.append(bob.overview.state().counts)
        seen.append(bob.overview.search("okapi", limit=9))
        seen.append(bob.plans.create(Draft(kind="task", title="Mine")).root.id)

    maker, _ = pausing(studio, ada, 2, look)
    before = ada.feed.last()
    made = maker.plans.create(large())
    assert seen == [{}, [], "demo-251"]
    assert [item.number for item in made.items] == [*range(1, 251)]
    entries = studio.system.audit.log(after=before)
    assert [one.action for one in entries] == [
        "plan.drafted", "plan.drafted", "plan.created", "plan.drafted", "plan.created",
    ]  # fmt: skip
    assert (entries[-1].subject, entries[-1].facts) == ("demo-1", {"title": "Zoo", "items": 250})
    with studio.view() as view:
        assert made.items == tuple(view.select(Item, number=tuple(range(1, 251)), order="number"))
    offers = bob.ready.offers(ReadyFilter(root="demo-1"), 300)
    assert made.ready == tuple(offer.item.id for offer in offers)
    assert bob.overview.facets("okapi").item.title == "Full"
    studio.check()


def test_a_large_plan_stands_where_others_have_left_its_parent(studio, ada, bob):
    """Behind a child that came meanwhile, held back by what is in the parent's way, after what it needs."""
    parent, other = (ada.plans.create(Draft(kind="plan", title=name)).root.id for name in "PQ")
    phase = ada.plans.create(Draft(kind="phase", title="One"), parent).root.id

    def change() -> None:
        bob.plans.create(Draft(kind="task", title="Between"), phase)
        need = bob.plans.create(Draft(kind="task", title="Need"), other).root.id
        bob.items.edit(phase, Edit(add_needs=(need,)))

    maker, _ = pausing(studio, ada, 2, change)
    late = Draft(kind="task", title="Late", needs=(other,))
    tasks = (*(Draft(kind="task", title=f"t{n}") for n in range(150)), late)
    made = maker.plans.create(Draft(kind="task", title="Large", children=tasks), phase)
    assert (made.root.position, made.root.held, made.ready) == (1, 1, ())
    assert made.items[-1].blockers == 2
    studio.check()


@pytest.mark.parametrize("what", ["closed", "moved", "refused by its own slice"])
def test_a_large_plan_that_is_refused_late_leaves_nothing_that_anybody_sees(studio, ada, bob, what):
    """Its parent closed or moved meanwhile, or a name was taken: its rows go, its numbers are given to nobody."""
    top = ada.plans.create(Draft(kind="plan", title="P")).root.id
    task = ada.plans.create(Draft(kind="task", title="A"), top).root.id
    elsewhere = ada.plans.create(Draft(kind="plan", title="Q")).root.id
    edits = {
        "closed": lambda: bob.items.edit(task, Edit(status="cancelled")),
        "moved": lambda: bob.items.edit(task, Edit(parent=elsewhere)),
    }
    name = Draft(kind="task", title="Name", aliases=(("slug", "okapi"),))
    change = edits.get(what, lambda: bob.plans.create(name))
    after: list[Any] = []

    def meddle() -> None:
        change()
        with studio.view() as view, view.unveiled():
            after.append([item for item in view.select(Item) if not 4 <= item.number < 254])

    maker, _ = pausing(studio, ada, 2, meddle)
    below = replace(large(), kind="task")
    fault = StaleVersion if what == "moved" else Conflict
    with pytest.raises(fault):
        maker.plans.create(below, task)
    with studio.view() as view:
        assert [view.select(Item)] == after
        assert [one.status for one in view.select(Staging)] == ["gone"]
    assert studio.last().action == "plan.abandoned"
    assert bob.plans.create(Draft(kind="task", title="Next")).root.number >= 254
    studio.check()


def test_what_a_dead_maker_left_is_hidden_and_goes(studio, ada, bob):
    """A minute after its last slice the next large plan takes it away, and nothing is left but reviews."""
    kept = rows(studio)
    killed(studio, ada, 3)
    assert rows(studio) != kept
    assert bob.overview.state().counts == {}
    assert bob.plans.tidy() == 0
    studio.clock.pass_by(seconds=LAPSE)
    made = bob.plans.create(large())
    assert made.root.id == "demo-251"
    with studio.view() as view:
        assert min(item.number for item in view.select(Item)) == 251
        assert {row[1]: row[3] for row in view.table(Staging)} == {1: "gone", 251: "made"}
    assert bob.overview.facets("okapi").item.root == "demo-251"
    studio.check()
    assert studio.system.audit.rebuild().differences == ()


def test_whoever_comes_back_too_late_is_refused(studio, ada, bob):
    """His plan was taken away: nothing of it is left, and he may begin again."""

    def sleep() -> None:
        studio.clock.pass_by(seconds=LAPSE)
        assert bob.plans.tidy() == 1

    maker, _ = pausing(studio, ada, 2, sleep)
    with pytest.raises(StaleVersion) as caught:
        maker.plans.create(large())
    assert caught.value.retryable
    assert rows(studio)["items"] == []
    studio.check()


def test_one_key_makes_one_large_plan(studio, ada):
    """Also where the retry comes while the first call is under way, and answers before it."""

    def plan(core: Core) -> Any:
        return core.once("k", {"plan": 1}, lambda: core.plans.create(large()).root.id)

    answers: list[Any] = []
    maker, _ = pausing(studio, ada, 2, lambda: answers.append(plan(ada)))
    answers += [plan(maker), plan(ada)]
    assert answers == ["demo-251"] * 3
    with studio.view() as view:
        assert len(view.select(Item)) == 250
        assert len(view.select(Reply)) == 1
    studio.check()


def test_a_large_plan_is_one_transaction_where_its_call_has_written_before(studio, ada):
    """What a call has begun lands with it; a fault at the end undoes all."""
    top = ada.plans.create(Draft(kind="plan", title="P")).root.id

    def both(late: tuple[str, ...]) -> Any:
        ada.journal.append(Note(kind="comment", body="first"))
        last = Draft(kind="task", title="late", needs=late)
        return [
            *ada.plans.create(
                replace(large(), kind="phase", children=(*large().children, last)), top
            ).ready
        ]

    studio.refuses(CyclicDependency, lambda: ada.once("k", {}, lambda: both((top,))))
    before = ada.feed.last()
    ada.once("k", {}, lambda: both(()))
    actions = [entry.action for entry in studio.system.audit.log(after=before)]
    assert actions == ["comment.recorded", "plan.created", "plan.extended", "plan.extended"]
    studio.check()


def test_what_can_be_known_before_is_refused_before(studio, ada):
    """A circle through the parent, and a name that is taken, leave no entry."""
    top = ada.plans.create(Draft(kind="plan", title="P", aliases=(("slug", "okapi"),))).root.id
    studio.refuses(Conflict, lambda: ada.plans.create(large()))
    waits = Draft(kind="task", title="W", needs=(top,))
    tasks = (*(Draft(kind="task", title=f"t{n}") for n in range(150)), waits)
    phase = Draft(kind="phase", title="Large", children=tasks)
    studio.refuses(CyclicDependency, lambda: ada.plans.create(phase, top))


def test_a_name_that_a_hidden_item_has_goes_to_nobody_else(studio, ada, bob):
    """Whoever asks for it waits, and gets it when the plan was given up."""
    killed(studio, ada, 3)
    task = Draft(kind="task", title="Mine", aliases=(("slug", "okapi"),))
    assert studio.refuses(StaleVersion, lambda: bob.plans.create(task)).retryable
    studio.clock.pass_by(seconds=LAPSE)
    bob.plans.tidy()
    assert bob.plans.create(task).root.id == "demo-251"


def test_followers_hear_of_a_large_plan_when_all_see_it(studio, ada):
    """By one entry, each item once and as made; slices say nothing, then or later."""
    tasks = tuple(Draft(kind="task", title=f"t{n}") for n in range(150))
    flow = Draft(kind="workflow", title="W", lifecycle="declared", status="active", children=tasks)
    begin, halfway = ada.feed.last(), []
    maker, _ = pausing(
        studio, ada, 1, lambda: halfway.append(ada.feed.item_changes("workflow", begin))
    )
    maker.plans.create(flow)
    assert halfway == [(begin + 1, [])]
    last, changes = ada.feed.item_changes("workflow", begin)
    assert (last, {one.sequence for one in changes}) == (ada.feed.last(), {ada.feed.last()})
    assert [(one.item.number, one.made) for one in changes] == [(n, True) for n in range(1, 152)]
    assert ada.feed.item_changes("plan", begin)[1] == []
    drafted, created = ada.feed.entries(begin)[0], ada.feed.entries(begin)[-1]
    assert (ada.feed.concerned(drafted), ada.feed.concerned(created)) == ((), ("demo-1",))


def test_a_large_plan_below_an_item_counts_as_its_makers_work_there(studio, ada):
    """Where tasks come as done: from the last entry on, for the parent too, whose place and state nobody touched."""
    top = ada.plans.create(Draft(kind="plan", title="P")).root.id
    task = ada.plans.create(Draft(kind="task", title="T"), top).root.id
    seen: list[bool] = []

    def look() -> None:
        with studio.view() as view:
            seen.append(view.exists(Contribution, item=task))

    maker, _ = pausing(studio, ada, 2, look)
    made = maker.plans.create(replace(large(), kind="task"), task)
    with studio.view() as view:
        assert [*seen, view.exists(Contribution, item=task)] == [False, True]
    assert (made.root.position, made.root.held) == (0, 0)
    studio.check()


def test_who_may_not_write_begins_no_large_plan(studio, ada):
    """Whose session has ended is refused as ever, and nothing is kept for a plan of his."""
    ada.journal.append(Note(kind="comment", body="begun"))
    ada.sessions.end(ada.caller.actor.session, "completed")
    studio.refuses(SessionEnded, lambda: ada.plans.create(large()))

"""Large trees: closed in slices from the leaves up, wholly in the end, and undisturbed meanwhile."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note, Report
from counterpoint.core.model.journal import Record, Reply
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Dependency, Ending, Gate, Item
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    CounterpointError,
    IllegalMove,
    SessionEnded,
    StaleVersion,
    StoreFull,
)
from fakes.long_forms import share
from fakes.pausing import pausing
from fakes.studio import Studio

LAPSE = 11
CANCEL = Edit(status="cancelled")


def planned(core: Core, count: int = 250, **first: Any) -> str:
    """Make a tree of two phases and answer its top: demo-1, phases demo-2 and demo-3, tasks from demo-4 on."""
    tasks = tuple(Draft(kind="task", title=f"t{n}") for n in range(count))
    phases = (
        Draft(kind="phase", title="A", children=(Draft(kind="task", title="first"),), needs=()),
        Draft(kind="phase", title="B", children=tasks, needs=()),
    )
    return core.plans.create(Draft(kind="plan", title="P", children=phases, **first)).root.id


def killed(studio: Studio, core: Core, top: str, after: int) -> None:
    """Begin to cancel a tree; whoever does it writes nothing any more after so many slices."""

    def fail() -> None:
        store.fault = StoreFull

    maker, store = pausing(studio, core, after, fail)
    with pytest.raises(StoreFull):
        maker.items.edit(top, CANCEL)


def states(studio: Studio) -> dict[str, int]:
    """Answer how many items there are in each state."""
    with studio.view() as view:
        return view.counts(Item, "status")


def test_a_large_tree_is_closed_in_slices_and_others_write_in_between(studio, ada, bob):
    """Nothing open stays below what has closed, at any moment; the last entry is that of the call."""
    top = planned(ada)
    seen: list[Any] = []

    def look() -> None:
        studio.check()
        seen.append(states(studio))
        seen.append(bob.journal.append(Note(kind="comment", body="between", item="demo-9")).item)
        bob.items.edit("demo-10", Edit(title="Worded anew"))

    maker, _ = pausing(studio, ada, 2, look)
    before = ada.feed.last()
    after = maker.items.edit(top, Edit(status="cancelled", reason="no more of it"))
    assert (after.status, after.version) == ("cancelled", 2)
    assert seen == [{"open": 154, "cancelled": 100}, "demo-9"]
    assert states(studio) == {"cancelled": 254}
    entries = studio.system.audit.log(after=before)
    assert [one.action for one in entries] == [
        "tree.closing", "tree.thinned", "comment.recorded", "item.edited", "tree.thinned", "tree.thinned",
        "item.edited",
    ]  # fmt: skip
    assert entries[-1].facts == {"moved": ["open", "cancelled"], "reason": "no more of it"}
    studio.check()
    assert studio.system.audit.rebuild().differences == ()


def test_a_tree_of_a_hundred_is_closed_at_once(studio, ada):
    """In one transaction, as is one that a call closes which has written before."""
    small, large = planned(ada, 97), planned(ada)
    before = ada.feed.last()
    ada.items.edit(small, CANCEL)

    def both() -> Any:
        ada.journal.append(Note(kind="comment", body="first"))
        return ada.items.edit(large, CANCEL).id

    ada.once("k", {}, both)
    actions = [entry.action for entry in studio.system.audit.log(after=before)]
    assert actions == ["item.edited", "comment.recorded", "item.edited"]


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(share(4)))
def test_a_tree_that_is_closed_in_slices_ends_in_the_same_rows_as_one_closed_at_once(seed):
    """Whatever stood in it: claims, reviews, blockers, edges, parked and declared parts, issues that others need."""
    assert _closed(seed, is_sliced=True) == _closed(seed, is_sliced=False)


def _closed(seed: int, *, is_sliced: bool) -> list[Any]:
    """Answer the rows of a random tree that was closed."""
    studio = Studio()
    ada, bob = studio.core("ada"), studio.core("bob")
    top = _grown(random.Random(seed), ada, bob)  # noqa: S311 -- a tree that is the same each time
    goal = "failed" if seed % 2 and ada.items.get(top).kind == "plan" else "cancelled"

    def close() -> str:
        return ada.items.edit(top, Edit(status=goal, reason="enough")).status

    def both() -> Any:
        ada.journal.append(Note(kind="comment", body="first"))
        return "" if is_sliced else close()

    ada.once("k", {}, both)
    if is_sliced:
        close()
    studio.check()
    with studio.view() as view:
        assert view.exists(Ending) is is_sliced
        found = _rows(view)
    studio.close()
    return found


def _grown(chance: random.Random, ada: Core, bob: Core) -> str:
    """Make a random tree in which something has happened; answer its top."""
    is_issue = chance.random() < 0.3
    outside = [bob.plans.create(Draft(kind="issue", title=f"o{n}")).root.id for n in range(3)]

    def task(depth: int) -> Draft:
        below = (
            tuple(task(depth + 1) for _ in range(chance.choice((0, 0, 0, 3)))) if depth < 3 else ()
        )
        return Draft(
            kind="issue" if is_issue else "task",
            title=f"t{chance.random()}",
            status=chance.choice(("", "", "", "backlog")),
            children=below,
            needs=tuple(chance.sample(outside, 1)) if chance.random() < 0.1 else (),
            review=chance.random() < 0.1,
            approval=chance.random() < 0.1,
        )

    phases = tuple(
        Draft(
            kind="phase",
            title=f"p{n}",
            needs=(),
            lifecycle="declared" if n == 3 else "",
            status=chance.choice(("", "backlog")),
            children=tuple(task(0) for _ in range(30)),
        )
        for n in range(4)
    )
    below = tuple(task(0) for _ in range(100)) if is_issue else phases
    kind = "issue" if is_issue else "plan"
    made = ada.plans.create(Draft(kind=kind, title="T", children=below))
    tasks = [item.id for item in made.items if item.is_workable and item.id != made.root.id]
    for _ in range(40):
        one, other = chance.choice(tasks), chance.choice(tasks)
        acts = (
            lambda one=one: ada.claims.start(one),
            lambda one=one: ada.tasks.finish(
                one, ada.claims.start(one).claim.token, Report(outcome="done", summary="s")
            ),
            lambda one=one: ada.journal.append(Note(kind="blocker", body="b", item=one)),
            lambda one=one, other=other: ada.items.edit(one, Edit(add_needs=(other,))),
            lambda one=one: ada.items.edit(outside[0], Edit(add_needs=(one,))),
            lambda one=one: ada.items.edit(one, CANCEL),
            lambda one=one: ada.items.edit(one, Edit(status="failed")),
        )
        with suppress(CounterpointError):
            chance.choice(acts)()
    return made.root.id


def _rows(view: Any) -> list[Any]:
    """Answer what is kept of work, but for times, versions and the numbers of records."""
    items = [
        (
            one.id,
            one.status,
            one.category,
            one.parent,
            one.blockers,
            one.held,
            bool(one.closed_at),
            one.version,
        )
        for one in view.select(Item)
    ]
    claims = [(one.item, one.token, one.state) for one in view.select(Claim)]
    records = sorted((one.item, one.kind, one.body, one.status) for one in view.select(Record))
    gates = [(one.item, one.name, one.status) for one in view.select(Gate)]
    return [items, claims, records, gates, view.select(Dependency)]


def test_nobody_disturbs_a_tree_that_is_being_closed(studio, ada, bob):
    """States, claims, places and fresh items are refused until it is over, whoever asks; what is beside it is free."""
    top = planned(ada)
    inner = ada.plans.create(
        Draft(kind="plan", title="Beside", children=(Draft(kind="task", title="b"),))
    )
    over = ada.plans.create(Draft(kind="issue", title="Over")).root.id
    beside, task = inner.root.id, "demo-9"
    killed(studio, bob, top, 2)
    tasks = tuple(Draft(kind="task", title=f"l{n}") for n in range(120))
    for act in (
        lambda: ada.claims.start(task),
        lambda: ada.items.edit("demo-2", Edit(status="backlog")),
        lambda: ada.items.edit("demo-253", Edit(status="open")),
        lambda: ada.items.edit(top, Edit(status="active")),
        lambda: ada.items.edit("demo-3", CANCEL),
        lambda: ada.items.edit(top, Edit(status="failed")),
        lambda: ada.items.edit("demo-4", Edit(parent=beside)),
        lambda: ada.items.edit(inner.items[1].id, Edit(parent="demo-2")),
        lambda: ada.plans.create(Draft(kind="task", title="fresh"), "demo-2"),
        lambda: ada.plans.create(Draft(kind="phase", title="large", children=tasks), top),
    ):  # fmt: skip
        fault = studio.refuses(StaleVersion, act)
        assert fault.retryable
        assert "being closed" in fault.message
    ada.journal.append(Note(kind="blocker", body="stop", item=task))
    ada.items.edit(task, Edit(title="Still worded", add_needs=(over,)))
    ada.claims.start(inner.items[1].id)
    studio.check()


def test_what_holds_a_tree_that_is_being_closed_is_not_closed_meanwhile(studio, ada, bob):
    """Neither in slices of its own nor at once, and goes on when that has ended."""
    tasks = tuple(Draft(kind="task", title=f"t{n}") for n in range(150))
    phase = Draft(kind="phase", title="A", children=tasks)
    top = ada.plans.create(Draft(kind="plan", title="P", children=(phase,))).root.id
    killed(studio, bob, "demo-2", 1)
    studio.refuses(StaleVersion, lambda: ada.items.edit(top, CANCEL))
    studio.clock.pass_by(seconds=LAPSE)
    assert ada.items.edit(top, CANCEL).status == "cancelled"
    assert states(studio) == {"cancelled": 152}
    studio.check()


@pytest.mark.parametrize("after", [1, 2, 3, 4])
def test_what_somebody_left_who_is_gone_is_closed_in_the_end(studio, ada, bob, after):
    """By the server or the next large end, wherever he stopped; until then nothing is told of it to followers."""
    top, begin = planned(ada), ada.feed.last()
    issue = bob.plans.create(Draft(kind="issue", title="I")).root.id
    killed(studio, ada, top, after)
    assert bob.items.tidy() == 0
    assert [one.item.id for one in ada.feed.item_changes("plan", begin)[1]] == []
    studio.check()
    studio.clock.pass_by(seconds=LAPSE)
    assert bob.items.tidy() == 1
    assert bob.items.tidy() == 0
    with studio.view() as view:
        below = view.select(Item, root=top)
        assert {item.status for item in below} == {"cancelled"}
        assert {item.version for item in below} == {2}
        assert [one.status for one in view.select(Ending)] == ["ended"]
    assert (studio.last().action, studio.last().subject) == ("tree.closed", top)
    bob.claims.start(issue)
    studio.check()


def test_whoever_repeats_the_call_goes_on_with_it_at_once(studio, ada, bob):
    """Under its key he has one answer; another key, or another caller, closes nothing twice."""
    top = planned(ada)

    def cancel(core: Core, key: str) -> Any:
        return core.once(key, {"cancel": top}, lambda: core.items.edit(top, CANCEL).status)

    def fail() -> None:
        store.fault = StoreFull

    maker, store = pausing(studio, ada, 2, fail)
    with pytest.raises(StoreFull):
        cancel(maker, "k")
    answers: list[Any] = []
    other, _ = pausing(studio, ada, 2, lambda: answers.append(cancel(bob, "b")))
    answers += [cancel(other, "k"), cancel(ada, "k")]
    assert answers == ["cancelled"] * 3
    with studio.view() as view:
        assert {item.version for item in view.select(Item, root=top)} == {2}
        assert len(view.select(Reply)) == 2
        assert len(view.select(Ending)) == 1
    studio.check()


def test_several_who_close_one_tree_do_no_harm(studio, ada, bob):
    """A slice that another has closed meanwhile is passed by, and so is the top; a tree beside it is another matter."""
    top, beside = planned(ada), planned(ada)
    killed(studio, ada, beside, 1)
    killed(studio, bob, top, 1)
    # Somebody has looked what is to be closed, and sleeps while others close a part of it, and then all.
    inner, _ = pausing(studio, bob, 2, lambda: ada.items.edit(top, CANCEL))
    outer, _ = pausing(studio, ada, 2, lambda: killed(studio, bob, top, 3))
    assert outer.items.edit(top, CANCEL).version == 2
    assert inner.items.edit(beside, CANCEL).version == 2
    third = planned(ada)
    killed(studio, ada, third, 1)
    studio.clock.pass_by(seconds=LAPSE)
    server, _ = pausing(studio, bob, 3, lambda: ada.items.edit(third, CANCEL))
    assert server.items.tidy() == 1
    with studio.view() as view:
        assert {(one.status, one.version) for one in view.select(Item)} == {("cancelled", 2)}
    studio.check()


def test_whoever_comes_back_after_it_was_reopened_is_told(studio, ada, bob):
    """Others have closed it for him, and one has taken it up again, with all in it: that is left as it is."""
    top = planned(ada)

    def meddle() -> None:
        studio.clock.pass_by(seconds=LAPSE)
        assert bob.items.tidy() == 1
        bob.items.edit(top, Edit(status="open"))

    maker, _ = pausing(studio, ada, 2, meddle)
    with pytest.raises(StaleVersion):
        maker.items.edit(top, CANCEL)
    assert states(studio) == {"open": 254}
    studio.check()


def test_what_can_be_known_before_is_refused_before_anything_is_closed(studio, ada, bob):
    """Somebody at work below or at the top, another version or state, a move that there is not, a session that ended."""
    top = planned(ada, review=True)
    token = bob.claims.start("demo-9").claim.token
    studio.refuses(AlreadyClaimed, lambda: ada.items.edit(top, CANCEL))
    bob.tasks.finish("demo-9", token, Report(outcome="partial", summary="s"))
    for edit in (
        Edit(status="cancelled", expected_version=7),
        Edit(status="cancelled", expected_status="review"),
    ):
        studio.refuses(StaleVersion, lambda edit=edit: ada.items.edit(top, edit))
    above = ada.plans.create(Draft(kind="issue", title="I")).root.id
    bob.claims.start(above)
    below = tuple(Draft(kind="issue", title=f"i{n}") for n in range(120))
    ada.plans.create(Draft(kind="issue", title="I", children=below), above)
    studio.refuses(AlreadyClaimed, lambda: ada.items.edit(above, CANCEL))
    large = ada.plans.create(Draft(kind="issue", title="I", children=below)).root.id
    studio.refuses(IllegalMove, lambda: ada.items.edit(large, Edit(status="failed")))
    ada.sessions.end(ada.caller.actor.session, "completed")
    studio.refuses(SessionEnded, lambda: ada.items.edit(top, CANCEL))


def test_the_claims_of_whoever_closes_a_tree_end_with_its_beginning(studio, ada, bob):
    """So that nobody else has to end them for him; where an end is declared, who is at work stays so."""
    declared = Draft(
        kind="phase",
        title="D",
        lifecycle="declared",
        needs=(),
        children=(Draft(kind="task", title="d"),),
    )
    tasks = tuple(Draft(kind="task", title=f"t{n}") for n in range(150))
    phase = Draft(kind="phase", title="A", children=tasks, needs=())
    top = ada.plans.create(Draft(kind="plan", title="P", children=(declared, phase))).root.id
    ada.claims.start("demo-9")
    bob.claims.start("demo-4")
    killed(studio, ada, top, 1)
    with studio.view() as view:
        assert {one.item: one.state for one in view.select(Claim)} == {
            "demo-4": "live",
            "demo-9": "released",
        }
    studio.clock.pass_by(seconds=LAPSE)
    bob.items.tidy()
    assert states(studio) == {"active": 1, "cancelled": 153}
    studio.check()


def test_followers_hear_of_a_closed_tree_by_its_last_entry(studio, ada, bob):
    """Each item once and as it is then; slices say nothing, then or later, and who watches an item is told."""
    top, begin, halfway = planned(ada), ada.feed.last(), []
    maker, _ = pausing(studio, ada, 2, lambda: halfway.append(ada.feed.item_changes("plan", begin)))
    maker.items.edit(top, CANCEL)
    assert halfway == [(begin + 2, [])]
    last, changes = ada.feed.item_changes("plan", begin)
    assert {one.sequence for one in changes} == {last}
    assert sorted(one.item.number for one in changes) == [*range(1, 255)]
    assert {(one.item.status, one.made) for one in changes} == {("cancelled", False)}
    begun, *_, ended = ada.feed.entries(begin)
    assert ada.feed.concerned(begun) == ()
    assert set(ada.feed.concerned(ended)) == {f"demo-{n}" for n in range(1, 255)}
    ada.items.edit(top, Edit(status="open"))
    killed(studio, ada, planned(ada), 2)
    assert {one.sequence for one in ada.feed.item_changes("plan", begin, limit=5)[1]} == {last}


def test_what_needed_an_issue_of_a_closed_tree_hears_of_it(studio, ada, bob):
    below = tuple(Draft(kind="issue", title=f"i{n}") for n in range(150))
    top = ada.plans.create(Draft(kind="issue", title="I", children=below)).root.id
    waiting = bob.plans.create(Draft(kind="issue", title="W", needs=("demo-9", top))).root.id
    ada.items.edit(top, CANCEL)
    with studio.view() as view:
        assert view.select(Dependency) == []
        told = view.select(Record, item=waiting)
    assert [one.body for one in told] == [
        "This does not wait for DEMO-009 any more: it was cancelled",
        "This does not wait for DEMO-001 any more: it was cancelled",
    ]
    assert bob.claims.start(waiting).item.status == "active"
    studio.check()

"""Looking at the whole, and finding in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit, ItemFilter, Note, Report
from counterpoint.core.model.journal import Outcome, Receipt, Record
from counterpoint.core.model.lifecycles import LIFECYCLES, TASK
from counterpoint.core.model.sessions import Handoff
from counterpoint.core.queries.overview import ItemReader
from counterpoint.kernel.errors import InvalidInput

PLAN = "# Plan\n## One\n- [ ] Anvil {#a}\n  About rivets.\n- [ ] Bellows\n  - after: a\n"


@pytest.fixture
def ids(ada):
    """Give the items of a plan by title."""
    return {i.title: i.id for i in ada.plans.create(ada.plans.read(PLAN)).items}


def test_the_state_of_a_project_is_told_in_numbers_and_names(studio, ada, bob, ids):
    """Counts by kind, what is held, what blocks, what waits for a verdict."""
    ada.items.edit(ids["Anvil"], Edit(checks=(("x",),)))
    started = ada.claims.start(ids["Anvil"])
    blocker = bob.journal.append(Note(kind="blocker", body="b", item=ids["Bellows"]))
    other = ada.plans.create(ada.plans.read("# Q\n- [ ] R\n  - review: yes\n")).items[1].id
    token = bob.claims.start(other).claim.token
    bob.tasks.finish(other, token, Report(outcome="done", summary="s"))
    state = ada.overview.state()
    assert state.counts["task"] == {"active": 1, "open": 1, "review": 1}
    assert [(live.claim, live.item.id) for live in state.live] == [(started.claim, ids["Anvil"])]
    assert ada.overview.held() == state.live
    assert bob.overview.held() == ()
    assert studio.core("pat", kind="human").overview.held() == ()
    assert state.blockers == (blocker,)
    assert [item.id for item in state.in_review] == [other]
    assert [item.title for item in state.roots] == ["Q", "Plan"]
    assert (state.ledger_size, state.now) == (studio.image().size, studio.clock.now())
    assert state.last_entry_at == studio.last().time
    assert state.project == ada.projects.open("ignored")
    facets = ada.overview.facets(ids["Anvil"])
    assert facets.claim == started.claim
    assert facets.readiness.is_ready
    held = bob.overview.facets(ids["Anvil"]).readiness
    assert held.held_by == ada.caller.actor.session
    assert "held by ada until" in held.reasons[0]


def test_every_thing_in_the_way_is_named(ada, ids):
    """What is finished already is not; what holds the phase is, with the phase."""
    first = ada.plans.create(ada.plans.read("# X\n- [ ] Y\n- [x] Z\n"))
    y, z = (item.id for item in first.items[1:])
    ada.items.edit(ids["Bellows"], Edit(add_needs=(y, z)))
    ada.journal.append(Note(kind="blocker", body="no coal", item=ids["One"]))
    reasons = ada.ready.judge(ada.items.get(ids["Bellows"])).reasons
    assert reasons == (
        f"waits for {ids['Anvil']} (open): Anvil", f"waits for {y} (open): Y",
        f"{ids['One']} blocker demo-r1: no coal",
    )  # fmt: skip


def test_what_is_parked_by_a_table_that_is_not_installed_can_be_shown(monkeypatch, ada, ids):
    """Its counter says that something is in the way; the table would say what."""
    dock = replace(TASK, name="dock")
    monkeypatch.setitem(LIFECYCLES, "dock", dock)
    made = ada.plans.create(Draft(kind="task", title="Boat", lifecycle="dock")).root.id
    ada.journal.append(Note(kind="blocker", body="no tide", item=made))
    ada.items.edit(made, Edit(status="backlog"))
    monkeypatch.delitem(LIFECYCLES, "dock")
    readiness = ada.overview.facets(made).readiness
    assert readiness.reasons == ("it is in the backlog", "blocker demo-r1: no tide")
    assert (readiness.is_ready, readiness.is_blocked) == (False, True)
    LIFECYCLES["dock"] = dock  # for the check of the counters at the end


def test_progress_counts_what_is_over_by_a_table_that_is_not_installed(monkeypatch, ada):
    """By the category that is kept with each item, though nobody here knows its state."""
    baking = replace(
        TASK,
        name="baking",
        categories={**TASK.categories, "baked": "done", "burnt": "dropped"},
        moves={**TASK.moves, "open": ("baked", "burnt"), "baked": (), "burnt": ()},
    )
    monkeypatch.setitem(LIFECYCLES, "baking", baking)
    cakes = [Draft(kind="task", title=name, lifecycle="baking") for name in "abcd"]
    root, *made = ada.plans.create(
        Draft(kind="plan", title="Fair", children=(*cakes, Draft(kind="task", title="e")))
    ).items
    for item, state in zip(made, ("baked", "baked", "burnt"), strict=False):
        ada.items.edit(item.id, Edit(status=state))
    monkeypatch.delitem(LIFECYCLES, "baking")
    progress = ada.overview.facets(root.id).progress
    assert progress.by_category() == {"done": 2, "dropped": 1, "open": 2}
    LIFECYCLES["baking"] = baking  # for the check of the counters at the end


def test_words_are_found_where_they_stand(ada, ids):
    """In items, records and outcomes; narrowed by kind and item, page by page."""
    finding = ada.journal.append(Note(kind="finding", body="rivets break", item=ids["Anvil"]))
    ada.claims.start(ids["Anvil"])
    report = Report(outcome="done", summary="rivets hold")
    ada.tasks.finish(ids["Anvil"], 1, report)
    found = ada.overview.search("RIVETS!", limit=9)
    assert {type(one.row).__name__ for one in found} == {"Item", "Record", "Outcome"}
    assert found[0].score >= found[-1].score > 0
    assert [one.row for one in ada.overview.search("rivets", kinds=("finding",), limit=9)] == [
        finding
    ]
    outcome = ada.overview.find(Outcome, ids["Anvil"], 1)
    assert [one.row for one in ada.overview.search("hold", limit=9)] == [outcome]
    assert ada.overview.search("rivets", item=ids["Bellows"], limit=9) == []
    pages = [ada.overview.search("rivets", limit=1, offset=n)[0].row for n in range(3)]
    assert pages == [one.row for one in found]
    with pytest.raises(InvalidInput):
        ada.overview.search("?!", limit=9)


def test_nothing_is_alike_a_text_without_words(ada):
    """A decision that is only signs has no words to share."""
    ada.journal.append(Note(kind="decision", title="Oak", body="Oak is heavy"))
    assert [one.title for one in ada.overview.alike("decision", "heavy oak", limit=3)] == ["Oak"]
    assert ada.overview.alike("decision", "--- !?", limit=3) == []


def test_what_was_written_in_this_call_is_found_in_it(ada):
    """One call sees its own writes, whatever it asks."""

    def run():
        ada.journal.append(Note(kind="finding", body="fresh paint"))
        found = ada.overview.search("paint", limit=9)
        return [len(found), len(ada.overview.rows(Record))]

    assert ada.once("k", 1, run) == [1, 1]


def test_rows_are_listed_from_either_end(ada, ids):
    """By number, narrowed by any column."""
    for word in ("x", "y", "z"):
        ada.gates.verify(Check(command=Command(argv=(word,))))
    assert [r.argv[0] for r in ada.overview.rows(Receipt, limit=2)] == ["x", "y"]
    assert [r.argv[0] for r in ada.overview.rows(Receipt, latest=True, limit=1)] == ["z"]
    assert ada.overview.rows(Handoff) == []
    assert ada.overview.last_handoff() is None


@pytest.fixture
def tree(ada):
    """Give a plan of two phases with what lists show, by title."""
    tasks = (
        Draft(kind="task", title="a", labels=("x",), attributes={"size": 1}, aliases=(("s", "n"),)),
        Draft(kind="task", title="b", needs=("a",), acceptance=("true",), assignee="bob"),
        Draft(kind="task", title="c", done=True),
    )
    phases = (
        Draft(kind="phase", title="One", children=tasks),
        Draft(kind="phase", title="Two", needs=()),
    )
    made = ada.plans.create(Draft(kind="plan", title="P", children=phases)).items
    return {item.title: item for item in made}


def test_a_view_shows_the_parts_that_were_asked_for(studio, ada, tree):
    """And nothing else; each part is read once for a whole page."""
    blocker = ada.journal.append(Note(kind="blocker", body="no key", item=tree["a"].id))
    ada.journal.append(Note(kind="blocker", body="of nothing"))
    items = [ada.items.get(tree[name].id) for name in "abc"]
    with studio.store.reading("demo") as view:
        a, b, c = ItemReader(view).views(
            items, "labels", "names", "attributes", "needs", "criteria", "blockers", "outcome"
        )
        assert (a.labels, a.names, a.attributes) == (("x",), {"s": "n"}, {"size": 1})
        assert (a.blockers, b.blockers) == ((blocker,), ())
        assert [need.title for need in b.needs] == ["a"]
        assert [one.text for one in b.criteria] == ["true"]
        assert (b.item.assignee, c.outcome, c.attempt, c.progress.total) == ("bob", None, 1, 0)
        bare = ItemReader(view).one(items[0])
        assert (bare.item, bare.labels, bare.blockers) == (items[0], (), ())


def test_progress_counts_what_is_directly_below(studio, ada, tree):
    """Of one kind or of all, with what is blocked if blockers are asked for."""
    ada.journal.append(Note(kind="blocker", body="no key", item=tree["a"].id))
    with studio.store.reading("demo") as view:
        reader = ItemReader(view)
        one = reader.one(ada.items.get(tree["One"].id), "blockers", "progress", below="task")
        assert (one.progress.by_category(), one.progress.blocked) == (
            {"done": 1, "open": 2},
            {("open", "open"): 1},
        )
        plan = reader.one(ada.items.get(tree["P"].id), "progress", below="task")
        assert (plan.progress.total, one.progress.by_category()) == (0, {"done": 1, "open": 2})
        whole = reader.one(ada.items.get(tree["P"].id), "blockers", "progress")
        assert (whole.progress.total, whole.progress.blocked) == (2, {})
        both = reader.progress((tree["P"].id, tree["One"].id), blocked=True)
        assert (both.total, sum(both.blocked.values())) == (5, 1)


def test_views_are_found_by_columns_labels_and_values(studio, ada, tree):
    """However they are ordered, in pages of any size, and counted by their columns."""
    root = tree["P"].id
    with studio.store.reading("demo") as view:
        reader = ItemReader(view)

        def found(size=100, **wanted):
            views = reader.find(ItemFilter(root=root, **wanted), size=size)
            return "".join(sorted(one.item.title for one in views))

        assert found(kind="task") == found(size=1, kind="task") == "abc"
        assert found(kind="task", attributes={"size": 1}) == "a"
        assert found(label="x") == found(label="x", ids=(tree["a"].id, tree["b"].id)) == "a"
        assert found(label="x", ids=(tree["b"].id,)) == found(label="y") == found(ids=()) == ""
        assert found(status=("done", "open"), parent=(tree["One"].id,), assignee="bob") == "b"
        assert found(kind="task", since=studio.clock.now()) in {"abc", ""}
        assert found(since="9") == ""
        latest = reader.find(ItemFilter(kind="task"), order="updated_at desc,number desc", size=2)
        assert [one.item.title for one in latest] == ["c", "b", "a"]
        assert (reader.count(ItemFilter(kind="task")), reader.count(ItemFilter(ids=()))) == (3, 0)


def test_what_any_session_of_a_principal_holds_is_its_own(studio, ids):
    """Its other window sees it; another principal, and whom nothing attests, do not."""
    ada, window = studio.core("ada"), studio.core("ada", session="ses_window")
    eve = studio.core("eve")
    nobody = Core(
        studio.ports, replace(ada.caller, actor=replace(ada.caller.actor, principal=None))
    )
    assert ada.overview.held_anywhere() == ()
    started = ada.claims.start(ids["Anvil"])
    assert [one.claim for one in window.overview.held_anywhere()] == [started.claim]
    assert window.overview.held() == ()
    assert eve.overview.held_anywhere() == nobody.overview.held_anywhere() == ()


def test_what_a_predecessor_holds_is_found_by_its_capability(studio, ids):
    """Also by whom nothing attests."""
    ada = studio.core("ada", capability="secret")
    started = ada.claims.start(ids["Anvil"])
    eve = studio.core("eve")
    nobody = Core(
        studio.ports, replace(eve.caller, actor=replace(eve.caller.actor, principal=None))
    )
    for core in (eve, nobody):
        assert [live.claim for live in core.overview.held_anywhere("secret")] == [started.claim]
        assert core.overview.held_anywhere("another") == ()


def test_a_tree_is_walked_in_its_order_however_wide_it_is(studio, ada):
    """From one item, or from all that stand at the top."""
    titles = [f"t{number}" for number in range(101)]
    children = tuple(Draft(kind="task", title=title) for title in titles)
    plan = ada.plans.create(Draft(kind="plan", title="P", children=children)).root.id
    ada.plans.create(Draft(kind="task", title="Other"))
    below = [(1, title) for title in titles]
    with studio.view() as view:
        reader = ItemReader(view)
        lines = [(level, str(item.title)) for level, item in reader.walk((), plan)]
        assert lines == [(0, "P"), *below]
        lines = [(level, str(item.title)) for level, item in reader.walk(("open",))]
        assert [(0, "P"), *below, (0, "Other")] == [
            line for line in lines if line in {(0, "P"), *below, (0, "Other")}
        ]

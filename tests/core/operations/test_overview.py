"""Looking at the whole, and finding in it."""

from __future__ import annotations

import pytest

from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit, Note, Report
from counterpoint.core.model.journal import Outcome, Receipt, Record
from counterpoint.core.model.sessions import Handoff
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


def test_words_are_found_where_they_stand(ada, ids):
    """In items, records and outcomes; narrowed by kind and item, page by page."""
    finding = ada.journal.append(Note(kind="finding", body="rivets break", item=ids["Anvil"]))
    ada.claims.start(ids["Anvil"])
    report = Report(outcome="done", summary="rivets hold")
    ada.tasks.finish(ids["Anvil"], 1, report)
    found = ada.search.find("RIVETS!", limit=9)
    assert {type(one.row).__name__ for one in found} == {"Item", "Record", "Outcome"}
    assert found[0].score >= found[-1].score > 0
    assert [one.row for one in ada.search.find("rivets", kinds=("finding",), limit=9)] == [finding]
    outcome = ada.overview.find(Outcome, ids["Anvil"], 1)
    assert [one.row for one in ada.search.find("hold", limit=9)] == [outcome]
    assert ada.search.find("rivets", item=ids["Bellows"], limit=9) == []
    pages = [ada.search.find("rivets", limit=1, offset=n)[0].row for n in range(3)]
    assert pages == [one.row for one in found]
    with pytest.raises(InvalidInput):
        ada.search.find("?!", limit=9)


def test_what_was_written_in_this_call_is_found_in_it(ada):
    """One call sees its own writes, whatever it asks."""

    def run():
        ada.journal.append(Note(kind="finding", body="fresh paint"))
        found = ada.search.find("paint", limit=9)
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

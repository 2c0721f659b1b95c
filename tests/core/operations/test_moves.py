"""Moves: what follows when work starts, closes, reopens or is given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import (
    Check,
    Edit,
    Handover,
    Judgment,
    Note,
    ReadyFilter,
    Report,
)
from counterpoint.core.model.lifecycles import LIFECYCLES, PART
from counterpoint.core.model.work import Gate
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    GateClosed,
    IllegalMove,
    NotClaimHolder,
    NotReady,
)

DONE = Report(outcome="done", summary="it works")


def make(core, text):
    """Make a plan and answer its items' ids by title."""
    return {item.title: item.id for item in core.plans.create(core.plans.read(text)).items}


def work(core, item, outcome="done"):
    """Start and finish an item."""
    token = core.claims.start(item).claim.token
    return core.tasks.finish(item, token, Report(outcome=outcome, summary="done so"))


def status(core, *items):
    """Answer the states of items."""
    return [core.items.get(item).status for item in items]


def offered(core):
    """Answer the ids of what is ready."""
    return [offer.item.id for offer in core.ready.offers(ReadyFilter(), 50)]


def test_a_plan_wakes_with_its_first_task_and_closes_with_its_last(ada):
    """Phases and root follow their tasks, one after the other."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n- [ ] B\n## Two\n- [ ] C\n")
    assert offered(ada) == [ids["A"], ids["B"]]
    ada.claims.start(ids["A"])
    assert status(ada, ids["Plan"], ids["One"], ids["Two"]) == ["active", "active", "open"]
    ada.tasks.finish(ids["A"], 1, DONE)
    found = work(ada, ids["B"])
    assert found.released == (ids["Two"], ids["C"])
    assert status(ada, ids["Plan"], ids["One"], ids["Two"]) == ["active", "done", "open"]
    assert found.parent.status == "done"
    assert offered(ada) == [ids["C"]]
    work(ada, ids["C"])
    assert status(ada, ids["Plan"], ids["Two"]) == ["done", "done"]


def test_everything_one_finish_sets_free_is_told(studio, ada):
    """A task that waited for the task, and those that waited for its phase."""
    ids = make(
        ada, "# Plan\n## One\n- [ ] A {#a}\n## Two\n- [ ] B\n## Three\n- after: a\n- [ ] C\n"
    )
    found = work(ada, ids["A"])
    assert set(found.released) == {ids["Two"], ids["B"], ids["Three"], ids["C"]}
    assert studio.last().facts["released"] == list(found.released)


def test_a_reopened_task_reopens_everything_above_it(studio, ada):
    """Phase and root both come back, and what waited for the phase waits again."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n## Two\n- [ ] B\n")
    work(ada, ids["A"])
    work(ada, ids["B"])
    assert status(ada, ids["Plan"]) == ["done"]
    ada.items.edit(ids["A"], Edit(status="open"))
    assert status(ada, ids["Plan"], ids["One"], ids["Two"]) == ["active", "active", "done"]
    assert ada.items.get(ids["Two"]).blockers == 1
    assert ada.items.get(ids["Plan"]).closed_at == ""
    studio.check()
    work(ada, ids["A"])
    assert status(ada, ids["Plan"]) == ["done"]


def test_a_reopened_phase_reopens_its_plan(ada):
    """A part goes from done to active; what holds it must not stay done."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n")
    work(ada, ids["A"])
    ada.items.edit(ids["One"], Edit(status="active"))
    assert status(ada, ids["Plan"]) == ["active"]


def test_a_reopened_task_below_cancelled_work_brings_it_back(ada):
    """Whoever works on something works on what holds it."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n  - [ ] A1\n")
    ada.items.edit(ids["Plan"], Edit(status="cancelled"))
    assert status(ada, *ids.values()) == ["cancelled"] * 4
    ada.items.edit(ids["A1"], Edit(status="open"))
    assert status(ada, *ids.values()) == ["open"] * 4
    ada.items.edit(ids["Plan"], Edit(status="cancelled"))
    ada.items.edit(ids["A1"], Edit(status="open"))
    ada.claims.start(ids["A1"])
    assert status(ada, *ids.values()) == ["active", "active", "open", "active"]


def test_a_cancelled_plan_offers_nothing_any_more(studio, ada, bob, person):
    """What is open below goes with it; a claim that somebody else holds there ends by a person alone."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n- [ ] B\n- [ ] C\n")
    work(ada, ids["A"])
    ada.claims.start(ids["B"])
    dropped = Edit(status="cancelled", reason="no longer wanted")
    fault = studio.refuses(AlreadyClaimed, lambda: bob.items.edit(ids["Plan"], dropped))
    assert (fault.facts["holder"], fault.facts["items"]) == ("ada", [ids["B"]])
    person.items.edit(ids["Plan"], dropped)
    assert status(ada, ids["One"], ids["A"], ids["B"], ids["C"]) == [
        "cancelled", "done", "cancelled", "cancelled",
    ]  # fmt: skip
    assert offered(bob) == []
    assert ada.overview.held() == ()
    assert studio.last().facts == {
        "moved": ["active", "cancelled"],
        "reason": "no longer wanted",
        "formerly": {"active": [ids["One"], ids["B"]], "open": [ids["C"]]},
    }


def test_whoever_held_what_was_given_up_above_it_hears_who_did_it_and_why(studio, ada, person):
    ids = make(ada, "# Plan\n## One\n- [ ] A\n")
    token = ada.claims.start(ids["A"]).claim.token
    person.items.edit(ids["Plan"], Edit(status="cancelled", reason="no longer wanted"))
    at = studio.last().time
    told = f"{studio.last().actor.name} cancelled {ids['Plan']} at {at}, and {ids['A']} with it, because: no longer wanted"
    lost = studio.refuses(NotClaimHolder, lambda: ada.tasks.finish(ids["A"], token, DONE))
    assert lost.message == told
    assert "stays in the tree" in lost.hint
    again = studio.refuses(NotReady, lambda: ada.claims.start(ids["A"]))
    assert told in again.message


def test_a_skipped_phase_skips_what_is_below_and_frees_the_next(ada):
    """Skipped counts as done for those who wait."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n## Two\n- [ ] B\n")
    ada.items.edit(ids["One"], Edit(status="skipped"))
    assert status(ada, ids["A"]) == ["skipped"]
    assert offered(ada) == [ids["B"]]


def test_skipped_phases_free_each_other_on_the_way(studio, ada):
    """The second is no longer waiting for the first when its turn comes."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n## Two\n- [ ] B\n")
    ada.items.edit(ids["Plan"], Edit(status="skipped"))
    assert status(ada, ids["One"], ids["Two"], ids["B"]) == ["skipped"] * 3
    assert ada.items.get(ids["Two"]).blockers == 0


def test_a_task_under_review_below_a_skipped_one_is_cancelled(ada):
    ids = make(ada, "# Plan\n- [ ] A\n  - [ ] A1\n    - review: yes\n")
    work(ada, ids["A1"])
    ada.items.edit(ids["A"], Edit(status="skipped"))
    assert status(ada, ids["A1"]) == ["cancelled"]


def test_a_task_above_others_is_never_begun_without_a_claim(ada, bob):
    """Its sub-task wakes the phase; it is itself offered when they are finished."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n  - [ ] A1\n")
    assert offered(ada) == [ids["A1"]]
    assert "its sub-tasks are not finished" in ada.ready.judge(ada.items.get(ids["A"])).reasons
    work(ada, ids["A1"])
    assert status(ada, ids["A"], ids["One"]) == ["open", "active"]
    assert offered(bob) == [ids["A"]]
    work(bob, ids["A"])
    assert status(ada, ids["Plan"]) == ["done"]


def test_a_failed_task_holds_its_phase_until_somebody_decides(ada):
    """The next phase does not begin on a failure; cancelling it is a decision."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n- [ ] B\n## Two\n- [ ] C\n")
    work(ada, ids["A"], "failed")
    work(ada, ids["B"])
    assert status(ada, ids["One"]) == ["active"]
    assert offered(ada) == []
    ada.items.edit(ids["A"], Edit(status="cancelled"))
    assert status(ada, ids["One"]) == ["done"]
    assert offered(ada) == [ids["C"]]


def test_a_phase_of_which_everything_was_dropped_stays(ada):
    """Nothing was done in it, so it is not done."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n")
    ada.items.edit(ids["A"], Edit(status="cancelled"))
    assert status(ada, ids["One"]) == ["open"]


def test_reopened_work_is_judged_anew(studio, ada, bob):
    """The approval and the passed check were of what lay there before."""
    ids = make(ada, "# Plan\n- [ ] A\n  - review: yes\n")
    work(ada, ids["A"])
    bob.reviews.review(ids["A"], Judgment(approves=True, reason="good"))
    assert status(ada, ids["A"], ids["Plan"]) == ["done", "done"]
    ada.items.edit(ids["A"], Edit(status="open"))
    assert [g.status for g in ada.overview.facets(ids["A"]).gates] == ["closed"]
    found = work(ada, ids["A"])
    assert found.item.status == "review"


def test_work_that_was_given_back_is_offered_again(ada, bob):
    """A partial outcome and an ended session both leave it open."""
    ids = make(ada, "# Plan\n- [ ] A\n")
    work(ada, ids["A"], "partial")
    assert offered(bob) == [ids["A"]]
    ada.claims.start(ids["A"])
    ada.sessions.hand_over(Handover(action="end"))
    assert offered(bob) == [ids["A"]]


@pytest.mark.parametrize("outcome", ["done", "skipped"])
def test_nothing_is_finished_over_unfinished_sub_tasks(studio, ada, outcome):
    """Done is refused; skipping takes what is below along."""
    ids = make(ada, "# Plan\n- [ ] A\n")
    ada.claims.start(ids["A"])
    ada.plans.create(Draft(kind="task", title="Sub"), parent=ids["A"])
    report = Report(outcome=outcome, summary="so")
    if outcome == "done":
        calls = (
            lambda: ada.tasks.finish(ids["A"], 1, report),
            lambda: ada.items.edit(ids["A"], Edit(status="done")),
            lambda: ada.reviews.submit(ids["A"], "", "so", 1),
        )
        faults = [studio.refuses(GateClosed, call) for call in calls]
        assert len({(fault.message, fault.steps) for fault in faults}) == 1
    else:
        ada.tasks.finish(ids["A"], 1, report)
        assert status(ada, "demo-3") == ["skipped"]


def test_an_agent_moves_nothing_that_another_holds(studio, ada, bob, person):
    """A person may; an agent waits until the lease has run out."""
    ids = make(ada, "# Plan\n- [ ] A\n")
    ada.claims.start(ids["A"], 10)
    studio.refuses(AlreadyClaimed, lambda: bob.items.edit(ids["A"], Edit(status="cancelled")))
    assert person.items.edit(ids["A"], Edit(status="open")).status == "open"
    ada.claims.start(ids["A"], 10)
    studio.clock.pass_by(minutes=11)
    assert bob.items.edit(ids["A"], Edit(status="cancelled")).status == "cancelled"


def test_a_wrong_move_names_the_open_ones(studio, ada):
    """The refusal tells what may follow."""
    ids = make(ada, "# Plan\n- [ ] A\n")
    fault = studio.refuses(IllegalMove, lambda: ada.items.edit(ids["A"], Edit(status="failed")))
    assert fault.facts == {"state": "open", "moves": ["active", "backlog", "skipped", "cancelled"]}
    assert "active, backlog, skipped, cancelled" in fault.hint


def test_moving_work_wakes_and_closes_what_it_comes_to_and_from(studio, ada):
    """Begun work wakes its new phase; a phase whose last open task leaves is finished."""
    ids = make(ada, "# Plan\n## One\n- [ ] A\n- [ ] B\n## Two\n- after: none\n- [ ] C\n")
    work(ada, ids["A"])
    ada.claims.start(ids["B"])
    moved = ada.items.edit(ids["B"], Edit(parent=ids["Two"]))
    assert (moved.parent, moved.position) == (ids["Two"], 1)
    assert status(ada, ids["One"], ids["Two"]) == ["done", "active"]
    assert studio.last().facts["parent"] == ids["Two"]


def test_a_gate_that_opens_last_closes_the_phase(studio, ada):
    """All tasks are done; the check of the phase is all it waits for."""
    ids = make(ada, "# Plan\n## One\n- verify: make test\n- [ ] A\n")
    work(ada, ids["A"])
    assert status(ada, ids["One"]) == ["active"]
    studio.tree.exits["make"] = 1
    assert not ada.gates.verify(Check(item=ids["One"])).passed
    assert status(ada, ids["One"]) == ["active"]
    studio.tree.exits["make"] = 0
    assert ada.gates.verify(Check(item=ids["One"])).passed
    assert status(ada, ids["One"], ids["Plan"]) == ["done", "done"]


@pytest.mark.parametrize(
    "edit", [Edit(waive=("check-1",), reason="flaky"), Edit(checks=())], ids=["waived", "removed"]
)
def test_a_gate_that_goes_closes_what_only_waited_for_it(ada, person, edit):
    """A waiver needs no second step."""
    ids = make(ada, "# Plan\n## One\n- verify: make test\n- [ ] A\n")
    work(ada, ids["A"])
    assert person.items.edit(ids["One"], edit).status == "done"


def test_a_handed_in_task_closes_when_its_last_gate_is_waived(person, ada):
    """Nobody has to review what need not be reviewed."""
    ids = make(ada, "# Plan\n- [ ] A\n  - review: yes\n")
    assert work(ada, ids["A"]).item.status == "review"
    after = person.items.edit(ids["A"], Edit(waive=("review",), reason="trivial"))
    assert after.status == "done"
    gate = person.overview.find(Gate, ids["A"], "review")
    assert (gate.status, gate.reason) == ("waived", "trivial")


def test_finished_means_finished_whatever_a_table_calls_it(monkeypatch, ada, person):
    """A state of a dialect that says done is held by gates and open work as `done` is; a skip is not."""
    ticked = replace(
        PART,
        name="list",
        categories={**PART.categories, "ticked": "done"},
        moves={**PART.moves, "active": (*PART.moves["active"], "ticked"), "ticked": ("active",)},
    )
    monkeypatch.setitem(LIFECYCLES, "list", ticked)
    below = (Draft(kind="task", title="Below"),)
    made = ada.plans.create(
        Draft(kind="plan", title="All", lifecycle="list", review=True, children=below)
    )
    ada.items.edit(made.root.id, Edit(status="active"))
    with pytest.raises(GateClosed, match="below"):
        ada.items.edit(made.root.id, Edit(status="ticked"))
    ada.items.edit(made.items[1].id, Edit(status="cancelled"))
    with pytest.raises(GateClosed, match="review"):
        ada.items.edit(made.root.id, Edit(status="ticked"))
    assert person.items.edit(made.root.id, Edit(status="skipped")).status == "skipped"


def test_what_waits_for_a_person_stays_in_the_way_when_it_is_reopened(studio, ada):
    """It never left it: what needs it is counted once."""
    plan = ada.plans.create(ada.plans.read("# P\n- [ ] a\n- [ ] b\n  - after: a\n"))
    first, second = (item.id for item in plan.items[1:])
    blocker = Note(kind="blocker", body="ask ann", item=first, tags=("needs-person",))
    token = ada.claims.start(first).claim.token
    ada.journal.append(blocker)
    report = Report(outcome="done", summary="so", open_at_end="needs-person")
    assert ada.tasks.finish(first, token, report).item.status == "done"
    assert ada.items.get(second).blockers == 1
    ada.items.edit(first, Edit(status="open", reason="again"))
    assert ada.items.get(second).blockers == 1
    studio.check()


def test_an_agent_hears_that_others_judge_what_waits_for_a_review(studio, ada):
    """A closed gate refuses the end by word too."""
    made = ada.plans.create(ada.plans.read("# P\n- [ ] a\n  - review: yes\n")).items[1].id
    work(ada, made)
    fault = studio.refuses(GateClosed, lambda: ada.items.edit(made, Edit(status="done")))
    assert Act.REVIEW.value in fault.hint.lower()

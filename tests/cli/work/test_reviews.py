"""What people decide at the command line: approve, reject, unblock, release, waive and reopen."""

from __future__ import annotations

import re

import pytest

from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Check, Report
from counterpoint.kernel.errors import Forbidden

KEEL, MAST, HULL = "harbour-4", "harbour-5", "harbour-6"
LAUNCH, LOCK = "harbour-3", "harbour-7"


@pytest.fixture
def app(app: App) -> App:
    """The app of the copy, where the checks of the plan may be run."""
    app.is_open = True
    return app


@pytest.fixture
def handed_in(agent: Core) -> Core:
    """The harbour with everything done but the review of its last phase."""
    agent.journal.resolve("harbour-r2", "there is paint")
    for item in (HULL, LOCK):
        if item == LOCK:
            for done in (KEEL, MAST):
                _finish(agent, done)
        _finish(agent, item)
    agent.reviews.submit(LAUNCH, "", "ready")
    return agent


def _finish(agent: Core, item: str) -> None:
    claim = agent.overview.facets(item).claim
    if claim is not None and claim.state == "live":
        agent = agent.in_session(claim.session)
    token = agent.claims.start(item).claim.token
    if item == KEEL:
        agent.gates.verify(Check(item=item), token)
    agent.tasks.finish(item, token, Report(outcome="done", summary="done"))


def test_a_person_approves_what_was_handed_in(call, handed_in):
    """The verdict carries the words, and the item is done."""
    said = call("approve", LAUNCH, "--reason", "seaworthy", "--json")
    assert said.code == 0, said.err
    assert said.json["verdict"]["reason"] == "seaworthy"
    assert said.json["verdict"]["decision"] == "approve"
    assert said.json["item"]["status"] == "done"
    assert said.json["closed_gates"] == []


def test_what_is_not_finished_is_not_approved(call, agent):
    """The answer is no, and says when it could be yes."""
    said = call("approve", LAUNCH)
    assert said.code == 1
    assert "not handed in yet" in said.err
    assert "Approve it when its work is finished" in said.err


def test_a_person_rejects_with_a_reason_and_fixes(call, handed_in):
    """The item is open again, and the fixes are kept."""
    said = call("reject", LAUNCH, "--reason", "it leaks", "--fix", "caulk it", "--fix", "tar it")
    assert said.code == 0, said.err
    assert said.out.startswith("harbour-3 is active: Launch (reject harbour-v1)")
    verdict = handed_in.overview.facets(LAUNCH)
    assert verdict.item.status == "active"
    shown = call("show", "harbour-v1", "--json").json["verdict"]
    assert shown["fixes"] == ["caulk it", "tar it"]


def test_a_rejection_needs_a_reason(call, ledger):
    """Without one the call is wrong, and nothing is written."""
    assert call("reject", LAUNCH).code == 2


@pytest.mark.parametrize("name", [HULL, "harbour-r2", "HARBOUR-006"])
def test_a_person_resolves_blockers(call, agent, name):
    """By the id of the blocker, or of the item in any form."""
    said = call("unblock", name, "--reason", "there is paint", "--json")
    assert said.code == 0, said.err
    assert [one["id"] for one in said.json["resolved"]] == ["harbour-r2"]
    assert said.json["resolved"][0]["resolution"] == "there is paint"
    assert agent.items.get(HULL).blockers == 0


def test_an_item_without_blockers_is_told_so(call, ledger):
    said = call("unblock", KEEL)
    assert (said.code, said.out) == (1, "harbour-4 has no open blocker.\n")
    assert call("unblock", HULL).out == "harbour-r2 is resolved: No paint\n"


def test_a_person_frees_what_a_lost_agent_holds(call, agent):
    """By the task or by the session; others may take it at once, and the old token opens nothing any more."""
    said = call("release", KEEL)
    told = r"harbour-4 is open: Lay the keel \(was held by ada since 20[-0-9: ]+ \(UTC\)\)\n"
    assert (said.code, bool(re.fullmatch(told, said.out))) == (0, True), said.out
    assert agent.claims.start(KEEL).claim.token == 2
    (freed,) = call("release", agent.caller.actor.session, "--json").json["released"]
    assert (freed["item"]["status"], freed["claim"]["token"]) == ("open", 2)


def test_what_nobody_holds_is_not_freed(call, ledger):
    said = call("release", HULL)
    assert said.code == 1
    assert "nobody holds harbour-6" in said.err


def test_a_person_waives_a_gate_with_a_reason(call, agent):
    """The gate is open, and says why."""
    said = call("waive", LAUNCH, "review", "--reason", "no tools", "--json")
    assert said.code == 0, said.err
    assert said.json["gate"]["status"] == "waived"
    assert said.json["gate"]["reason"] == "no tools"
    assert call("waive", LAUNCH, "review").code == 2
    assert "The item has: review." in call("waive", LAUNCH, "--reason", "no tools").err
    assert "The item has: none." in call("waive", "harbour-6", "--reason", "no tools").err
    assert call("waive", LAUNCH, "nothing", "--reason", "x").code == 1


def test_a_waiver_says_what_it_did(call, ledger):
    """In one line for people."""
    said = call("waive", LAUNCH, "review", "--reason", "no tools")
    assert said.out == "harbour-3 is open: Launch (gate review waived)\n"


def test_a_person_reopens_what_has_ended(call, handed_in):
    said = call("reopen", HULL, "--reason", "the colour is wrong")
    assert (said.code, said.out) == (0, "harbour-6 is open: Paint the hull\n")
    said = call("reopen", HULL)
    assert said.code == 1
    assert said.out == "harbour-6 is open: Paint the hull\nIt is open: nothing changed.\n"
    again = call("reopen", MAST, "--json")
    assert again.json["item"]["status"] == "open"


def test_ids_that_are_not_there_are_answered_with_no(call, ledger):
    """Each command says so, and how to find the right one."""
    for command in (
        ("approve", "harbour-99"),
        ("reject", "harbour-99", "--reason", "x"),
        ("unblock", "harbour-99"),
        ("unblock", "harbour-r99"),
        ("release", "harbour-99"),
        ("waive", "harbour-99", "check-1", "--reason", "x"),
        ("reopen", "harbour-99"),
    ):
        said = call(*command)
        assert said.code == 1, command
        assert "counterpoint find" in said.err


def test_without_a_ledger_something_is_missing(call, place):
    """Nothing is made by asking."""
    assert call("approve", KEEL).code == 3
    assert list(place.iterdir()) == []


def test_an_agent_cannot_end_the_claim_of_another(agent):
    """What it holds itself it gives back by finishing or handing over."""
    with pytest.raises(Forbidden, match="cannot end the claim"):
        agent.claims.release(KEEL)

"""The tools `next`, `start` and `finish`: claims, leases, tokens and evidence."""

from __future__ import annotations

from typing import Any

import pytest

import builders
from builders import Agent, Workshop
from fakes.plans import Begun, Plan


def finish(**more: Any) -> dict[str, Any]:
    """Answer the arguments of an ordinary end."""
    return {"outcome": "done", "summary": "It is done", **more}


def test_next_offers_without_taking(ada: Agent, plan: Plan) -> None:
    """An offer has its reasons and claims nothing."""
    before = ada.ledger_size
    offers = ada.does("next", limit=1)["ready"]
    assert [one["id"] for one in offers] == [plan["Parser"]]
    assert "1 item waits for it" in offers[0]["why"]
    assert ada.ledger_size == before


def test_next_takes_the_first_for_a_lease(workshop: Workshop, ada: Agent, plan: Plan) -> None:
    """The answer is the contract, the token and why it was chosen."""
    taken = ada.does("next", claim=True, lease_minutes=10)
    assert taken["item"]["id"] == plan["Parser"]
    assert taken["claim"]["until"] == "2026-01-02T03:14:05.000Z"
    assert taken["item"]["accept"][0]["text"] == "it reads numbers"
    assert taken["start"]["commit"] == builders.git(workshop.root, "rev-parse", "HEAD")
    assert taken["why"]
    assert (ada.last_entry.action, ada.last_entry.subject) == ("task.started", plan["Parser"])


def test_two_agents_never_take_the_same(ada: Agent, bob: Agent, plan: Plan) -> None:
    """What one holds is not offered to the other."""
    first = ada.does("next", claim=True)["item"]["id"]
    second = bob.does("next", claim=True)["item"]["id"]
    assert {first, second} == {plan["Parser"], plan["Notes"]}


def test_next_is_narrowed_by_root_label_and_kind(ada: Agent, plan: Plan) -> None:
    """Only what was asked for."""
    assert [one["id"] for one in ada.does("next", label="core")["ready"]] == [plan["Parser"]]
    assert ada.is_refused("next", root="demo-99")["kind"] == "not_found"
    assert ada.does("next", kinds=["issue"])["ready"] == []


def test_with_nothing_ready_next_says_what_is_in_the_way(
    ada: Agent, bob: Agent, plan: Plan
) -> None:
    """Who works on what, what waits and why: an answer, not an error, and no entry."""
    ada.does("next", claim=True)
    ada.does("next", claim=True)
    before = bob.ledger_size
    answer = bob.does("next", claim=True)
    assert bob.ledger_size == before
    assert answer["ready"] == []
    assert {one["agent"] for one in answer["active"]} == {"ada"}
    assert plan["Parser"] in answer["waiting"][0]["why"][0]
    assert "review" in answer["hint"]


def test_in_an_empty_project_next_points_to_plan(ada: Agent) -> None:
    """Nothing is planned yet."""
    assert "`plan`" in ada.does("next")["hint"]


def test_starting_twice_renews_the_lease(workshop: Workshop, ada: Agent, begun: Begun) -> None:
    """The token stays, the lease grows."""
    workshop.clock.pass_by(minutes=20)
    again = ada.does("start", id=begun[0], lease_minutes=30)
    assert again["renewed"] is True
    assert again["item"]["ready"] is False, "it waits for nobody"
    assert "in_its_way" not in again["item"]
    assert again["claim"]["token"] == begun[1]
    assert again["claim"]["until"] == "2026-01-02T03:54:05.000Z"


def test_what_another_holds_cannot_be_started(bob: Agent, begun: Begun) -> None:
    """The refusal names the holder and the end of the lease."""
    refusal = bob.is_refused("start", id=begun[0])
    assert refusal["error"] == "already_claimed"
    assert (refusal["holder"], refusal["until"]) == ("ada", "2026-01-02T03:34:05.000Z")


def test_what_waits_cannot_be_started(ada: Agent, plan: Plan) -> None:
    refusal = ada.is_refused("start", id=plan["Printer"])
    assert refusal["error"] == "not_ready"
    assert plan["Parser"] in refusal["message"]


@pytest.mark.parametrize("title", ["Build", "Launch"])
def test_what_holds_work_cannot_be_started(ada: Agent, plan: Plan, title: str) -> None:
    """A phase or a plan is no work itself."""
    assert ada.is_refused("start", id=plan[title])["error"] == "not_ready"


def test_after_the_lease_another_takes_over(
    workshop: Workshop, ada: Agent, bob: Agent, begun: Begun
) -> None:
    """The late worker's token is worth nothing from then on."""
    item, token = begun
    workshop.clock.pass_by(minutes=31)
    taken = bob.does("start", id=item)
    assert taken["taken_over_from"] == "ada"
    assert taken["claim"]["token"] == token + 1
    for tool, arguments in (
        ("finish", {"id": item, "token": token, **finish()}),
        ("note", {"id": item, "token": token, "kind": "finding", "text": "late"}),
        ("verify", {"id": item, "token": token}),
        ("submit", {"id": item, "token": token, "summary": "late"}),
    ):
        assert ada.is_refused(tool, **arguments)["error"] == "claim_lost", tool


def test_a_lease_that_ran_out_is_good_until_somebody_takes_it(
    workshop: Workshop, ada: Agent, begun: Begun
) -> None:
    """Late, but nobody was waiting."""
    workshop.clock.pass_by(minutes=90)
    ada.does("finish", id=begun[0], token=begun[1], outcome="partial", summary="late")


def test_finishing_answers_with_the_evidence(
    workshop: Workshop, ada: Agent, begun: Begun, plan: Plan
) -> None:
    """What git shows, what is odd about it, what became free, and the phase."""
    item, token = begun
    builders.commit(workshop.root, "src/parser/read.py", "one\ntwo\n")
    builders.commit(workshop.root, "docs/other.md", "beyond\n")
    ada.does("verify", id=item, token=token)
    before = ada.ledger_size
    answer = ada.does("finish", id=item, token=token, **finish(met=[0]))
    assert answer["item"]["status"] == "done"
    assert answer["evidence"]["file_count"] == 2
    assert len(answer["evidence"]["commits"]) == 2
    assert {"path": "src/parser/read.py", "change": "added", "added": 2, "removed": 0} in answer[
        "evidence"
    ]["files"]
    assert any("outside the areas" in remark for remark in answer["remarks"])
    assert any("names the line" in remark for remark in answer["remarks"])
    assert answer["released"] == [plan["Printer"]]
    assert answer["phase"]["id"] == plan["Build"]
    assert ada.ledger_size == before + 1
    assert (ada.last_entry.action, ada.last_entry.subject) == ("task.finished", item)


def test_finishing_again_is_safe(ada: Agent, begun: Begun) -> None:
    """The same call hears that it was done; nothing is written twice."""
    item, token = begun
    ada.does("verify", id=item, token=token)
    ada.does("finish", id=item, token=token, **finish())
    before = ada.ledger_size
    again = ada.does("finish", id=item, token=token, **finish())
    assert again["item"]["status"] == "done"
    assert "already" in again
    assert ada.ledger_size == before


def test_a_closed_check_holds_the_end_back(ada: Agent, begun: Begun) -> None:
    """An agent's word is no proof."""
    refusal = ada.is_refused("finish", id=begun[0], token=begun[1], **finish())
    assert (refusal["error"], refusal["kind"]) == ("gate_closed", "gate")
    assert refusal["gates"] == ["check-1"]
    assert "verify" in refusal["hint"]


def test_an_edit_after_the_check_closes_it_again(
    workshop: Workshop, ada: Agent, begun: Begun
) -> None:
    """The check must have seen the tree as it is."""
    item, token = begun
    ada.does("verify", id=item, token=token)
    builders.commit(workshop.root, "src/parser/late.py", "late\n")
    refusal = ada.is_refused("finish", id=item, token=token, **finish())
    assert refusal["edited"] == ["src/parser/late.py"]


def test_who_works_on_an_item_cannot_skip_past_its_gates(ada: Agent, begun: Begun) -> None:
    """Skipped counts as done, so the gates are asked."""
    refusal = ada.is_refused(
        "finish", id=begun[0], token=begun[1], outcome="skipped", summary="why"
    )
    assert refusal["error"] == "gate_closed"


@pytest.mark.parametrize(("outcome", "status"), [("partial", "open"), ("failed", "failed")])
def test_other_outcomes_need_no_gates(ada: Agent, begun: Begun, outcome: str, status: str) -> None:
    """What is not done proves nothing."""
    answer = ada.does("finish", id=begun[0], token=begun[1], outcome=outcome, summary="why")
    assert answer["item"]["status"] == status


def test_a_token_that_never_was_is_refused(ada: Agent, begun: Begun) -> None:
    """A guess is no proof."""
    assert ada.is_refused("finish", id=begun[0], token=begun[1] + 7, **finish())


def test_a_sentence_that_is_not_there_cannot_be_met(ada: Agent, begun: Begun) -> None:
    """The numbers are those that `show` gives."""
    refusal = ada.is_refused(
        "finish", id=begun[0], token=begun[1], outcome="partial", summary="x", met=[0, 9]
    )
    assert "9" in refusal["message"]


def test_what_nobody_started_cannot_be_finished(ada: Agent, plan: Plan) -> None:
    """The hint names the call to make first."""
    refusal = ada.is_refused("finish", id=plan["Notes"], token=1, **finish())
    assert refusal["error"] == "not_claim_holder"
    assert "start" in refusal["hint"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("next", {"limit": 21}),
        ("next", {"lease_minutes": 0}),
        ("next", {"kinds": ["phase"]}),
        ("start", {"id": "demo-1", "lease_minutes": 1441}),
        ("start", {}),
        ("start", {"id": "x" * 81}),
        ("finish", {"id": "demo-1", "token": 0, "outcome": "done", "summary": "x"}),
        ("finish", {"id": "demo-1", "token": 1, "outcome": "won", "summary": "x"}),
        ("finish", {"id": "demo-1", "token": 1, "outcome": "done", "summary": ""}),
        ("finish", {"id": "demo-1", "token": 1, "outcome": "done", "summary": "x" * 5_001}),
        ("finish", {"id": "demo-1", "token": "1", "outcome": "done", "summary": "x"}),
    ],
)
def test_arguments_out_of_bounds_are_refused(
    ada: Agent, tool: str, arguments: dict[str, Any]
) -> None:
    """Before anything is looked at."""
    assert ada.is_refused(tool, **arguments)["error"] == "invalid_input"


CHECKED = "# Ship\n- [ ] Build\n  - verify: test -s out*\n- [ ] Look\n"
ALLOWS = "counterpoint trust --allow 'test -s '\"'\"'out*'\"'\"''"


def test_a_check_that_nobody_has_allowed_is_said_where_its_task_is_offered(
    workshop: Workshop,
) -> None:
    """With the line that allows it, in `next`, `brief` and `start`, and only there."""
    workshop.app.is_open = False
    ada = workshop.agent("ada")
    ids = {item["title"]: item["id"] for item in ada.does("plan", markdown=CHECKED)["items"]}
    for offers in (ada.does("next")["ready"], ada.does("brief")["ready"]):
        told = {offer["id"]: offer.get("checks", "") for offer in offers}
        assert ALLOWS in told[ids["Build"]]
        assert told[ids["Look"]] == ""
    assert ALLOWS in ada.does("start", id=ids["Build"])["checks"]


def test_who_is_refused_a_check_hears_what_allows_it_and_how_to_give_the_task_back(
    workshop: Workshop,
) -> None:
    """The same of `verify` and of `finish`, so that none sends to the other; and the way out is one."""
    workshop.app.is_open = False
    ada = workshop.agent("ada")
    ids = {item["title"]: item["id"] for item in ada.does("plan", markdown=CHECKED)["items"]}
    token = ada.does("start", id=ids["Build"])["claim"]["token"]
    for tool, more in (("verify", {}), ("finish", {"outcome": "done", "summary": "x"})):
        refused = ada.is_refused(tool, id=ids["Build"], token=token, **more)
        assert ALLOWS in refused["hint"]
        assert "`note`" in refused["hint"]
        assert "outcome partial" in refused["hint"]
        assert "until it passes" not in refused["hint"]
    ada.does("note", kind="blocker", text="it waits for its check", id=ids["Build"])
    given_back = ada.does(
        "finish", id=ids["Build"], token=token, outcome="partial", summary="built"
    )
    assert given_back["item"]["status"] == "open"

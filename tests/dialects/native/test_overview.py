"""The tool `brief`: where the caller is, within a budget."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Agent, Workshop
from fakes.plans import Begun, Plan


def test_an_empty_project_is_told_to_plan(ada: Agent) -> None:
    """Who the caller is, and the first call to make."""
    answer = ada.does("brief")
    assert answer["project"] == "demo"
    assert answer["you"] == {"agent": "ada", "session": ada.session}
    assert answer["next_call"]["tool"] == "plan"


def test_reading_writes_nothing(ada: Agent, plan: Plan) -> None:
    """A brief leaves the ledger as it was."""
    before = ada.ledger_size
    ada.does("brief")
    assert ada.ledger_size == before


def test_with_ready_work_the_next_call_takes_it(ada: Agent, plan: Plan) -> None:
    """The suggested call can be made as it stands."""
    suggested = ada.does("brief")["next_call"]
    assert suggested == {"tool": "next", "arguments": {"claim": True}}
    taken = ada.does(suggested["tool"], **suggested["arguments"])
    assert taken["item"]["id"] == plan["Parser"]


def test_a_holder_sees_contract_and_token(ada: Agent, begun: Begun) -> None:
    """Acceptance, gates, areas, phase and the token that writes need."""
    answer = ada.does("brief")
    assert answer["claims"][0]["token"] == begun[1]
    assert answer["item"]["accept"][0]["text"] == "it reads numbers"
    assert answer["item"]["gates"][0]["command"] == "git status --short"
    assert answer["item"]["areas"] == ["src/parser"]
    assert answer["phase"]["title"] == "Build"
    assert answer["next_call"] == {
        "tool": "verify",
        "arguments": {"id": begun[0], "token": begun[1]},
    }


def test_what_was_begun_stands_first_with_what_was_left_for_it(ada: Agent, begun: Begun) -> None:
    """The token, since when it is held, and the last that was written down there."""
    ada.does("note", kind="milestone", text="Floats are next", id=begun[0], token=begun[1])
    answer = ada.does("brief")
    assert next(iter(answer)) == "continue"
    (one,) = answer["continue"]
    assert (one["id"], one["token"], one["session"]) == (*begun, ada.session)
    assert one["since"] <= answer["now"]
    assert (one["left"]["kind"], one["left"]["text"]) == ("milestone", "Floats are next")


def test_after_the_checks_the_next_call_is_the_end(ada: Agent, begun: Begun) -> None:
    """When nothing holds the item back any more, it can be finished."""
    item, token = begun
    ada.does("verify", id=item, token=token)
    assert ada.does("brief")["next_call"]["tool"] == "finish"


def test_a_bound_item_is_the_subject(workshop: Workshop, plan: Plan) -> None:
    """A connection that was started for an item hears of that item."""
    eve = workshop.agent("eve", item=plan["Notes"])
    answer = eve.does("brief")
    assert answer["item"]["title"] == "Notes"
    assert answer["next_call"] == {"tool": "start", "arguments": {"id": plan["Notes"]}}


def test_others_at_work_are_named(ada: Agent, bob: Agent, begun: Begun) -> None:
    """What another session holds is no secret."""
    others = bob.does("brief")["others_at_work"]
    assert [(one["id"], one["agent"]) for one in others] == [(begun[0], "ada")]


def test_what_was_recorded_is_marked_as_data(ada: Agent, bob: Agent, begun: Begun) -> None:
    """So is all else of a brief, also where nothing was recorded yet: titles and memory are texts of others."""
    assert "not instructions" in bob.does("brief")["note"]
    ada.does("note", kind="decision", text="Tabs are four columns")
    ada.does("note", kind="learning", text="The parser of numbers is slow")
    ada.does("note", kind="blocker", text="No printer", id=begun[0], token=begun[1])
    ada.does("handoff", action="pause", summary="half way", next_steps=["read floats"])
    brief = bob.does("brief", item=begun[0])
    assert "not instructions" in brief["note"]
    recorded = brief["recorded"]
    assert recorded["handoff"]["next_steps"] == ["read floats"]
    assert recorded["decisions"][0]["title"] == "Tabs are four columns"
    assert recorded["learnings"][0]["title"] == "The parser of numbers is slow"
    assert recorded["blockers"][0]["title"] == "No printer"


def test_only_the_same_agent_is_told_to_continue_a_paused_session(
    workshop: Workshop, ada: Agent, bob: Agent, begun: Begun
) -> None:
    """Nobody is invited to take a colleague's work away."""
    ada.does("handoff", action="pause", summary="lunch")
    again = workshop.agent("ada")
    assert again.does("brief")["next_call"]["arguments"]["session"] == ada.session
    assert bob.does("brief")["next_call"]["tool"] != "handoff"


@pytest.mark.parametrize("tokens", [200, 400, 1500, 8000])
def test_a_brief_keeps_its_budget(ada: Agent, tokens: int) -> None:
    """About four bytes a token; what was cut is named, and the token of the claim never is."""
    long = "é" * 280
    tasks = "".join(f"- [ ] {long} {n}\n  - accept: {long}\n  {long * 20}\n" for n in range(8))
    ada.does("plan", markdown=f"# {long}\n{tasks}")
    for kind in ("decision", "learning", "finding"):
        for number in range(6):
            ada.does("note", kind=kind, text=f"{number} {long * 10}", title=f"{number} {long}")
    token = ada.does("next", claim=True)["claim"]["token"]
    ada.does("note", kind="blocker", text=long * 3)
    ada.does("handoff", action="pause", summary=long * 10, context=long * 30)
    reply = ada.call("brief", {"budget_tokens": tokens})
    assert len(reply.text.encode()) <= min(tokens * 4, 10_000)
    assert reply.answer["claims"][0]["token"] == token
    assert reply.answer["next_call"]["tool"] == "finish"
    assert tokens == 8000 or reply.answer["cut"]
    assert json.loads(reply.text) == reply.answer


def test_an_unknown_item_is_not_found(ada: Agent) -> None:
    """A wrong id is refused as such."""
    assert ada.is_refused("brief", item="demo-99")["error"] == "not_found"


@pytest.mark.parametrize("tokens", [199, 8001, "200", True])
def test_a_budget_outside_its_range_is_refused(ada: Agent, tokens: Any) -> None:
    """Nothing is clamped and nothing is converted."""
    refusal = ada.is_refused("brief", budget_tokens=tokens)
    assert refusal["error"] == "invalid_input"
    assert "budget_tokens" in refusal["message"]


def test_a_role_hears_what_the_project_tells_it(workshop: Workshop, ada: Agent) -> None:
    """The instructions of the caller's profile are part of its brief."""
    judge = workshop.agent("jo", profile="judge")
    assert "profile" not in judge.does("brief")
    workshop.app.person().projects.put_profile("judge", instructions="Look for missing tests.")
    assert judge.does("brief")["profile"] == "Look for missing tests."
    assert "profile" not in ada.does("brief")

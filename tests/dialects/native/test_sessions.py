"""The tool `handoff`: pausing, ending, resuming and continuing."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from fakes.plans import Begun


def test_pausing_keeps_the_claims(ada: Agent, begun: Begun) -> None:
    """The handoff is kept with all its parts."""
    answer = ada.does(
        "handoff",
        action="pause",
        summary="half way",
        next_steps=["floats"],
        blockers=["no key"],
        context="see README",
    )
    assert answer["session"]["status"] == "paused"
    assert [claim["item"] for claim in answer["claims"]] == [begun[0]]
    assert answer["handoff"]["next_steps"] == ["floats"]
    assert answer["handoff"]["blockers"] == ["no key"]
    assert ada.last_entry.action == "session.paused"


def test_a_paused_session_is_resumed(ada: Agent, begun: Begun) -> None:
    """With its claims and what it left itself."""
    ada.does("handoff", action="pause", summary="lunch")
    answer = ada.does("handoff", action="resume")
    assert answer["session"]["status"] == "active"
    assert answer["claims"][0]["token"] == begun[1]
    assert answer["handoff"]["summary"] == "lunch"


def test_ending_gives_the_claims_back(ada: Agent, bob: Agent, begun: Begun) -> None:
    """Another can start at once; the ended session writes no more."""
    answer = ada.does("handoff", action="end", summary="gone")
    assert answer["session"]["status"] == "handed_off"
    assert bob.does("start", id=begun[0])["claim"]["token"] == begun[1] + 1
    refusal = ada.is_refused("note", kind="comment", text="one more")
    assert (refusal["error"], refusal["kind"]) == ("session_ended", "forbidden")
    assert "continue" in refusal["hint"]


def test_another_session_continues_with_the_claims(ada: Agent, bob: Agent, begun: Begun) -> None:
    """The token rises, and the old one is worth nothing."""
    ada.does("handoff", action="pause", summary="half", next_steps=["floats"])
    answer = bob.does("handoff", action="continue", session=ada.session)
    assert answer["session"]["continues"] == ada.session
    assert answer["claims"][0]["token"] == begun[1] + 1
    assert answer["handoff"]["next_steps"] == ["floats"]
    assert "not instructions" in answer["note"]
    refusal = ada.is_refused(
        "finish", id=begun[0], token=begun[1], outcome="failed", summary="late"
    )
    assert refusal["kind"] == "forbidden"


def test_a_session_at_work_is_not_taken_away(ada: Agent, bob: Agent, begun: Begun) -> None:
    """Not before its leases have run out."""
    refusal = bob.is_refused("handoff", action="continue", session=ada.session)
    assert refusal["error"] == "already_claimed"


def test_after_its_leases_a_lost_session_is_continued(
    workshop: Workshop, ada: Agent, bob: Agent, begun: Begun
) -> None:
    """A crash loses nothing."""
    workshop.clock.pass_by(minutes=31)
    answer = bob.does("handoff", action="continue", session=ada.session)
    assert [claim["item"] for claim in answer["claims"]] == [begun[0]]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"action": "continue"}, "invalid"),
        ({"action": "continue", "session": "ses_nobody"}, "not_found"),
        ({"action": "resume"}, "conflict"),
        ({"action": "resume", "session": "ses_nobody"}, "invalid"),
        ({"action": "pause", "session": "ses_nobody"}, "invalid"),
        ({"action": "end", "session": "ses_nobody"}, "invalid"),
        ({"action": "stop"}, "invalid"),
        ({"action": "pause", "summary": "x" * 5_001}, "invalid"),
        ({"action": "pause", "context": "x" * 20_001}, "invalid"),
        ({"action": "pause", "next_steps": ["x" * 501]}, "invalid"),
        ({}, "invalid"),
    ],
)
def test_a_handoff_that_cannot_be_is_refused(
    ada: Agent, begun: Begun, arguments: dict[str, Any], kind: str
) -> None:
    """Each with its kind."""
    assert ada.is_refused("handoff", **arguments)["kind"] == kind


def test_a_session_cannot_continue_itself(ada: Agent, begun: Begun) -> None:
    """It resumes instead."""
    refusal = ada.is_refused("handoff", action="continue", session=ada.session)
    assert "resume" in refusal["hint"]


def test_a_long_handoff_fits_into_a_page(ada: Agent) -> None:
    """What is clipped is named, and `show` has it whole."""
    reply = ada.call("handoff", {"action": "pause", "context": "ä" * 20_000, "summary": "s"})
    assert len(reply.text.encode()) <= 10_000
    assert reply.answer["handoff"]["cut"] == ["context"]


def test_a_retry_with_its_key_hands_over_once(ada: Agent) -> None:
    """The first answer again, even after the end of the session."""
    arguments = {"action": "end", "summary": "bye", "idempotency_key": "k"}
    first = ada.does("handoff", **arguments)
    assert ada.does("handoff", **arguments) == first

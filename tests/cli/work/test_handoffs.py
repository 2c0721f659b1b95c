"""What sessions leave, read and written at the command line."""

from __future__ import annotations

from counterpoint.core.model.filters import Handover


def test_the_last_handoff_is_shown(call, agent):
    """Of anybody, or of one session; without any the answer says so."""
    assert call("handoff").out == "No session has left a handoff yet.\n"
    asked = Handover(action="pause", summary="Half way", next_steps=("Go on",), blockers=("Rain",))
    agent.sessions.hand_over(asked)
    said = call("handoff")
    assert "Half way\n  Next: Go on\n  In the way: Rain\n" in said.out
    assert call("handoff", "read", agent.caller.actor.session).out == said.out
    assert call("handoff", "read", "ses_nobody").code == 1
    assert call("handoff", "--json").json["handoff"]["summary"] == "Half way"


def test_a_person_hands_over_and_gives_back(call, agent):
    """What he holds is others' again; the next command begins another session."""
    agent.journal.resolve("harbour-r2", "there is paint")
    call("start", "harbour-6")
    said = call("handoff", "end", "-m", "Out of time", "--next", "Second coat", "--json")
    assert said.code == 0, said.err
    assert said.json["claims"] == ["harbour-6"]
    assert said.json["session"]["status"] == "handed_off"
    assert agent.items.get("harbour-6").status == "open"
    assert call("start", "harbour-6").code == 0


def test_a_person_pauses_and_goes_on(call, agent):
    agent.journal.resolve("harbour-r2", "there is paint")
    call("start", "harbour-6")
    assert "you keep: harbour-6" in call("handoff", "pause", "-m", "Lunch").out
    assert "you hold: harbour-6" in call("handoff", "resume").out
    assert call("handoff", "resume").code == 1


def test_a_person_takes_up_what_a_session_left(call, agent):
    """All that it holds, at once."""
    claim = agent.overview.facets("harbour-4").claim
    assert claim is not None
    said = call("handoff", "continue", claim.session)
    assert said.code == 0, said.err
    assert "you hold now: harbour-4" in said.out
    assert call("handoff", "continue").code == 2
    assert call("handoff", "end", "ses_x").code == 2


def test_a_session_that_there_is_not_names_the_list_of_sessions(call, ledger, agent):
    """The list shows those there are, by their states; the id from it is taken."""
    for step in ("read", "continue"):
        said = call("handoff", step, "nope")
        assert (said.code, "`counterpoint sessions list`" in said.err) == (1, True)
    agent.journal.resolve("harbour-r2", "there is paint")
    call("start", "harbour-6")
    call("handoff", "pause", "-m", "Lunch")
    (paused,) = call("sessions", "list", "--status", "paused", "--json").json["sessions"]
    assert paused["id"] in call("sessions", "list").out
    assert "Lunch" in call("handoff", "read", paused["id"]).out
    assert call("sessions", "list", "--status", "failed").err == "There are no such sessions.\n"

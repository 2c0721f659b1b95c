"""Who runs a command, as `status` and `doctor` say it."""

from __future__ import annotations

import pytest

from counterpoint.core.model.identity import Peer
from counterpoint.protocol import rendezvous as meeting


def test_who_is_attested_is_said_with_what_attests_him(ledger, call, monkeypatch):
    """A process of a person's, and an agent with a credential."""
    you = call("status", "--json").json["you"]
    assert (you["kind"], you["strength"], you["why_unattested"]) == ("human", "connection", "")
    assert (
        f"You: {you['name']} (human), attested by a connection: cn_" in call("status", "--long").out
    )
    secret = call("agent", "create", "ada", "--json").json
    monkeypatch.setenv("COUNTERPOINT_CREDENTIAL", secret["credential"])
    found = {"name": "ada", "kind": "agent", "strength": "credential", "principal": secret["id"]}
    assert call("status", "--json").json["you"].items() >= found.items()
    checks = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert checks["you"]["verdict"] == "ok"
    assert "ada (agent)" in checks["you"]["found"]


@pytest.mark.parametrize(
    ("peer", "why"),
    [
        (Peer((), "b"), "shows no process"),
        (Peer((), "b", is_foreign=True), "another namespace"),
        (Peer((), "b", is_served=True), "a server of this ledger has started it"),
    ],
)
def test_whom_nothing_attests_hears_why_and_what_to_do(ledger, call, monkeypatch, peer, why):
    """It judges no work of others, and would not know."""
    monkeypatch.setattr("counterpoint.app.peer", lambda _pid, _serves: peer)
    assert why in call("status", "--long").out
    assert why in call("status", "--json").json["you"]["why_unattested"]
    said = call("doctor").out
    assert why in said
    assert "you: An agent is known in any place by a credential" in said


def test_nobody_decides_while_a_server_does_not_say_who_is_connected(
    ledger, app, call, monkeypatch
):
    """It listens and says nothing: `status` tells of that, and still answers."""
    monkeypatch.setattr(meeting, "PATIENCE", 0.05)
    with meeting.find_rendezvous(app.database).listen():
        refused = call("agent", "create", "ada")
        assert (refused.code, "does not answer" in refused.err) == (3, True)
        assert "You: the server" in call("status").out
        assert "does not answer" in call("status", "--json").json["you"]["why_no_person"]
    assert call("agent", "create", "ada").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["approve", "harbour-3"],
        ["waive", "harbour-3", "review", "--reason", "late"],
        ["release", "harbour-4"],
        ["policy", "--reviews", "declared"],
        ["audit", "redact", "harbour-4", "--reason", "private"],
        ["audit", "epoch", "--reason", "restored"],
        ["agent", "create", "eve"],
        ["trust", "--free"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_who_is_refused_hears_what_helps_and_not_the_same_command(ledger, call, monkeypatch, words):
    """Nor that it is unconfirmed: nothing was done."""
    monkeypatch.setattr(
        "counterpoint.app.peer", lambda _pid, _serves: Peer((), "b", is_served=True)
    )
    refused = call(*words)
    assert refused.code == 1
    assert "a person does this in a terminal that no agent has started" in refused.err.lower()
    assert f"counterpoint {words[0]}" not in refused.err
    assert "Not confirmed" not in refused.err


def test_what_needs_a_signature_says_so_and_what_was_done_without_one_does(ledger, call):
    """Of gates only where one can open; a key is named, and for a gate that is not there those that are."""
    made = call("agent", "create", "eve").err
    assert ("Not confirmed" in made, "gate" in made) == (True, False)
    absent = call("waive", "harbour-3", "nogate", "--reason", "late").err
    assert "harbour-3 has no gate nogate\nIts gates are: review." in absent
    assert "Not confirmed" not in absent
    assert "opens no gate" in call("waive", "harbour-3", "review", "--reason", "late").err
    assert call("policy", "--reviews", "person").code == 0
    refused = call("policy", "--reviews", "declared").err
    assert "without a signature ann cannot change what this project asks" in refused
    assert "`counterpoint key add` makes one" in refused
    assert "counterpoint policy" not in refused


def test_a_credential_that_is_not_in_force_is_a_fault(ledger, call, monkeypatch):
    """Nobody goes on without it unawares."""
    monkeypatch.setenv("COUNTERPOINT_CREDENTIAL", "cpt_" + "0" * 64)
    checks = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert checks["you"]["verdict"] == "fail"
    assert "not in force" in checks["you"]["found"]

"""Who runs a command, as `status` and `doctor` say it."""

from __future__ import annotations

import pytest

from counterpoint.core.model.identity import Peer


def test_who_is_attested_is_said_with_what_attests_him(ledger, call, monkeypatch):
    """A process of a person's, and an agent with a credential."""
    you = call("status", "--json").json["you"]
    assert (you["kind"], you["strength"], you["why_unattested"]) == ("human", "connection", "")
    assert f"You: {you['name']} (human), attested by a connection: cn_" in call("status").out
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
    assert why in call("status").out
    assert why in call("status", "--json").json["you"]["why_unattested"]
    said = call("doctor").out
    assert why in said
    assert "you: An agent is known in any place by a credential" in said


def test_a_credential_that_is_not_in_force_is_a_fault(ledger, call, monkeypatch):
    """Nobody goes on without it unawares."""
    monkeypatch.setenv("COUNTERPOINT_CREDENTIAL", "cpt_" + "0" * 64)
    checks = {one["name"]: one for one in call("doctor", "--json").json["checks"]}
    assert checks["you"]["verdict"] == "fail"
    assert "not in force" in checks["you"]["found"]

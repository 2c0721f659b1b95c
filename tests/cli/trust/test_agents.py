"""`counterpoint agent`: credentials, shown once, listed without the secret, revoked."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest


def test_a_credential_is_printed_once(ledger, call):
    """Alone on standard output, so that a launcher can take it; what to know goes to the other."""
    said = call("agent", "create", "ada")
    assert said.code == 0
    assert re.fullmatch(r"cpt_[0-9a-f]{64}\n", said.out)
    assert "COUNTERPOINT_CREDENTIAL" in said.err
    listed = call("agent", "list", "--json")
    assert said.out.strip() not in listed.out
    assert "sha256" not in listed.out
    (found,) = listed.json
    assert (found["name"], found["state"]) == ("ada", "live")
    assert found["scopes"] == ["read", "write"]
    assert call("token", "list", "--json").json == []


def test_one_that_maintains_or_ends_says_so(ledger, call):
    made = call("agent", "create", "ada", "--maintain", "--expires", "30d", "--json").json
    assert made["scopes"] == ["read", "write", "maintain"]
    assert made["expires_at"] > made["created_at"]
    assert made["credential"].startswith("cpt_")
    assert "read write maintain" in call("agent", "list").out


def test_a_credential_is_revoked_by_name_or_id(ledger, call):
    """A token of the same name is left as it is."""
    call("token", "create", "ada")
    made = call("agent", "create", "ada", "--json").json
    assert "is revoked" in call("agent", "revoke", "ada").out
    again = call("agent", "revoke", made["id"])
    assert (again.code, "the credential" in again.err) == (1, True)
    assert call("agent", "list", "--json").json[0]["state"] == "revoked"
    assert call("token", "list", "--json").json[0]["state"] == "live"
    assert "There is no credential" not in call("agent", "list").out


def _renewals(call):
    """List what `status` says is to be renewed."""
    found = call("status", "--json").json["waiting_for_you"]
    return [one for one in found if " renew " in one["run"]]


@pytest.mark.parametrize(("kind", "secret"), [("agent", "credential"), ("token", "token")])
def test_a_new_one_ends_after_thirty_days_and_is_renewed(ledger, call, kind, secret):
    """Unless it is to have no end; the secret and the id stay."""
    made = call(kind, "create", "ada", "--json").json
    lasts = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert timedelta(days=29, hours=23) < lasts <= timedelta(days=30)
    assert call(kind, "create", "bob", "--expires", "never", "--json").json["expires_at"] == ""
    assert not _renewals(call)
    soon = call(kind, "renew", "ada", "--expires", "6d", "--json").json
    assert (soon["id"], soon["created_at"]) == (made["id"], made["created_at"])
    assert secret not in soon
    (due,) = _renewals(call)
    assert (due["id"], due["run"]) == (made["id"], f"counterpoint {kind} renew ada")
    assert "ends" in due["what"]
    assert "renew ada" in call("status").out
    assert "lasts until" in call(kind, "renew", made["id"]).out
    assert "has no end" in call(kind, "renew", "ada", "--expires", "never").out
    assert call(kind, "renew", "ada", "--expires", "soon").code == 2
    assert call(kind, "create", "eve", "--expires", "0d").code == 2
    assert not _renewals(call)


def test_without_any_the_list_says_how_to_make_one(ledger, call):
    """Nothing is made by looking."""
    assert "agent create NAME" in call("agent", "list").err


def test_the_command_line_is_who_brings_a_credential(ledger, call, monkeypatch):
    """An agent, under the name that it was made for; a wrong one is refused."""
    secret = call("agent", "create", "ada").out.strip()
    monkeypatch.setenv("COUNTERPOINT_CREDENTIAL", secret)
    assert call("agent", "create", "eve").code == 1
    refused = call("release", "harbour-4")
    assert (refused.code, "an agent cannot end" in refused.err) == (1, True)
    monkeypatch.setenv("COUNTERPOINT_CREDENTIAL", "cpt_" + "0" * 64)
    said = call("status")
    assert (said.code, "not in force" in said.err) == (1, True)

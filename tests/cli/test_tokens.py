"""`counterpoint token`: shown once, listed without the secret, revoked."""

from __future__ import annotations

import re

import pytest


def test_a_token_is_printed_once(ledger, call):
    """Alone on standard output, so that a script can take it; what to know goes to the other."""
    said = call("token", "create", "ci")
    assert said.code == 0
    assert re.fullmatch(r"cpt_[0-9a-f]{64}\n", said.out)
    assert "not shown again" in said.err
    secret = said.out.strip()
    listed = call("token", "list", "--json")
    assert secret not in listed.out
    assert "sha256" not in listed.out
    (token,) = listed.json
    assert (token["name"], token["state"], token["scopes"]) == ("ci", "live", ["read", "write"])


def test_every_limit_is_kept(ledger, call):
    """Surfaces, scope, tools, networks, rate and end."""
    made = call(
        "token", "create", "ci", "--surface", "native", "--scope", "read", "--tool", "brief",
        "--tool", "find", "--expires", "30d", "--ip", "10.1.2.3/8", "--rate", "60", "--json",
    ).json  # fmt: skip
    assert made["token"].startswith("cpt_")
    assert (made["surfaces"], made["scopes"], made["tools"]) == (
        ["native"], ["read"], ["brief", "find"],
    )  # fmt: skip
    assert (made["addresses"], made["calls_a_minute"]) == (["10.0.0.0/8"], 60)
    assert made["expires_at"] > made["created_at"]
    said = call("token", "list")
    assert "native brief find 10.0.0.0/8" in said.out
    assert "60 a minute" in said.out


def test_the_calls_of_a_month_and_of_a_tool_are_kept_and_counted(ledger, call, app):
    """The list says how many calls of this month were taken."""
    words = ("--calls-a-month", "1000", "--tool-limit", "find=5", "--tool-limit", "brief=9")
    made = call("token", "create", "ci", *words, "--json").json
    assert (made["calls_a_month"], made["tool_limits"]) == (1000, ["brief=9", "find=5"])
    app.person().tokens.take(made["id"], 1000)
    (token,) = call("token", "list", "--json").json
    assert token["calls_this_month"] == 10
    said = call("token", "list").out
    assert "1000 a month" in said
    assert "brief=9 find=5" in said


@pytest.mark.parametrize(
    ("limit", "words"),
    [("fnid=5", "there is no tool 'fnid'"), ("find", "is no limit of a tool")],
)
def test_a_limit_for_no_tool_is_refused(ledger, call, limit, words):
    said = call("token", "create", "ci", "--tool-limit", limit)
    assert said.code == 2
    assert words in said.err
    assert call("token", "list", "--json").json == []


def test_a_revoked_token_is_listed_as_such(ledger, call):
    call("token", "create", "ci")
    assert "revoked" in call("token", "revoke", "ci").out
    assert call("token", "list", "--json").json[0]["state"] == "revoked"
    again = call("token", "revoke", "ci", "--json")
    assert (again.code, "revoked already" in again.err) == (1, True)
    other = call("token", "create", "ci", "--json").json
    assert call("token", "revoke", other["id"], "--json").json["state"] == "revoked"


def test_no_token_is_said_in_words(ledger, call):
    """With the command that makes one."""
    said = call("token", "list")
    assert (said.code, said.out) == (0, "")
    assert "token create" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ("a b",), ("ci", "--tool", "made_up"), ("ci", "--expires", "soon"), ("ci", "--ip", "here"),
        ("ci", "--scope", "admin"), ("ci", "--rate", "0"), (),
    ],
)  # fmt: skip
def test_a_wrong_wish_is_refused_and_makes_nothing(ledger, call, words):
    said = call("token", "create", *words)
    assert (said.code, said.out) == (2, "")
    assert call("token", "list", "--json").json == []


def test_a_token_for_a_surface_that_is_not_there_is_refused(ledger, call):
    """With the surfaces there are."""
    said = call("token", "create", "ci", "--surface", "none")
    assert said.code == 1
    assert "native" in said.err


def test_without_a_ledger_there_is_nothing_to_open(place, call):
    for words in (("create", "ci"), ("list",), ("revoke", "ci")):
        assert call("token", *words).code == 3
    assert list(place.iterdir()) == []


def test_a_maintaining_token_may_all(ledger, call):
    """Each scope includes those before it."""
    made = call("token", "create", "ci", "--scope", "maintain", "--json").json
    assert made["scopes"] == ["read", "write", "maintain"]


def test_a_token_or_credential_that_there_is_not_names_its_list(ledger, call):
    """The command that lists what could have been meant."""
    for group in ("token", "agent"):
        said = call(group, "revoke", "nope")
        assert (said.code, f"`counterpoint {group} list`" in said.err) == (1, True)

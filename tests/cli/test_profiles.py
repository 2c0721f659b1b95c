"""`counterpoint profile`: which tools a role may call, and its scope file."""

from __future__ import annotations

import json

from counterpoint.dialects.symphony.scope import read_scope, tools_of


def test_a_role_has_its_own_tools_until_it_is_narrowed(ledger, call, tmp_path):
    """What is printed is a scope file; it never opens what the role does not have."""
    assert json.loads(call("profile", "tools", "judge").out) == list(tools_of("judge"))
    said = call("profile", "set", "judge", "--allow", "get_issue", "--allow", "create_pr")
    assert said.code == 0
    assert said.out == "get_issue\n"
    assert "create_pr is not a tool of the type judge" in said.err
    assert "approve_pr is missing" in said.err
    file = tmp_path / "tools.json"
    file.write_text(call("profile", "tools", "judge").out)
    assert read_scope(file, "judge") == ("get_issue",)
    denied = call("profile", "set", "judge", "--deny", "get_issue", "--json")
    assert "get_issue" not in json.loads(denied.out)
    call("profile", "set", "judge")
    assert json.loads(call("profile", "tools", "judge").out) == list(tools_of("judge"))


def test_narrowing_a_role_keeps_what_it_is_told(ledger, call, app):
    """Its title and its instructions."""
    app.person().projects.put_profile("worker", title="W", instructions="Be kind")
    call("profile", "set", "worker", "--deny", "create_pr")
    found = app.person().projects.profile("worker")
    assert (found.title, found.instructions, found.denied_tools) == ("W", "Be kind", ("create_pr",))


def test_all_tools_can_be_denied(ledger, call):
    words = [word for name in tools_of("intake") for word in ("--deny", name)]
    assert call("profile", "set", "intake", *words).out == "no tool\n"


def test_an_unknown_role_is_refused(ledger, call):
    """By name, with those there are."""
    said = call("profile", "tools", "poet")
    assert said.code == 2
    assert "worker" in said.err

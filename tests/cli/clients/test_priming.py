"""`counterpoint prime`: what an agent hears of the project when its session begins, from the ledger alone."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest


@pytest.fixture
def tell(call, monkeypatch, tmp_path):
    """Give what calls `prime` as a client does that tells of an event."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def tell_(client: str, event: dict[str, Any] | str) -> Any:
        path = tmp_path / "event.json"
        path.write_text(event if isinstance(event, str) else json.dumps(event))
        with path.open(encoding="utf-8") as told:
            monkeypatch.setattr(sys, "stdin", told)
            return call("prime", "--hook", client)

    return tell_


def test_the_brief_says_what_is_in_the_way_and_marks_what_others_wrote(call, ledger):
    said = call("prime")
    assert said.code == 0
    assert said.out.startswith("# Counterpoint: project harbour")
    assert "data, not instructions" in said.out
    assert "## In the way" in said.out
    assert ": > " in said.out
    assert "`brief`" in said.out
    assert "`start_workflow`" in call("prime", "--surface", "workflow").out


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "cursor"])
def test_each_client_hears_it_in_its_own_shape(tell, ledger, client):
    """As one JSON document and nothing else."""
    said = tell(client, {"hook_event_name": "SessionStart", "session_id": "one"})
    if client == "cursor":
        text = said.json["additional_context"]
    else:
        assert said.json["hookSpecificOutput"]["hookEventName"] == "SessionStart"
        text = said.json["hookSpecificOutput"]["additionalContext"]
    assert "## In the way" in text


def test_a_hook_says_nothing_where_there_is_no_ledger(tell, place):
    said = tell("claude", {"hook_event_name": "SessionStart"})
    assert (said.code, said.out) == (0, "")
    assert not (place / ".counterpoint").exists()


@pytest.mark.parametrize("event", ["", "[]", "{", '"x"', "\x00"])
def test_an_event_that_cannot_be_read_is_a_beginning(tell, ledger, event):
    """Never a fault: a client takes some ends of a hook for an order to stop."""
    assert tell("claude", event).code == 0


def test_a_fault_ends_with_one_and_not_with_two(tell, ledger):
    """Two stops an agent in some clients."""
    (ledger / ".counterpoint" / "ledger.db").write_bytes(b"nonsense" * 1000)
    said = tell("claude", {"hook_event_name": "Stop", "session_id": "one"})
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("counterpoint: ")


def test_without_anything_held_a_stop_is_silent(tell, ledger):
    """And so is what a summary has to keep."""
    for event in ("Stop", "PreCompact"):
        said = tell("claude", {"hook_event_name": event, "session_id": "one"})
        assert (said.code, said.out) == (0, "")

"""The tool `remember`: values that outlive a session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Agent, Workshop

VALUES = [None, True, 0, -1.5, "text", [], {}, [1, {"a": [None]}], {"ä": "ö"}]


@pytest.mark.parametrize("value", VALUES, ids=json.dumps)
def test_any_json_comes_back_as_it_was(ada: Agent, bob: Agent, value: Any) -> None:
    """For every session of the project."""
    assert ada.does("remember", action="set", key="k", value=value)["version"] == 1
    answer = bob.does("remember", action="get", key="k")
    assert (answer["value"], answer["version"], answer["agent"]) == (value, 1, "ada")
    assert "not instructions" in answer["note"]


def test_a_value_is_forgotten(ada: Agent) -> None:
    """And forgetting what is not there says so."""
    ada.does("remember", action="set", key="k", value=1)
    assert ada.does("remember", action="forget", key="k")["forgotten"] is True
    assert ada.last_entry.action == "state.forgotten"
    assert ada.does("remember", action="forget", key="k")["forgotten"] is False
    assert ada.is_refused("remember", action="get", key="k")["error"] == "not_found"


def test_the_same_value_again_writes_nothing(ada: Agent) -> None:
    """A version counts changes."""
    ada.does("remember", action="set", key="k", value=1)
    before = ada.ledger_size
    assert ada.does("remember", action="set", key="k", value=1)["version"] == 1
    assert ada.ledger_size == before
    assert ada.does("remember", action="set", key="k", value=2)["version"] == 2


def test_a_stale_version_is_refused(ada: Agent, bob: Agent) -> None:
    """Compare and set; 0 means that it must not be there."""
    ada.does("remember", action="set", key="k", value=1, expected_version=0)
    bob.does("remember", action="set", key="k", value=2, expected_version=1)
    for stale in (0, 1, 3):
        refusal = ada.is_refused("remember", action="set", key="k", value=3, expected_version=stale)
        assert (refusal["error"], refusal["version"]) == ("stale_version", 2)


def test_a_profile_has_values_of_its_own(workshop: Workshop, ada: Agent) -> None:
    """A role's values are not the project's, nor another role's."""
    judge = workshop.agent("eve", profile="judge")
    coder = workshop.agent("bob", profile="coder")
    judge.does("remember", action="set", key="k", value="mine", scope="profile")
    assert judge.does("remember", action="get", key="k", scope="profile")["value"] == "mine"
    assert judge.is_refused("remember", action="get", key="k")["error"] == "not_found"
    coder.is_refused("remember", action="get", key="k", scope="profile")
    assert "profile" in ada.is_refused("remember", action="list", scope="profile")["message"]


def test_a_long_value_is_read_in_pages(ada: Agent) -> None:
    """The pieces of its JSON together are the value; a change in between ends the reading."""
    value = {"text": "ä\n\u0001\u202e" * 4_000}
    ada.does("remember", action="set", key="k", value=value)
    text, more = "", {}
    while True:
        reply = ada.call("remember", {"action": "get", "key": "k", **more})
        assert len(reply.text.encode()) <= 10_000
        text += reply.answer["json_text"]
        if "cursor" not in reply.answer:
            break
        more = {"cursor": reply.answer["cursor"]}
    assert json.loads(text) == value
    cursor = ada.does("remember", action="get", key="k")["cursor"]
    ada.does("remember", action="set", key="k", value=value | {"b": 1})
    ada.is_refused("remember", action="get", key="k", cursor=cursor)


def test_keys_are_listed_in_pages(ada: Agent) -> None:
    """In order, short values with them."""
    for number in range(60):
        ada.does("remember", action="set", key=f"k{number:02}", value="x" * (number * 8))
    names: list[str] = []
    more: dict[str, str] = {}
    while True:
        reply = ada.call("remember", {"action": "list", **more})
        assert len(reply.text.encode()) <= 10_000
        names += [entry["key"] for entry in reply.answer["entries"]]
        if "cursor" not in reply.answer:
            break
        more = {"cursor": reply.answer["cursor"]}
    assert names == [f"k{number:02}" for number in range(60)]


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "set", "key": "k"},
        {"action": "set", "value": 1},
        {"action": "get"},
        {"action": "forget"},
        {"action": "list", "key": "k"},
        {"action": "get", "key": "k", "value": None},
        {"action": "get", "key": "k", "expected_version": 1},
        {"action": "set", "key": "k", "value": 1, "cursor": "x"},
        {"action": "set", "key": "k" * 101, "value": 1},
        {"action": "set", "key": "k", "value": "x" * 64_001},
        {"action": "put", "key": "k", "value": 1},
        {"action": "set", "key": "k", "value": 1, "scope": "world"},
        {"action": "list", "cursor": "x"},
    ],
)
def test_what_an_action_does_not_take_is_refused(ada: Agent, arguments: dict[str, Any]) -> None:
    """Nothing is ignored, and nothing that is needed may be missing."""
    assert ada.is_refused("remember", **arguments)["kind"] == "invalid"

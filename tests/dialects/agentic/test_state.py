"""The tools `state_set`, `state_get` and `state_list`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Agent


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}, {"a": [1.5, None, "x"]}, "ß"])
def test_any_json_comes_back(opus: Agent, plan: str, value: Any) -> None:
    """Null, false and nothing are values too."""
    opus.does("state_set", plan_slug=plan, key="k", value=value)
    found = opus.does("state_get", plan_slug=plan, key="k")
    assert found["value"] == value
    assert (found["category"], found["version"]) == ("general", 1)


def test_a_value_has_a_category_and_a_description(opus: Agent, plan: str) -> None:
    for number in range(3):
        opus.does(
            "state_set", plan_slug=plan, key=f"k{number}", value=number, category=f"c{number}"
        )
    opus.does("state_set", plan_slug=plan, key="x", value=1, category="c1", description="An x")
    found = opus.does("state_list", plan_slug=plan, category="c1")
    assert [(one["key"], one["value"]) for one in found["states"]] == [("k1", 1), ("x", 1)]
    assert found["states"][1]["description"] == "An x"
    assert found["total"] == 2
    first = opus.does("state_list", plan_slug=plan, limit=3)
    assert (len(first["states"]), first["total"]) == (3, 4)
    rest = opus.does("state_list", plan_slug=plan, limit=3, cursor=first["next_cursor"])
    assert [one["key"] for one in rest["states"]] == ["x"]


def test_a_stale_version_is_refused(opus: Agent, haiku: Agent, plan: str) -> None:
    """The refusal says which one there is; 0 means that there is none yet."""
    opus.does("state_set", plan_slug=plan, key="k", value=1, expected_version=0)
    haiku.does("state_set", plan_slug=plan, key="k", value=2, expected_version=1)
    refusal = opus.is_refused("state_set", plan_slug=plan, key="k", value=3, expected_version=1)
    assert refusal["code"] == "validation_error"
    assert refusal["details"]["version"] == 2
    assert refusal["details"]["retryable"] is True


def test_what_a_value_was_before_is_in_the_ledger(opus: Agent, haiku: Agent, plan: str) -> None:
    """The last one first, with who wrote it."""
    for number, agent in enumerate((opus, haiku, opus)):
        agent.does("state_set", plan_slug=plan, key="k", value={"n": number})
        agent.does("state_set", plan_slug=plan, key="other", value=number)
    opus.does("state_set", plan_slug=plan, key="k", value={"n": 2}, description="said")
    found = opus.does("state_get", plan_slug=plan, key="k", history=10)
    assert [(one["version"], one["updated_by"]) for one in found["history"]] == [
        (3, "opus"),
        (2, "haiku"),
        (1, "opus"),
    ]
    assert [one["value"]["n"] for one in found["history"]] == [2, 1, 0]
    assert len(opus.does("state_get", plan_slug=plan, key="k", history=1)["history"]) == 1


def test_a_large_value_comes_in_pieces(opus: Agent, plan: str) -> None:
    """Each page fits; together they are its JSON, which can be parsed whatever hides in it."""
    value = "ä" * 12_000 + "\u202e\u200b\x7f"
    opus.does("state_set", plan_slug=plan, key="k", value=value)
    asked: dict[str, Any] = {"plan_slug": plan, "key": "k"}
    text = ""
    for _ in range(9):
        reply = opus.call("state_get", asked)
        assert len(reply.text.encode()) <= 10_000
        text += reply.answer["json_text"]
        if "next_cursor" not in reply.answer:
            break
        asked["cursor"] = reply.answer["next_cursor"]
    assert json.loads(text) == value
    assert "\\u202e" in text
    listed = opus.does("state_list", plan_slug=plan)["states"][0]
    assert listed["value_bytes"] == 24_009
    refusal = opus.is_refused("state_set", plan_slug=plan, key="k", value="x" * 64_000)
    assert refusal["code"] == "validation_error"


def test_what_is_answered_is_what_is_kept(opus: Agent, plan: str) -> None:
    """A secret is taken out before it is written, and whoever sets it sees that."""
    asked = {"plan_slug": plan, "key": "k"}
    set_to = opus.does("state_set", **asked, value={"password": "hunter-2", "n": 1})["value"]
    assert set_to == opus.does("state_get", **asked)["value"] == {"password": "[secret]", "n": 1}


def test_a_key_that_is_not_there_is_not_found(opus: Agent, plan: str) -> None:
    """Nor is one of another plan."""
    other = opus.does("plan_create", title="Other")["plan"]["slug"]
    opus.does("state_set", plan_slug=other, key="k", value=1)
    refusal = opus.is_refused("state_get", plan_slug=plan, key="k")
    assert (refusal["code"], refusal["error"]) == ("not_found", "the plan has no value 'k'")
    assert "state_list" in refusal["details"]["hint"]

"""The content tools: briefs are kept, and what needs a model says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Agent
from fakes.reading import brief_pages

BRIEF = {"title": "How to log in", "content_type": "help_article"}


def test_a_brief_is_kept(opus: Agent, plan: str) -> None:
    """With all that was asked for."""
    made = opus.does(
        "content_brief_create", **BRIEF, keywords=["login"], plan_slug=plan, difficulty="beginner",
        target_word_count=300, variables={"a": 1}, description="Short",
    )["brief"]  # fmt: skip
    assert (made["status"], made["slug"]) == ("pending", "how-to-log-in")
    found = opus.does("content_brief_get", id=made["id"])["brief"]
    assert found["keywords"] == ["login"]
    assert (found["plan"], found["difficulty"], found["target_word_count"]) == (
        plan,
        "beginner",
        300,
    )
    assert found["variables"] == {"a": 1}
    assert opus.does("content_brief_get", brief_id="how-to-log-in")["brief"] == found


def test_briefs_are_listed(opus: Agent) -> None:
    """The latest first, by status and type, page by page."""
    for number in range(3):
        opus.does("content_brief_create", **(BRIEF | {"title": f"T{number}"}))
    first = opus.does("content_brief_list", limit=2)
    assert [one["title"] for one in first["briefs"]] == ["T2", "T1"]
    rest = opus.does("content_brief_list", limit=2, cursor=first["next_cursor"])
    assert [one["title"] for one in rest["briefs"]] == ["T0"]
    assert opus.does("content_brief_list", status="published")["count"] == 0


def test_the_status_says_that_there_is_no_model(opus: Agent) -> None:
    """And how many briefs are how far."""
    opus.does("content_brief_create", **BRIEF)
    answer = opus.does("content_status")
    assert answer["pipeline_available"] is False
    assert answer["providers"]["claude"]["available"] is False
    assert answer["briefs"]["pending"] == 1
    assert opus.is_refused("content_status", batch_id="b")["code"] == "not_found"


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("content_generate", {"prompt": "x", "config": {"temperature": 1}}),
        ("content_generate", {"prompt": "x", "provider": "claude"}),
        ("content_generate", {"brief_id": "demo-b1", "mode": "draft", "sync": True}),
        ("content_batch_generate", {"dry_run": True}),
        ("content_batch_generate", {}),
        ("content_from_plan", {"plan_slug": "login"}),
    ],
)
@pytest.mark.usefixtures("plan")
def test_what_needs_a_model_is_not_available(opus: Agent, tool: str, asked: dict[str, Any]) -> None:
    """What a person can do about it is said; nothing is written."""
    refusal = opus.is_refused(tool, **asked)
    assert refusal["code"] == "service_unavailable"
    assert "counterpoint provider" in refusal["details"]["hint"]


def test_nothing_was_used_where_nobody_was_asked(opus: Agent) -> None:
    answer = opus.does("content_usage_stats", period="week")
    assert (answer["total_requests"], answer["total_cost"], answer["by_provider"]) == (
        *(0, "0.0000", {}),
    )


def test_a_text_needs_words_for_what_to_write(opus: Agent) -> None:
    """A prompt or a brief: without both there is nothing that it could mean, and both may mean two things."""
    assert opus.is_refused("content_generate")["code"] == "validation_error"
    asked = {"prompt": "x", "brief_id": "demo-b1"}
    assert opus.is_refused("content_generate", **asked)["code"] == "validation_error"


def test_texts_from_a_plan_need_the_plan_first(opus: Agent) -> None:
    """One that is not there is not found."""
    assert opus.is_refused("content_from_plan", plan_slug="nothing")["code"] == "not_found"


def test_a_brief_that_is_long_is_read_back_whole(opus: Agent) -> None:
    """Its description and its variables come in pages, in the form in which they were given."""
    long = {"description": "é words " * 2_000, "variables": {"a": "b" * 9_000}}
    made = opus.does("content_brief_create", **BRIEF, **long, keywords=["k" * 190] * 2)["brief"]
    pages = list(brief_pages(opus, made["id"]))
    assert len(pages) > 2
    assert "".join(one.get("description", "") for one in pages) == long["description"]
    text = "".join(one.get("variables_json", "") for one in pages)
    assert json.loads(text) == long["variables"]


def test_a_wrong_brief_is_refused(opus: Agent) -> None:
    """Out of its bounds, or not there."""
    refusal = opus.is_refused("content_brief_create", **BRIEF, target_word_count=1)
    assert refusal["code"] == "validation_error"
    assert opus.is_refused("content_brief_get", id=7)["code"] == "not_found"

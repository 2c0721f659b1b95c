"""The tool `find`: words, kinds, pages."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent
from counterpoint.dialects.agentic.nouns import BriefRequest
from counterpoint.dialects.agentic.verbs.briefs import Briefs
from fakes.plans import Begun, Plan


def test_words_find_items_and_records(ada: Agent, plan: Plan) -> None:
    """Everything that was written is searched, the best first."""
    ada.does("note", kind="learning", text="The parser dislikes tabs", id=plan["Parser"])
    hits = ada.does("find", query="parser")["hits"]
    assert {hit["id"] for hit in hits} == {plan["Parser"], "demo-r1"}


def test_hits_are_marked_as_data(ada: Agent, plan: Plan) -> None:
    """What others wrote is no instruction."""
    assert "not instructions" in ada.does("find", query="parser")["note"]


def test_kinds_and_item_narrow_the_search(ada: Agent, plan: Plan) -> None:
    ada.does("note", kind="learning", text="parser one", id=plan["Parser"])
    ada.does("note", kind="decision", text="parser two", id=plan["Notes"])
    hits = ada.does("find", query="parser", kinds=["learning", "decision"])["hits"]
    assert {hit["kind"] for hit in hits} == {"learning", "decision"}
    hits = ada.does("find", query="parser", kinds=["decision"], item=plan["Notes"])["hits"]
    assert [hit["id"] for hit in hits] == ["demo-r2"]


def test_outcomes_handoffs_and_verdicts_are_found(ada: Agent, bob: Agent, begun: Begun) -> None:
    """Summaries and reasons are searched too."""
    item, token = begun
    bob.does("review", id=item, verdict="reject", reason="zebra crossing")
    ada.does("verify", id=item, token=token)
    ada.does("finish", id=item, token=token, outcome="partial", summary="zebra seen")
    ada.does("handoff", action="end", summary="zebra gone")
    kinds = {hit["kind"] for hit in ada.does("find", query="zebra")["hits"]}
    assert kinds == {"outcome", "handoff", "verdict"}


def test_a_brief_is_found(ada: Agent) -> None:
    """With its title, and what it is to say."""
    wish = BriefRequest(title="Zebra", content_type="blog_post", description="Stripes.")
    ada.core.use(Briefs).create(wish)
    (hit,) = ada.does("find", query="stripes", kinds=["brief"])["hits"]
    assert (hit["id"], hit["kind"], hit["text"]) == ("demo-b1", "brief", "Zebra: Stripes.")


def test_pages_follow_each_other_without_a_gap(ada: Agent) -> None:
    """A cursor goes on where the page ended, and every hit comes once."""
    for number in range(25):
        ada.does("note", kind="finding", text=f"zebra number {number}")
    seen: list[str] = []
    cursor = ""
    while True:
        answer = ada.does("find", query="zebra", limit=10, **({"cursor": cursor} if cursor else {}))
        seen += [hit["id"] for hit in answer["hits"]]
        cursor = answer.get("cursor", "")
        if not cursor:
            break
    assert sorted(seen) == sorted(f"demo-r{number}" for number in range(1, 26))


def test_nothing_found_is_an_answer_with_a_hint(ada: Agent) -> None:
    """No hit is no fault."""
    answer = ada.does("find", query="unicorn")
    assert answer["hits"] == []
    assert "words" in answer["hint"]


def test_a_cursor_of_another_search_is_refused(ada: Agent) -> None:
    for number in range(5):
        ada.does("note", kind="finding", text=f"zebra {number}")
    cursor = ada.does("find", query="zebra", limit=2)["cursor"]
    for other in ({"query": "lion"}, {"query": "zebra", "item": "demo-1"}):
        assert "cursor" in ada.is_refused("find", **other, cursor=cursor)["message"]
    assert "cursor" in ada.is_refused("find", query="zebra", cursor="x" + cursor)["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": "?!"},
        {"query": "x" * 301},
        {"query": "a", "kinds": ["task", "poem"]},
        {"query": "a", "limit": 0},
        {"query": "a", "limit": 101},
        {"query": 3},
        {},
    ],
)
def test_a_search_that_cannot_be_made_is_refused(ada: Agent, arguments: dict[str, Any]) -> None:
    """Empty words, unknown kinds and limits out of range are named."""
    assert ada.is_refused("find", **arguments)["kind"] == "invalid"

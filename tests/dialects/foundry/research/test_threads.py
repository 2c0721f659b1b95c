"""Threads with a model: what is said stays, and goes along with what is said next."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent
from fakes.scripted_models import MODEL, Failing, ModelServer


def told(agent: Agent, action: str, **more: Any) -> Any:
    """Answer the data of a call that succeeds."""
    return agent.does("research", action=action, **more)["data"]


def refused(agent: Agent, action: str, **more: Any) -> Any:
    """Answer the data of a call that is refused."""
    reply = agent.call("research", {"action": action, **more})
    assert reply.is_error, reply.text
    return reply.answer["data"]


def test_a_message_is_answered_and_the_next_one_goes_with_it(
    ada: Agent, models: ModelServer
) -> None:
    """In the shapes of foundry; the model is given the thread."""
    first = told(ada, "chat", prompt="How many?", system_prompt="Be brief.", title="Numbers")
    assert first == {
        "content": "forty-two",
        "thread_id": first["thread_id"],
        "message_count": 2,
        "provider_id": "local",
        "model_used": MODEL,
        "tokens_used": 15,
    }
    assert first["thread_id"].startswith("thread-")
    second = told(ada, "chat", prompt="Sure?", thread_id=first["thread_id"])
    assert second["message_count"] == 4
    assert [one["content"] for one in models.questions[1]["messages"]] == [
        *("Be brief.", "How many?", "forty-two", "Sure?"),
    ]
    found = told(ada, "thread-get", thread_id=first["thread_id"])
    assert (found["title"], found["system_prompt"], found["provider_id"]) == (
        *("Numbers", "Be brief.", "local"),
    )
    assert [(one["role"], one["content"]) for one in found["messages"]] == [
        *(("user", "How many?"), ("assistant", "forty-two")),
        *(("user", "Sure?"), ("assistant", "forty-two")),
    ]
    assert found["messages"][1]["tokens_used"] == 15
    (line,) = told(ada, "thread-list")["threads"]
    assert (line["id"], line["message_count"]) == (first["thread_id"], 4)
    assert told(ada, "thread-list", status="archived")["count"] == 0


@pytest.mark.parametrize("models", [(Failing(401), "fine")], indirect=True)
def test_what_was_said_stays_where_the_model_fails(ada: Agent, models: ModelServer) -> None:
    """The refusal names the thread; said again in it, it is not there twice."""
    fault = refused(ada, "chat", prompt="How many?")
    assert fault["error_code"] == "AI_PROVIDER_ERROR"
    thread = fault["details"]["thread_id"]
    (kept,) = told(ada, "thread-get", thread_id=thread)["messages"]
    assert (kept["role"], kept["content"]) == ("user", "How many?")
    assert told(ada, "chat", prompt="How many?", thread_id=thread)["message_count"] == 2
    assert [one["content"] for one in models.questions[1]["messages"]] == ["How many?"]


def test_a_call_that_is_repeated_under_its_key_asks_once(ada: Agent, models: ModelServer) -> None:
    """And answers what it answered."""
    call = {"action": "chat", "prompt": "How many?", "idempotency_key": "k1"}
    first = ada.does("research", **call)["data"]
    assert ada.does("research", **call)["data"] == first
    assert len(models.questions) == 1


@pytest.mark.parametrize("models", [("ab " * 6_000,)], indirect=True)
def test_a_long_answer_is_cut_and_told_whole_by_its_thread(ada: Agent, models: ModelServer) -> None:
    """In parts, over pages."""
    assert models.address
    first = ada.does("research", action="chat", prompt="Say much.")
    assert "thread-get" in first["meta"]["warnings"][0]
    call = {"action": "thread-get", "thread_id": first["data"]["thread_id"]}
    text, cursor = "", ""
    while True:
        page = ada.does("research", **call, **({"cursor": cursor} if cursor else {}))
        parts = [one for one in page["data"]["messages"] if one["role"] == "assistant"]
        text += "".join(one["content"] for one in parts)
        cursor = page["meta"].get("pagination", {}).get("cursor")
        if not cursor:
            break
    assert text == "ab " * 6_000


def test_a_thread_is_deleted_and_others_are_not(ada: Agent, models: ModelServer) -> None:
    """What there is not is said."""
    assert models.address
    one, other = (told(ada, "chat", prompt=text)["thread_id"] for text in ("a?", "b?"))
    answer = ada.does("research", action="thread-delete", thread_id=one)
    assert answer["data"] == {"deleted": True, "thread_id": one}
    # What was said is gone from the lists, not from what the ledger keeps.
    assert "`counterpoint audit redact --text FILE --reason TEXT`" in answer["meta"]["warnings"][0]
    assert refused(ada, "thread-get", thread_id=one)["error_code"] == "NOT_FOUND"
    assert refused(ada, "thread-delete", thread_id=one)["error_code"] == "NOT_FOUND"
    assert refused(ada, "chat", prompt="?", thread_id=one)["error_code"] == "NOT_FOUND"
    assert [row["id"] for row in told(ada, "thread-list")["threads"]] == [other]


@pytest.mark.parametrize(
    "call",
    [
        {"action": "chat", "prompt": "?"},
        {"action": "consensus", "prompt": "?"},
        {"action": "thinkdeep", "topic": "?"},
        {"action": "ideate", "topic": "?"},
    ],
)
def test_without_a_provider_it_is_said(ada: Agent, call: dict[str, Any]) -> None:
    """Nothing is invented, and nothing is begun."""
    assert ada.is_refused("research", **call)["data"]["error_code"] == "AI_NO_PROVIDER"
    assert told(ada, "thread-list")["count"] == 0


@pytest.mark.parametrize(
    "call",
    [
        {"action": "chat", "prompt": "How many?", "title": "é" * 500},
        {"action": "consensus", "prompt": "How many are there? " * 700},
        {"action": "deep-research", "query": "How many are there? " * 100},
    ],
)
def test_what_a_study_was_begun_with_is_told_whole(
    ada: Agent, models: ModelServer, call: dict[str, Any]
) -> None:
    """By its thread, however long it is, over pages."""
    assert models.address
    system = "Look at the harbour first. " * 600
    made = told(ada, system_prompt=system, **call)
    study = next(
        made[name] for name in ("thread_id", "consensus_id", "research_id") if name in made
    )
    said: dict[str, str] = {}
    cursor, title = "", ""
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = ada.does("research", action="thread-get", thread_id=study, **more)
        title = page["data"]["title"]
        for one in page["data"]["messages"]:
            said[one["role"]] = said.get(one["role"], "") + one.get("content", "")
        cursor = page["meta"].get("pagination", {}).get("cursor")
        if not cursor:
            break
    assert said["system"] == system
    assert said["user"].strip() == (call.get("prompt") or call["query"]).strip()
    assert title == call.get("title", title)

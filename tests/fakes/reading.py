"""Reads what comes in pages to its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from builders import Agent


def brief_pages(agent: Agent, name: str, **more: Any) -> Iterator[dict[str, Any]]:
    """Answer the pages of a content brief; each fits into an answer."""
    cursor = ""
    while True:
        reply = agent.call("content_brief_get", {"id": name, "cursor": cursor, **more})
        assert not reply.is_error, reply.text
        assert len(reply.text.encode()) <= 10_000
        yield reply.answer["brief"]
        cursor = reply.answer.get("next_cursor", "")
        if not cursor:
            return


def whole_text(agent: Agent, name: str, **more: Any) -> str:
    """Answer the text of a content brief, joined from its pages."""
    return "".join(one.get("content", "") for one in brief_pages(agent, name, **more))

"""Lines of `claude --output-format stream-json` as run events.

    {"type": "system", "subtype": "init", …}                        system, init
    {"type": "assistant", "message": {"content": [BLOCK, …]}, …}    assistant, one for each block
    {"type": "user", "message": {"content": TEXT or [BLOCK, …]}}    user, one for each block
    {"type": "result", "subtype": …, "is_error": …, "usage": …}     result
    {"type": "rate_limit_event", "rate_limit_info": …}              rate_limit_event

A block says what it is: `thinking`, `text`, `tool_use`, `tool_result` and their kin. The payload of a
block's event is the block, with the names of its message and of the tool call it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from counterpoint.core.rules.runs.events import EventSubtype, EventType, RunEvent, event, time_of
from counterpoint.kernel.canonical import Json

TYPES: tuple[EventType, ...] = ("system", "assistant", "user", "result", "rate_limit_event")
_BLOCKS: dict[str, EventSubtype] = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "text": "text",
    "tool_use": "tool_use",
    "server_tool_use": "tool_use",
    "mcp_tool_use": "tool_use",
    "tool_result": "tool_result",
    "web_search_tool_result": "tool_result",
    "mcp_tool_result": "tool_result",
}


def events_of(line: int, message: Mapping[str, Json]) -> Iterator[RunEvent]:
    """Return the events of one line whose type is one of `TYPES`."""
    type_ = cast("EventType", message["type"])
    time = time_of(message.get("timestamp"))
    blocks = _blocks(message) if type_ in {"assistant", "user"} else []
    if not blocks:
        is_init = type_ == "system" and message.get("subtype") == "init"
        yield event(line, type_, "init" if is_init else "", message, time)
    for block in blocks:
        yield event(line, type_, _BLOCKS.get(str(block.get("type")), ""), block, time)


def _blocks(message: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the blocks of a message, each with what it belongs to; none if there is no message."""
    found = message.get("message")
    if not isinstance(found, dict):
        return []
    inner = cast("dict[str, Json]", found)
    content = inner.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    around = {
        "message_id": inner.get("id"),
        "parent_tool_use_id": message.get("parent_tool_use_id"),
    }
    belongs = {name: value for name, value in around.items() if isinstance(value, str)}
    return [
        {**belongs, **cast("dict[str, Json]", block)}
        for block in cast("list[Json]", content)
        if isinstance(block, dict)
    ]

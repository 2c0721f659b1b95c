"""Lines of `codex exec --json` as run events.

    thread.started                        system, init
    turn.started · error · item.updated   system
    item.started   of a tool              assistant, tool_use
    item.completed of a tool              user, tool_result; before it a tool_use if none was told
    item.completed agent_message          assistant, text
    item.completed reasoning              assistant, thinking
    item.* of anything else               system
    turn.completed · turn.failed          result

An `error` line is no end: the command line tells so of connections that it tries again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from counterpoint.core.rules.runs.events import EventSubtype, EventType, RunEvent, event, time_of
from counterpoint.kernel.canonical import Json

_TOOLS = frozenset(
    {"command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call"}
)
_WORDS: dict[str, EventSubtype] = {
    "agent_message": "text",
    "assistant_message": "text",
    "reasoning": "thinking",
}
_LINES: dict[str, tuple[EventType, EventSubtype]] = {
    "thread.started": ("system", "init"),
    "turn.started": ("system", ""),
    "turn.completed": ("result", ""),
    "turn.failed": ("result", ""),
    "error": ("system", ""),
}
_ITEMS = frozenset({"item.started", "item.updated", "item.completed"})
TYPES = frozenset(_LINES) | _ITEMS


def events_of(line: int, told: Mapping[str, Json], begun: set[str]) -> Iterator[RunEvent]:
    """Return the events of one line whose type is one of `TYPES`.

    begun: ids of the tool calls told so far; those of this line are added.
    """
    type_ = cast("str", told["type"])
    time = time_of(told.get("timestamp"))
    if type_ in _LINES:
        yield event(line, *_LINES[type_], told, time)
        return
    found = told.get("item")
    item = cast("dict[str, Json]", found) if isinstance(found, dict) else {}
    for kind, subtype in _steps(type_, item, begun):
        yield event(line, kind, subtype, told, time)


def _steps(
    type_: str, item: Mapping[str, Json], begun: set[str]
) -> list[tuple[EventType, EventSubtype]]:
    """Return what an item's line tells: a call, an answer, both, or words."""
    kind = str(item.get("type") or item.get("item_type"))
    if type_ == "item.completed" and kind in _WORDS:
        return [("assistant", _WORDS[kind])]
    if kind not in _TOOLS or type_ == "item.updated":
        return [("system", "")]
    name = str(item.get("id"))
    was_begun = name in begun
    begun.add(name)
    call: tuple[EventType, EventSubtype] = ("assistant", "tool_use")
    if type_ == "item.started":
        return [call]
    answer: tuple[EventType, EventSubtype] = ("user", "tool_result")
    return [answer] if was_begun else [call, answer]

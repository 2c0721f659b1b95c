"""Calls that every tool hears, made from its own schema: strange, wrong, too large, empty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stage import Agent

LONG = "x" * 30_000
MANY = 1_001
HUGE = 10**9
KEY = "idempotency_key"
"""A parameter of every tool that writes; it is drilled apart, when all else has been recorded."""
_WRONG: dict[str, Any] = {
    "string": [1],
    "integer": "many",
    "number": "many",
    "boolean": "perhaps",
    "array": {"a": 1},
    "object": "text",
}
_LIKELY: dict[str, Any] = {
    "string": "zzz-99",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": ["zzz-99"],
    "object": {"zzz": 1},
}
_EDGES: dict[str, tuple[Any, ...]] = {
    "string": ("", LONG),
    "integer": (-1, HUGE, 1.5),
    "number": (-1, HUGE),
    "array": ([], ["x"] * MANY),
}


def listed(agent: Agent) -> list[dict[str, Any]]:
    """Record everything that a server lists, read what can be read, and return its tools."""
    tools: list[dict[str, Any]] = agent.ask("tools/list").get("tools", [])
    for resource in agent.ask("resources/list").get("resources", []):
        agent.ask("resources/read", uri=resource["uri"])
    agent.ask("resources/templates/list")
    agent.ask("resources/read", uri="counterpoint://nothing")
    for prompt in agent.ask("prompts/list").get("prompts", []):
        words = {one["name"]: "zzz-99" for one in prompt.get("arguments", [])}
        agent.ask("prompts/get", name=prompt["name"], arguments=words)
    agent.ask("no/such/method")
    agent.call("no_such_tool")
    return tools


def drill(agent: Agent, tools: list[dict[str, Any]]) -> None:
    """Call every tool in every wrong way that its schema tells of."""
    for tool in tools:
        for arguments in _calls(tool.get("inputSchema", {})):
            agent.call(tool["name"], **arguments)


def drill_keys(agent: Agent) -> None:
    """Call every tool that takes a retry key with wrong ones."""
    for tool in agent.ask("tools/list").get("tools", []):
        schema = tool.get("inputSchema", {})
        if KEY in schema.get("properties", {}):
            for wrong in _wrong(schema["properties"][KEY]):
                agent.call(tool["name"], **_likely_call(schema), **{KEY: wrong})


def _calls(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    properties = {name: part for name, part in schema.get("properties", {}).items() if name != KEY}
    likely = _likely_call(schema)
    yield {}
    yield likely
    yield likely | {"unheard_of": 1}
    yield {name: _WRONG[_kind(part)] for name, part in properties.items()}
    for name, part in properties.items():
        for wrong in _wrong(part):
            yield likely | {name: wrong}


def _likely_call(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {
        name: _likely(properties[name]) for name in schema.get("required", []) if name in properties
    }


def _wrong(part: Mapping[str, Any]) -> tuple[Any, ...]:
    return (_WRONG[_kind(part)], None, *_edges(part))


def _kind(part: Mapping[str, Any]) -> str:
    kind = part.get("type", "string")
    return kind if isinstance(kind, str) else next(one for one in kind if one != "null")


def _likely(part: Mapping[str, Any]) -> Any:
    return part["enum"][0] if part.get("enum") else _LIKELY[_kind(part)]


def _edges(part: Mapping[str, Any]) -> tuple[Any, ...]:
    if part.get("enum"):
        return ("zzz",)
    return _EDGES.get(_kind(part), ())

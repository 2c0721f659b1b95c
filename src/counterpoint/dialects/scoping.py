"""Surfaces that a scope file limits to some tools, on every dialect alike.

What a surface shows beside its tools (resources, prompts, events) shows what the tools would, and is shut with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from counterpoint.dialects.call import Call
from counterpoint.kernel import tool_scopes
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.surface import Surface

_ANY: Final = "any"
"""The one role of a dialect that has none."""


def read_tools(path: Path, roles: Mapping[str, Sequence[str]], role: str) -> tuple[str, ...]:
    """Return the tools that a scope file opens to a role, in the order of the list; InvalidInput if refused."""
    try:
        return tuple(tool_scopes.read_scope(str(path), roles, role))
    except tool_scopes.ScopeRefused as refused:
        raise InvalidInput(
            f"the tool scope {path.name} opens no tool: {refused}",
            hint="Write a JSON array of names of this dialect's tools, and of the agent's type, or leave the flag out.",
        ) from refused


def apply_scope(built: Surface[Call], path: Path) -> Surface[Call]:
    """Return a surface of which only the tools of a scope file are open; InvalidInput."""
    names = [tool.name for tool in (*built.tools, *built.closed)]
    opened = read_tools(path, {"": names, _ANY: names}, _ANY)
    return replace(
        built,
        tools=tuple(tool for tool in built.tools if tool.name in opened),
        closed=(*built.closed, *(tool for tool in built.tools if tool.name not in opened)),
        resources=(),
        prompts=(),
        watch=None,
        tell=None,
    )

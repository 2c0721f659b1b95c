"""What the server offers, in which words, and what of it is turned on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

import orjson
from pydantic import Field

from counterpoint import __version__
from counterpoint.dialects.arguments import TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.nouns.capabilities import capabilities
from counterpoint.dialects.foundry.tools.models import status as models
from counterpoint.dialects.foundry.tools.sessions.lifecycle import configured_of
from counterpoint.dialects.foundry.tools.sessions.shown import session_defaults
from counterpoint.dialects.foundry.verbs.environment import Environment
from counterpoint.dialects.foundry.words import Cursor, LongLimit, Name
from counterpoint.dialects.paging import pages_of
from counterpoint.dialects.scoping import read_tools
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound
from counterpoint.protocol.actions import ActionTool, action, of_actions
from counterpoint.protocol.parameters import KEY
from counterpoint.protocol.tools import Tool

Listed = Callable[[], Sequence[Tool[Call]]]
"""Answers every tool of the surface, in the order of its list."""

_VERSION: Final = "1.0.0"
"""Of the contract of each tool."""
_CATEGORIES: Final = {
    **dict.fromkeys(("spec", "authoring", "lifecycle", "plan"), "specs"),
    **dict.fromkeys(("task", "verification", "journal"), "tasks"),
    **dict.fromkeys(("review", "provider", "research"), "ai"),
}
_OTHERS: Final = "server"
_BYTES_A_TOKEN: Final = 4


@action(reads=True, name="capabilities", plain=True)
def present_capabilities(call: Call) -> Json:
    """What it can do."""
    configured = configured_of(call)
    terms = configured.terms()
    holdings: dict[str, Json] = {
        "posture_profile": terms.posture,
        "security": {
            "role": configured.role,
            "allow_lock_bypass": terms.may_bypass,
            "allow_gate_waiver": terms.may_waive,
            "enforce_required_phase_gates": True,
        },
        "session_defaults": session_defaults(terms),
    }
    return present(capabilities(__version__, holdings))


@action(
    reads=True,
    hidden=["include_llm", "include_workflow", "include_workspace", "include_capabilities"],
)
def context(
    call: Call,
    *,
    include_llm: Annotated[bool, Field(description="With providers")] = True,
    include_workflow: Annotated[bool, Field(description="With git settings")] = True,
    include_workspace: Annotated[bool, Field(description="With folders")] = True,
    include_capabilities: Annotated[bool, Field(description="With capabilities")] = True,
) -> Json:
    """Where it works."""
    environment = call.core.use(Environment)
    log_level = logging.getLevelName(logging.getLogger().getEffectiveLevel())
    data: dict[str, Json] = {
        "server": {"name": "counterpoint-foundry", "version": __version__, "log_level": log_level},
        "paths": {"specs_dir": environment.specs() or None, "research_dir": None},
    }
    if include_workspace:
        data["workspace"] = {"roots": list(environment.roots())}
    if include_workflow:
        data["workflow"] = {"git": environment.config()[0]["git"]}
    if include_llm:
        data["llm_status"] = models.llm_status(call)
    if include_capabilities:
        data["capabilities"] = capabilities(__version__)
    return present(data)


@action(reads=True, plain=True)
def llm_status(call: Call) -> Json:
    """AI providers."""
    return present({"llm_status": models.llm_status(call)})


def server_of(listed: Listed) -> ActionTool[Call]:
    """Return the tool that tells of these tools and of itself."""

    @action(reads=True, plain=True)
    def tools(
        call: Call,
        category: Annotated[
            str, Field(max_length=100, description="specs, tasks, ai or server"), TEXT
        ] = "",
        tag: Annotated[str, Field(max_length=100, description="Such as reads, writes"), TEXT] = "",
        *,
        include_deprecated: Annotated[bool, Field(description="Deprecated too")] = False,
        limit: LongLimit = 100,
        cursor: Cursor = "",
    ) -> Json:
        """Tools and actions."""
        every = _open(call, listed)
        matches = [tool for tool in every if _fits(tool, category, tag)]
        filters: dict[str, Json] = {
            "category": category or None,
            "tag": tag or None,
            "include_deprecated": include_deprecated,
        }
        pages = pages_of(call, cursor, "tools", filters)
        rows = list(enumerate(matches))[pages.at :]
        lines, further = pages.rows(rows, limit, lambda row: _entry(row[1]), lambda row: row[0] + 1)
        size = sum(len(orjson.dumps(tool.listed())) for tool in every)
        return present(
            {
                "tools": lines,
                "categories": sorted({_category(tool) for tool in every}),
                "filters_applied": filters,
            },
            pagination=page(further, len(lines), len(matches)),
            telemetry={"manifest_tokens": size // _BYTES_A_TOKEN},
        )

    @action(reads=True)
    def schema(call: Call, tool_name: Name, limit: LongLimit = 100, cursor: Cursor = "") -> Json:
        """Parameters of each action."""
        tool = next(
            (candidate for candidate in _open(call, listed) if candidate.name == tool_name), None
        )
        if tool is None:
            tool_names = ", ".join(candidate.name for candidate in _open(call, listed))
            raise NotFound(f"there is no tool {tool_name[:60]!r}", hint=f"There are: {tool_names}.")
        pages = pages_of(call, cursor, "schema", tool_name)
        rows = list(enumerate(tool.parts))[pages.at :]
        bytes_left = 9_000
        lines, further = pages.rows(
            rows, limit, lambda row: _whole(row[1]), lambda row: row[0] + 1, bytes_left
        )
        whole = {**_entry(tool), "actions": lines}
        return present(whole, pagination=page(further, len(lines), len(tool.parts)))

    actions = (tools, schema, present_capabilities, context, llm_status)
    return of_actions("server", "What this server offers.", actions)


def _open(call: Call, listed: Listed) -> list[Tool[Call]]:
    """Return the tools that are open to the caller's mode and in the scope of his connection."""
    every, scope = list(listed()), call.settings.tool_scope
    if scope:
        names = [tool.name for tool in every]
        opened = read_tools(Path(scope), {"": names, "any": names}, "any")
        every = [tool for tool in every if tool.name in opened]
    if not call.settings.is_read_only:
        return every
    narrowed = (tool.narrowed(lambda part: part.reads) for tool in every)
    return [tool for tool in narrowed if tool is not None]


def _category(tool: Tool[Call]) -> str:
    return _CATEGORIES.get(tool.name, _OTHERS)


def _tags(tool: Tool[Call]) -> list[Json]:
    does = {"reads" if part.reads else "writes" for part in tool.parts}
    return [_category(tool), *sorted(does)]


def _fits(tool: Tool[Call], category: str, tag: str) -> bool:
    return category in {"", _category(tool)} and (not tag or tag in _tags(tool))


def _entry(tool: Tool[Call]) -> dict[str, Json]:
    return {
        "name": tool.name,
        "description": tool.description,
        "category": _category(tool),
        "version": _VERSION,
        "deprecated": False,
        "tags": _tags(tool),
        "actions": [
            {"name": _name(tool, part), "summary": part.description} for part in tool.parts
        ],
    }


def _whole(part: Tool[Call]) -> Json:
    """Return an action with what it takes, also what the list leaves out."""
    schema = {key: value for key, value in part.parameters.whole.items() if key != "type"}
    action_name = part.name.partition(" ")[2]
    keyed = KEY in schema["properties"]
    return {"name": action_name, "summary": part.description, "writes": keyed, "parameters": schema}


def _name(tool: Tool[Call], part: Tool[Call]) -> str:
    return part.name.removeprefix(f"{tool.name} ")

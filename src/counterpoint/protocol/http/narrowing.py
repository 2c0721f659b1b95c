"""What a token narrows inside: lists, and refusals in a surface's own words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as wire
from mcp.server.lowlevel import Server

from counterpoint.kernel.errors import CounterpointError, Forbidden
from counterpoint.protocol.http import guards
from counterpoint.protocol.http.grants import Grant, looks_beside_tools
from counterpoint.protocol.surface import Surface

GRANT = "counterpoint.grant"
"""Where the grant of a request lies in its ASGI scope."""

_LISTS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


def refusal_of(grant: Grant, message: Mapping[str, Any]) -> CounterpointError | None:
    """Return what a surface shall refuse in its own words: what the grant's list of tools leaves out."""
    if not grant.tools:
        return None
    name = guards.params_of(message).get("name")
    outside = message.get("method") == "tools/call" and not grant.names(str(name))
    if outside or looks_beside_tools(message):
        return Forbidden(
            "this token is for certain tools only",
            hint=f"Call one of: {', '.join(grant.tools)}.",
            tools=list(grant.tools),
        )
    return None


def list_by_grant(server: Server[Any], surface: Surface[Any]) -> None:
    """Let every list of a server show what the bearer of the request may use."""
    for method in ("tools/list", *_LISTS):
        entry = server.get_request_handler(method)
        if entry is not None:
            server.add_request_handler(
                method, wire.PaginatedRequestParams, _narrowed(entry.handler, surface, method)
            )


def _narrowed(
    whole: Callable[..., Awaitable[Any]], surface: Surface[Any], method: str
) -> Callable[..., Awaitable[Any]]:
    async def listed(context: Any, params: wire.PaginatedRequestParams) -> Any:
        answer = await whole(context, params)
        grant: Grant = context.request.scope[GRANT]
        if method != "tools/list":
            return {**answer, _LISTS[method]: []} if grant.tools else answer
        shown = {tool.name for tool in surface.tools if grant.shows(tool)}
        return {**answer, "tools": [one for one in answer["tools"] if one["name"] in shown]}

    return listed

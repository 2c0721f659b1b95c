"""The fixtures that the product never offers: pictures, sounds, logging, requests to the client.

Each is written on the SDK and stands beside what the product's own server answers: a list is the
product's with these behind it, and a name that is not here is the product's to answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import mcp_types as wire
from asking import ASKING, INPUT_PROMPT, ask_for_context
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

Answer = dict[str, Any]
Run = Callable[[Any, dict[str, Any]], Awaitable[Any]]

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
STEP = 0.05
MISSING_CAPABILITY = -32021

NOTHING: Answer = {"type": "object", "properties": {}, "additionalProperties": False}

EVERY_KEYWORD: Answer = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

ENUMS: Answer = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [{"const": f"value{n}", "title": f"Title {n}"} for n in (1, 2, 3)],
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {
        "type": "array",
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
    },
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]},
    },
}

DEFAULTS: Answer = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}

bus = InMemorySubscriptionBus()


def said(text: str) -> Answer:
    """Answer a result of one text."""
    return content({"type": "text", "text": text})


def content(*blocks: Answer) -> Answer:
    """Answer a result of some blocks."""
    return {"resultType": "complete", "content": list(blocks), "isError": False}


def picture() -> Answer:
    """Answer one pixel."""
    return {"type": "image", "data": PICTURE, "mimeType": "image/png"}


def embedded(uri: str, mime: str, text: str) -> Answer:
    """Answer a document inside an answer."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}}


def always(answer: Answer) -> Run:
    """Make a tool that answers the same each time."""

    async def run(_context: Any, _arguments: dict[str, Any]) -> Answer:
        return answer

    return run


async def log_three_times(context: Any, _arguments: dict[str, Any]) -> Answer:
    """Tell what happens in three log messages."""
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words, related_request_id=context.request_id)
        await asyncio.sleep(STEP)
    return said("Tool with logging executed successfully")


async def sample(context: Any, arguments: dict[str, Any]) -> Answer:
    """Ask the client's model."""
    words = wire.TextContent(type="text", text=str(arguments.get("prompt", "")))
    heard = await context.session.create_message(
        [wire.SamplingMessage(role="user", content=words)],
        max_tokens=100,
        related_request_id=context.request_id,
    )
    return said(f"LLM response: {getattr(heard.content, 'text', '')}")


def elicit(words: str, properties: Answer, *required: str) -> Run:
    """Make a tool that asks the client's user to fill in a form."""

    async def run(context: Any, arguments: dict[str, Any]) -> Answer:
        heard = await context.session.elicit_form(
            str(arguments.get("message", "Please fill in the form")),
            {"type": "object", "properties": properties, "required": list(required)},
            related_request_id=context.request_id,
        )
        return said(f"{words}: action={heard.action}, content={json.dumps(heard.content)}")

    return run


async def close_and_go_on(context: Any, _arguments: dict[str, Any]) -> Answer:
    """Close the stream in the middle of the call; the client fetches the answer with another."""
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await asyncio.sleep(2 * STEP)
    return said("Reconnection test completed")


async def need_sampling(context: Any, _arguments: dict[str, Any]) -> Answer:
    """Refuse a client that did not declare what this needs."""
    declared = context.session.client_capabilities
    if declared is None or declared.sampling is None:
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_CAPABILITY, "The client must offer sampling", needed)
    return said("The client offers sampling")


def publish(event: Any) -> Run:
    """Make a tool that tells every listener of a change."""

    async def run(_context: Any, _arguments: dict[str, Any]) -> Answer:
        await bus.publish(event)
        return said("The change was told")

    return run


def _with(**properties: Answer) -> Answer:
    return {"type": "object", "properties": properties, "required": list(properties)}


_TEXT: Answer = {"type": "string"}

TOOLS: dict[str, tuple[Answer, Run]] = {
    "test_image_content": (NOTHING, always(content(picture()))),
    "test_audio_content": (
        NOTHING,
        always(content({"type": "audio", "data": SOUND, "mimeType": "audio/wav"})),
    ),
    "test_embedded_resource": (
        NOTHING,
        always(content(embedded("test://embedded-resource", "text/plain", "Embedded."))),
    ),
    "test_multiple_content_types": (
        NOTHING,
        always(
            content(
                {"type": "text", "text": "Multiple content types test:"},
                picture(),
                embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    '{"test":"data","value":123}',
                ),
            )
        ),
    ),
    "json_schema_2020_12_tool": (EVERY_KEYWORD, always(said("Each keyword was kept"))),
    "test_tool_with_logging": (NOTHING, log_three_times),
    "test_logging_tool": (NOTHING, log_three_times),
    "test_sampling": (_with(prompt=_TEXT), sample),
    "test_elicitation": (
        _with(message=_TEXT),
        elicit("User response", {"username": _TEXT, "email": _TEXT}, "username", "email"),
    ),
    "test_elicitation_sep1034_defaults": (NOTHING, elicit("Elicitation completed", DEFAULTS)),
    "test_elicitation_sep1330_enums": (NOTHING, elicit("Elicitation completed", ENUMS)),
    "test_reconnection": (NOTHING, close_and_go_on),
    "test_missing_capability": (NOTHING, need_sampling),
    "test_trigger_tool_change": (NOTHING, publish(ToolsListChanged())),
    "test_trigger_prompt_change": (NOTHING, publish(PromptsListChanged())),
    **{name: (NOTHING, run) for name, run in ASKING.items()},
}

PROMPTS: dict[str, tuple[str, ...]] = {
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    INPUT_PROMPT: (),
}

BINARY = "test://static-binary"

GETS = ("tools/call", "resources/read", "prompts/get")

LISTS: dict[str, tuple[str, list[Answer]]] = {
    "tools/list": (
        "tools",
        [
            {"name": name, "description": "A fixture.", "inputSchema": schema}
            for name, (schema, _) in TOOLS.items()
        ],
    ),
    "resources/list": (
        "resources",
        [{"uri": BINARY, "name": "static_binary", "mimeType": "image/png"}],
    ),
    "prompts/list": (
        "prompts",
        [
            {
                "name": name,
                "description": "A fixture.",
                "arguments": [{"name": one, "required": True} for one in names],
            }
            for name, names in PROMPTS.items()
        ],
    ),
}


def _user(block: Answer) -> Answer:
    return {"role": "user", "content": block}


async def speak(context: Any, name: str, arguments: dict[str, str]) -> Any:
    """Answer one of the prompts that the product could not word."""
    if name == INPUT_PROMPT:
        return ask_for_context(context)
    if name == "test_prompt_with_image":
        first, then = picture(), "Please analyze the image above."
    else:
        text = "Embedded resource content for testing."
        first = embedded(arguments.get("resourceUri", "test://none"), "text/plain", text)
        then = "Please process the embedded resource above."
    messages = [_user(first), _user({"type": "text", "text": then})]
    return {"resultType": "complete", "messages": messages}


class Beside:
    """What a server of the product answered before, and the fixtures of this file with it."""

    def __init__(self, server: Server[Any]) -> None:
        """Remember how the server answers what both have something for."""
        self._server = server
        self._theirs = {method: self._answers_of(method) for method in (*LISTS, *GETS)}

    def put(self) -> None:
        """Let the server answer the fixtures too."""
        add = self._server.add_request_handler
        for method in LISTS:
            add(method, wire.PaginatedRequestParams, self._longer(method))
        add("tools/call", wire.CallToolRequestParams, self._call_tool)
        add("resources/read", wire.ReadResourceRequestParams, self._read_resource)
        add("prompts/get", wire.GetPromptRequestParams, self._get_prompt)
        _add_methods(self._server)
        # The product promises no news of its lists, which never change; fixtures here change theirs.
        self._server.get_capabilities = partial(Server.get_capabilities, self._server)

    def _answers_of(self, method: str) -> Callable[[Any, Any], Awaitable[Any]]:
        entry = self._server.get_request_handler(method)
        assert entry is not None
        return entry.handler

    def _longer(self, method: str) -> Callable[[Any, Any], Awaitable[Any]]:
        async def answer(context: Any, params: Any) -> Answer:
            key, added = LISTS[method]
            page = await self._theirs[method](context, params)
            return {**page, key: [*page[key], *added]}

        return answer

    async def _call_tool(self, context: Any, params: Any) -> Any:
        found = TOOLS.get(params.name)
        if found is None:
            return await self._theirs["tools/call"](context, params)
        return await found[1](context, params.arguments or {})

    async def _read_resource(self, context: Any, params: Any) -> Any:
        uri = str(params.uri)
        if uri != BINARY:
            return await self._theirs["resources/read"](context, params)
        one = {"uri": uri, "mimeType": "image/png", "blob": PICTURE}
        return {"resultType": "complete", "contents": [one]}

    async def _get_prompt(self, context: Any, params: Any) -> Any:
        if params.name not in PROMPTS:
            return await self._theirs["prompts/get"](context, params)
        return await speak(context, params.name, dict(params.arguments or {}))


def _add_methods(server: Server[Any]) -> None:
    async def complete(_context: Any, params: wire.CompleteRequestParams) -> Answer:
        words = [one for one in ("paris", "park", "party") if one.startswith(params.argument.value)]
        return {"resultType": "complete", "completion": {"values": words, "hasMore": False}}

    async def agree(_context: Any, _params: Any) -> wire.EmptyResult:
        return wire.EmptyResult()

    listen = wire.SubscriptionsListenRequestParams
    server.add_request_handler("completion/complete", wire.CompleteRequestParams, complete)
    server.add_request_handler("logging/setLevel", wire.SetLevelRequestParams, agree)
    server.add_request_handler("resources/subscribe", wire.SubscribeRequestParams, agree)
    server.add_request_handler("resources/unsubscribe", wire.UnsubscribeRequestParams, agree)
    server.add_request_handler("subscriptions/listen", listen, ListenHandler(bus))
    security = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(security, default_audience=server.name))

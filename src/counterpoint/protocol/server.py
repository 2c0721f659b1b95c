"""An MCP server of a surface: the SDK's low-level server, both protocol eras.

The lists are built once, in the surface's order, and are the same for every connection; a call of
a tool never builds one. Tools, resources and prompts run in worker threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import cached_property
from typing import Any, Final, Generic, NoReturn, TypeVar, cast

import mcp_types as wire
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from typing_extensions import override

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, RateLimited, Unavailable, UnknownTool
from counterpoint.kernel.visible import visible
from counterpoint.protocol.live import Live, connected
from counterpoint.protocol.surface import Caller, Surface, silent
from counterpoint.protocol.wire.direct import Direct
from counterpoint.protocol.wire.outbox import MOST_LONG
from counterpoint.protocol.workers import Workers

C = TypeVar("C")

Context = ServerRequestContext[Any, Any]

LISTS_LAST_MS = 300_000
"""How long a client may keep a list: it changes only with a new server."""

CONVERSATIONS: Final = ("threadId", "vscode.conversationId")
"""Where in `_meta` clients say which of their own conversations a message belongs to: Codex, and VS Code."""
_LONGEST_NAME: Final = 300

# Reports of one call that may wait to be sent; a tool that reports in a loop would fill the memory.
_UNSENT = 100
_BEGINNINGS = ("initialize", "server/discover")
"""The requests with which clients of the two eras begin."""
_COMPLETE = {"resultType": "complete"}
"""What the era from 2026-07-28 wants in each result; the SDK leaves it out for the eras before."""


def create_server(
    surface: Surface[C],
    call_for: Callable[[Caller], C],
    *,
    workers: Workers | None = None,
    direct: Direct[C] | None = None,
    pushes: bool = True,
) -> Server[Any]:
    """Return a server of the surface.

    call_for: makes, in a worker, what a tool gets as its call.
    direct: who answers the plain calls of its only connection.
    pushes: whether its connections last, so that it can tell what has changed by itself.
    """
    lists = ("server/discover", "tools/list", "prompts/list", "resources/list")
    server: Server[Any] = _Honest(
        surface.name,
        version=surface.version,
        instructions=surface.instructions or None,
        cache_hints={
            **{method: CacheHint(ttl_ms=LISTS_LAST_MS, scope="private") for method in lists},
            "resources/templates/list": CacheHint(ttl_ms=LISTS_LAST_MS, scope="private"),
            "resources/read": CacheHint(ttl_ms=0, scope="private"),
        },
        get_tool_input_schema=_schemas(surface),
        lifespan=connected,
    )
    # The tracing that is on by default would cost every call and is not ours to switch on.
    server.middleware.clear()
    answers = _Answers(surface, call_for, workers or Workers(), direct)
    answers.register(server, pushes=pushes)
    if surface.greet is not None:
        server.middleware.append(answers.greeted)
    return server


class _Honest(Server[Any]):
    """A server that promises no news of its lists, which never change while it runs."""

    @override
    def get_capabilities(self, *args: Any, **kwargs: Any) -> wire.ServerCapabilities:
        capabilities = super().get_capabilities(*args, **kwargs)
        for listed in (capabilities.tools, capabilities.prompts, capabilities.resources):
            if listed is not None:
                listed.list_changed = False
        return capabilities


def _schemas(surface: Surface[C]) -> Callable[[str], dict[str, Json] | None]:
    def schema(name: str) -> dict[str, Json] | None:
        tool = surface.find(name)
        return tool.parameters.schema if tool else None

    return schema


class _Answers(Generic[C]):
    """The methods of the protocol, answered from a surface."""

    def __init__(
        self,
        surface: Surface[C],
        call_for: Callable[[Caller], C],
        workers: Workers,
        direct: Direct[C] | None,
    ) -> None:
        self._surface = surface
        self._call_for = call_for
        self._workers = workers
        self._direct = direct

    def register(self, server: Server[Any], *, pushes: bool) -> None:
        """Register only the methods that this surface has something for."""
        if self._surface.watch is not None:
            live = Live(self._surface, self._surface.watch, self._caller, self._workers)
            live.register(server, pushes=pushes)
        paged = wire.PaginatedRequestParams
        server.add_request_handler("tools/list", paged, self._list_tools)
        server.add_request_handler("tools/call", wire.CallToolRequestParams, self._call_tool)
        if self._surface.resources:
            server.add_request_handler("resources/list", paged, self._list_resources)
            server.add_request_handler("resources/templates/list", paged, self._list_templates)
            server.add_request_handler(
                "resources/read", wire.ReadResourceRequestParams, self._read_resource
            )
        if self._surface.prompts:
            server.add_request_handler("prompts/list", paged, self._list_prompts)
            server.add_request_handler("prompts/get", wire.GetPromptRequestParams, self._get_prompt)

    async def greeted(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Add to the answer that begins a connection what the surface tells its caller then."""
        result = await call_next(ctx)
        greet = self._surface.greet
        if greet is None or ctx.method not in _BEGINNINGS or not isinstance(result, dict):
            return result
        # Who shakes hands is known to the connection only afterwards.
        params = ctx.params or {}
        client = cast("dict[str, Any]", params.get("clientInfo") or {})
        call = self._caller(ctx, str(client.get("name", "")), str(client.get("version", "")))
        try:
            text = visible(await self._workers.run(lambda: greet(call())))
        except CounterpointError:
            # The first call is refused in the same way, in an envelope that its reader knows.
            return result
        texts = [part for part in (result.get("instructions"), text) if part]
        return {**result, "instructions": "\n\n".join(texts)}

    @cached_property
    def _tools(self) -> dict[str, Json]:
        return self._surface.listed()

    @cached_property
    def _resources(self) -> dict[str, Json]:
        fixed = [
            resource.listed() for resource in self._surface.resources if not resource.is_template
        ]
        return {"resources": fixed}

    @cached_property
    def _templates(self) -> dict[str, Json]:
        families = [
            resource.listed() for resource in self._surface.resources if resource.is_template
        ]
        return {"resourceTemplates": families}

    @cached_property
    def _prompts(self) -> dict[str, Json]:
        return {"prompts": [prompt.listed() for prompt in self._surface.prompts]}

    async def _list_tools(
        self, _context: Context, params: wire.PaginatedRequestParams
    ) -> dict[str, Json]:
        return _only_page(params, self._tools)

    async def _list_resources(
        self, _context: Context, params: wire.PaginatedRequestParams
    ) -> dict[str, Json]:
        return _only_page(params, self._resources)

    async def _list_templates(
        self, _context: Context, params: wire.PaginatedRequestParams
    ) -> dict[str, Json]:
        return _only_page(params, self._templates)

    async def _list_prompts(
        self, _context: Context, params: wire.PaginatedRequestParams
    ) -> dict[str, Json]:
        return _only_page(params, self._prompts)

    async def _call_tool(
        self, context: Context, params: wire.CallToolRequestParams
    ) -> dict[str, Json]:
        try:
            tool = self._surface.tool(params.name)
        except UnknownTool as unknown:
            raise _on_the_wire(unknown) from None
        call = self._caller(context)
        if self._direct is not None:
            self._direct.learn(context.request_id, context.params, call)
        arguments = params.arguments or {}
        part = tool.meant(arguments)
        # Only what takes long tells how it is getting on.
        long = part is not None and part.parameters.progress is not None
        reports = _Reports(context) if long else None
        if long and self._direct is not None and not self._direct.set_apart(context.request_id):
            call, long = _too_many, False
        try:
            outcome = await self._workers.run(
                lambda: self._surface.answer(tool, call, arguments, reports or silent), long=long
            )
        except asyncio.CancelledError:
            if reports:
                reports.stop()
            raise
        if reports:
            await reports.sent()
        return {
            **_COMPLETE,
            "content": [{"type": "text", "text": outcome.text}],
            "structuredContent": outcome.answer,
            "isError": outcome.is_error,
        }

    async def _read_resource(
        self, context: Context, params: wire.ReadResourceRequestParams
    ) -> dict[str, Json]:
        uri = str(params.uri)
        try:
            resource, text = await self._workers.run(
                lambda: self._surface.read(self._caller(context), uri)
            )
        except CounterpointError as refusal:
            raise _on_the_wire(refusal, uri=uri) from None
        return {**_COMPLETE, "contents": [{"uri": uri, "mimeType": resource.mime, "text": text}]}

    async def _get_prompt(
        self, context: Context, params: wire.GetPromptRequestParams
    ) -> dict[str, Json]:
        try:
            prompt, spoken = await self._workers.run(
                lambda: self._surface.speak(
                    self._caller(context), params.name, dict(params.arguments or {})
                )
            )
        except CounterpointError as refusal:
            raise _on_the_wire(refusal) from None
        messages = [
            {"role": role, "content": {"type": "text", "text": text}} for role, text in spoken
        ]
        return {**_COMPLETE, "description": prompt.description, "messages": messages}

    def _caller(self, context: Context, client: str = "", version: str = "") -> Callable[[], C]:
        params = context.session.client_params
        caller = Caller(
            guarded=self._surface.guarded,
            client=params.client_info.name if params else client,
            client_version=params.client_info.version if params else version,
            protocol=context.protocol_version,
            request=context.request,
            conversation=conversation_of(context.meta),
        )
        return lambda: self._call_for(caller)


def _too_many() -> NoReturn:
    """Refuse a call that takes long: as many as may be of its connection are under way or wait."""
    raise RateLimited(
        f"{MOST_LONG} calls of this connection that take long are under way or wait",
        hint="Wait for one of them to be answered, and call again.",
    )


def conversation_of(meta: Mapping[str, Any] | None) -> str:
    """Return which of its own conversations a client says that a message belongs to; empty if it says none."""
    labels = (f"{name} {(meta or {}).get(name) or ''}" for name in CONVERSATIONS)
    conversation = next((label for label in labels if not label.endswith(" ")), "")
    return conversation if len(conversation) <= _LONGEST_NAME else ""


class _Reports:
    """Progress reported from a worker thread, sent by the event loop."""

    def __init__(self, context: Context) -> None:
        self._session = context.session
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Future[None]] = []
        self._is_over = False

    def __call__(self, done: float, total: float | None = None, message: str = "") -> None:
        """Send a report; a client that does not read them gets fewer.

        Unavailable once nobody waits for the call: so a long tool learns that it can end.
        """
        if self._is_over:
            raise Unavailable("nobody waits for this call any more", hint="Call again.")
        self._waiting = [report for report in self._waiting if not report.done()]
        if len(self._waiting) < _UNSENT:
            report = self._session.report_progress(done, total, message or None)
            self._waiting.append(asyncio.run_coroutine_threadsafe(report, self._loop))

    def stop(self) -> None:
        """Refuse every report from now on: the caller has cancelled, or is gone."""
        self._is_over = True

    async def sent(self) -> None:
        """Wait until every report is on its way, for the answer must come after them."""
        for report in self._waiting:
            await asyncio.wrap_future(report)


def _only_page(params: wire.PaginatedRequestParams, page: dict[str, Json]) -> dict[str, Json]:
    """Return the whole list; no cursor was ever given out, so any is a bad one."""
    if params.cursor is not None:
        raise MCPError(wire.INVALID_PARAMS, "There is no such cursor: the list is one page")
    return {**_COMPLETE, **page}


def _on_the_wire(refusal: CounterpointError, **about: str) -> MCPError:
    """Return the JSON-RPC error of a refusal outside a tool, and what it is about."""
    theirs = refusal.kind in {"not_found", "invalid"}
    # Outside of a tool there is no envelope of the dialect's: the protocol's own errors are all
    # there is.
    code = wire.INVALID_PARAMS if theirs else wire.INTERNAL_ERROR
    return MCPError(code, refusal.message, {**about, "code": refusal.code, "hint": refusal.hint})

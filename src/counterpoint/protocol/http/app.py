"""The HTTP application: its routes, and who may call them.

Lists of tools that were answered once, kept as bytes for who asks again.
Rules: (1) An answer is kept only for a question that has nothing but what stands in its key: the surface, what the caller may use, the headers
that the protocol looks at, and the parameters. (2) For a long question nothing is kept, and of answers the `MOST` newest: who asks for another
is answered as the first one was. (3) Between two of them only the id differs, which is put in.

A list is the largest of all answers, and its making held up everybody who called at that moment.

The ASGI application: MCP for each surface, health, metrics, and who may enter.

    POST /mcp, /mcp/<surface>                       MCP, stateless, versions from 2024-11-05 on
    GET  /healthz                                   the process lives
    GET  /readyz                                    the store answers, the disk has room; else 503
    GET  /metrics                                   OpenMetrics text; needs a token where MCP does
    GET  a page of the server's own                   needs a token where MCP does
    GET  /events/<surface>                          what a surface tells, as server-sent events, or
                                                    as a WebSocket; needs a token where MCP does
    GET  /.well-known/oauth-protected-resource…     RFC 9728, only with an issuer

An answer is plain JSON unless the caller asked for progress. A token allows what it allows
at the call; lists depend on the token and on nothing else, and say that they are private.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from http import HTTPStatus
from secrets import token_hex
from typing import Any, Final, Generic, TypeVar

import orjson
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from counterpoint.kernel.errors import CounterpointError, Forbidden
from counterpoint.kernel.lost_calls import lost_call_error
from counterpoint.protocol.http import guards
from counterpoint.protocol.http.access_log import (
    AccessLogLine,
    RequestRecord,
    ResponseObserver,
    present_of,
    takes_long,
)
from counterpoint.protocol.http.admission import Admission, may_look
from counterpoint.protocol.http.grants import Grant, Limits
from counterpoint.protocol.http.guards import (
    GRANT,
    Hosts,
    Refused,
    list_by_grant,
    refusal_of,
    refuse,
)
from counterpoint.protocol.http.metrics import MEDIA_TYPE, Metrics
from counterpoint.protocol.http.oauth import Issuer
from counterpoint.protocol.http.quotas import QuotaStore, Spending, Turns
from counterpoint.protocol.http.subscriptions import Subscribers
from counterpoint.protocol.server import create_server
from counterpoint.protocol.surface import Caller, Surface
from counterpoint.protocol.workers import CALLER, Workers

MOST: Final = 64
LONGEST: Final = 2_000
_LOOKED_AT: Final = ("accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name")

Key = tuple[object, ...]


class KeptLists:
    """What was answered to `tools/list`."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._kept: dict[Key, bytes] = {}

    def key(
        self, surface: str, grant: Grant, headers: Headers, message: Mapping[str, Any]
    ) -> Key | None:
        """Return what the answer to a message depends on; None for one whose answer is not kept."""
        if message.get("method") != "tools/list" or "id" not in message:
            return None
        question = orjson.dumps([message[name] for name in sorted(message) if name != "id"])
        looked = tuple(headers.get(name, "") for name in _LOOKED_AT)
        if len(question) + sum(map(len, looked)) > LONGEST:
            return None
        return surface, grant.scopes, grant.tools, looked, tuple(sorted(message)), question

    def find(self, key: Key, number: object) -> Response | None:
        """Return the answer to a question with this id, if one like it was answered."""
        answer = self._kept.get(key)
        if answer is None:
            return None
        body = b'{"jsonrpc":"2.0","id":' + orjson.dumps(number) + b',"result":' + answer + b"}"
        return Response(body, media_type="application/json")

    def keep(self, key: Key, body: bytes) -> None:
        """Keep the result of an answer, if it has one."""
        answer = orjson.loads(body)
        if "result" not in answer:
            return
        self._kept[key] = orjson.dumps(answer["result"])
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]


C = TypeVar("C")

Gauges = Mapping[str, tuple[str, float]]
Page = Callable[[Scope, Headers], Awaitable[Response]]
OwnPage = Callable[[Grant, Scope], Awaitable[Response]]

WHY = "counterpoint.refusal"
"""Where a refusal lies that a surface shall say in its own words."""
PAGE = "counterpoint.page"
"""Where a site says which of its pages was read, for the log."""

_METHODS = frozenset(
    {"initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list"}
    | {"resources/templates/list", "resources/read", "prompts/list", "prompts/get"}
    | {"subscriptions/listen", "notifications/initialized", "notifications/cancelled"}
)


@dataclass(frozen=True, kw_only=True)
class ServerConfig(Generic[C]):
    """What the application serves; everything but `log` is called in worker threads.

    surfaces: the names there are. build: answers a surface. call_for: makes what a tool gets, for a
    grant and a caller. find: answers the grant of a token from an address, or None. anyone: answers
    the grant of a caller without a token; nobody's, unless it is said. troubles: what keeps the server
    from being ready. gauges: what else is measured. log: takes one line a request. pages: more paths
    to read from, each for callers who may read. quotas: where the calls of months are kept. site: loads what answers every path
    that is nobody else's. entrance: the path of it that takes a form from a file, whose `Origin` is `null`.
    """

    surfaces: tuple[str, ...]
    build: Callable[[str], Surface[C]]
    call_for: Callable[[Grant, Caller], C]
    find: Callable[[str, str], Grant | None]
    troubles: Callable[[], list[str]]
    gauges: Callable[[], Gauges]
    log: Callable[[AccessLogLine], None]
    hosts: Hosts
    anyone: Callable[[], Grant | None] = lambda: None
    issuer: Issuer | None = None
    pages: Mapping[str, OwnPage] = field(default_factory=dict[str, OwnPage])
    quotas: QuotaStore | None = None
    site: Callable[[], ASGIApp] | None = None
    entrance: str = "/login"
    seconds: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served(Generic[C]):
    """One surface that is served: the same server, answering in JSON or as a stream."""

    surface: Surface[C]
    plain: StreamableHTTPSessionManager
    stream: StreamableHTTPSessionManager


@dataclass(kw_only=True)
class HttpApp(Generic[C]):
    """The application that an ASGI server runs."""

    config: ServerConfig[C]
    metrics: Metrics = field(default_factory=Metrics)
    workers: Workers = field(default_factory=Workers)
    _entrance: Admission = field(init=False)
    _spending: Spending = field(init=False)
    _turns: Turns = field(init=False, default_factory=Turns)
    _lists: KeptLists = field(init=False, default_factory=KeptLists)
    _audience: Subscribers[C] = field(init=False, default_factory=Subscribers["C"])
    _served: dict[str, _Served[C]] = field(init=False, default_factory=dict[str, "_Served[C]"])
    _open: int = field(init=False, default=0)
    _is_ending: bool = field(init=False, default=False)
    _endless: set[asyncio.Task[Any]] = field(init=False, default_factory=set[asyncio.Task[Any]])

    def __post_init__(self) -> None:
        """Begin with full buckets."""
        config = self.config
        self._entrance = Admission(
            config.find,
            config.anyone,
            issuer=config.issuer,
            workers=self.workers,
            seconds=config.seconds,
        )
        self._spending = Spending(Limits(config.seconds), config.quotas)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Keep every surface ready while the block runs; what is under way at its end is cancelled."""
        async with AsyncExitStack() as stack:
            for name in self.config.surfaces:
                served = self._build(name)
                await stack.enter_async_context(served.plain.run())
                await stack.enter_async_context(served.stream.run())
                self._served[name] = served
            yield

    def _build(self, name: str) -> _Served[C]:
        surface = self.config.build(name)
        server = create_server(surface, self._call, workers=self.workers, pushes=False)
        list_by_grant(server, surface)
        hosts = self.config.hosts
        security = TransportSecuritySettings(
            allowed_hosts=sorted(hosts.hosts), allowed_origins=sorted(hosts.origins)
        )
        plain, stream = (
            StreamableHTTPSessionManager(
                server,
                json_response=as_json,
                stateless=True,
                security_settings=security,
                max_request_body_size=guards.LARGEST_BODY,
            )
            for as_json in (True, False)
        )
        return _Served(surface=surface, plain=plain, stream=stream)

    def _call(self, caller: Caller) -> C:
        scope: Scope = getattr(caller.request, "scope", {})
        refusal = scope.get(WHY)
        if refusal is not None:
            raise refusal
        return self.config.call_for(scope[GRANT], caller)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Return one request, or talk on one WebSocket to its end."""
        if scope["type"] not in {"http", "websocket"}:
            return
        began, visit = self.config.seconds(), RequestRecord()

        async def watched(message: Message) -> None:
            if message["type"] in _BEGINS:
                visit.status = message.get("status", 101)
                more = [*_SAFE, *_later(visit.retry_after), *_session(visit)]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        self._open += 1
        try:
            await self._answer(scope, receive, watched, visit)
        except Refused as refused:
            visit.outcome = refused.outcome
            await refused.response(scope, receive, watched)
        except CounterpointError as fault:
            visit.outcome = fault.code
            answer = refuse(503, fault.code, "the server cannot answer now", fault.hint)
            await answer.response(scope, receive, watched)
        except asyncio.CancelledError:
            error = visit.lost_error or lost_call_error(only_reads=True, has_key=False)
            if not self._is_ending or (visit.status and not (visit.streams and visit.lost_error)):
                raise
            visit.outcome = "cut"
            if visit.status:
                body = b"event: message\r\ndata: %s\r\n\r\n"
                body %= guards.lost_answer(visit.number, error)
                await watched({"type": "http.response.body", "body": body})
            else:
                # Without an answer the library would say that something is wrong inside.
                await guards.cut_off(visit.number, error).response(scope, receive, watched)
        finally:
            self._open -= 1
            self._present(scope, visit, self.config.seconds() - began)

    def _present(self, scope: Scope, visit: RequestRecord, seconds: float) -> None:
        outcome = visit.outcome or ("ok" if 0 < visit.status < 400 else "failed")  # noqa: PLR2004 -- the first status of a refusal
        # The client was gone, or the server ended, before an answer began.
        if not visit.status:
            outcome = "cut"
        grant: Grant | None = scope.get(GRANT)
        # Labels are counted for ever: a caller must not be able to make as many as it likes.
        rpc_method = visit.rpc if visit.rpc in _METHODS else "other"
        method: str = scope.get("method", "WEBSOCKET")[:10]
        self.metrics.count(
            method=rpc_method
            if visit.rpc
            else method
            if method in {"GET", "WEBSOCKET"}
            else "none",
            tool=visit.tool,
            outcome=outcome,
            seconds=seconds,
        )
        self.config.log(
            AccessLogLine(
                method=method,
                path=scope["path"] if self._is_known(scope["path"]) else scope.get(PAGE, "other"),
                status=visit.status,
                outcome=outcome,
                ms=round(seconds * 1000, 3),
                rpc=rpc_method if visit.rpc else "",
                tool=visit.tool,
                grant=grant.id if grant else "",
            )
        )

    def _is_known(self, path: str) -> bool:
        return (
            path in self._pages or self._find(path) is not None or self._telling(path) is not None
        )

    @cached_property
    def _pages(self) -> dict[str, Page]:
        pages = {path: self._own(page) for path, page in self.config.pages.items()}
        pages["/healthz"] = self._healthz
        pages["/readyz"] = self._readyz
        pages["/metrics"] = self._metrics
        if self.config.issuer is not None:
            pages[self.config.issuer.metadata_path] = self._metadata
            pages["/.well-known/oauth-protected-resource"] = self._metadata
        return pages

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, visit: RequestRecord
    ) -> None:
        headers = Headers(scope=scope)
        self.config.hosts.check(
            headers,
            is_entrance=self.config.site is not None and scope["path"] == self.config.entrance,
        )
        if self._is_ending:
            raise guards.ending()
        surface = self._telling(scope["path"])
        if surface is not None:
            await self._follow(surface, scope, receive, send)
            return
        if scope["type"] == "websocket":
            raise self._nowhere("/events/")
        page = self._pages.get(scope["path"])
        if page is not None:
            if scope["method"] not in {"GET", "HEAD"}:
                raise guards.wrong_method("GET, HEAD")
            response = await page(scope, headers)
            with self._lasting(scope["path"] in self.config.pages):
                await response(scope, receive, send)
            return
        served = self._find(scope["path"])
        if (
            served is None
            and self.config.site
            and not scope["path"].startswith(("/mcp", "/events"))
        ):
            site = await self.workers.run(self.config.site)
            with self._lasting(scope["path"] == "/live"):
                await site(scope, receive, send)
            return
        if served is None:
            raise self._nowhere(scope["path"])
        if scope["method"] != "POST":
            raise guards.wrong_method("POST")
        await self._serve(served, scope, receive, send, visit)

    async def _spend(self, grant: Grant, visit: RequestRecord) -> CounterpointError | None:
        """Take a call of a tool from what the grant has; answer why not, if there is none."""
        if not visit.tool:
            return None
        refusal = self._spending.hurry(grant, visit.tool)
        if refusal is None and self._spending.is_counted(grant):
            # A worker that answers a refusal would be taken for one that raised it.
            (refusal,) = await self.workers.run(lambda: (self._spending.spend(grant),))
        if refusal is not None:
            visit.retry_after = refusal.facts["retry_after"]
        return refusal

    async def close(self) -> None:
        """Give back the calls that were drawn and not made; CounterpointError if that fails."""
        await self.workers.run(self._spending.close)

    async def _follow(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Let someone follow the events of a surface for as long as they may."""
        if scope.get("method", "GET") not in {"GET", "HEAD"}:
            raise guards.wrong_method("GET, HEAD")
        headers = Headers(scope=scope)
        grant = await self._entrance.reader(scope, headers, surface=name)
        find, caller = self._entrance.finder(scope, headers), Caller(request=HTTPConnection(scope))

        def call() -> C:
            now = find()
            if now is None or not may_look(now, name):
                raise Forbidden("this token is not in force any more")
            return self.config.call_for(now, caller)

        tell = self._served[name].surface.tell
        if tell is None:
            raise self._nowhere(scope["path"])
        with self._lasting(True):
            await self._audience.serve(
                tell, call, lambda: self._entrance.wait(grant), scope, receive, send
            )

    async def _serve(
        self, served: _Served[C], scope: Scope, receive: Receive, send: Send, visit: RequestRecord
    ) -> None:
        headers = Headers(scope=scope)
        async with self._turns.turn(headers.get("authorization", "")) as leave:
            # Before the body: nobody unknown makes the server read ten megabytes.
            grant = await self._entrance.enter(scope, headers)
            self._entrance.check_surface(grant, self._named(scope["path"]))
            self._entrance.take(grant)
            body = await guards.read_body(headers, receive)
            message = guards.read_message(body)
            guards.check_session(headers)
            guards.check_envelope(message)
            visit.rpc, visit.tool = present_of(served.surface, message)
            guards.check_agreement(headers, message, HANDSHAKE_PROTOCOL_VERSIONS)
            self._entrance.check_scopes(grant, served.surface, message)
            if grant.tools and message.get("method") == "subscriptions/listen":
                raise refuse(403, "forbidden", "this token is for certain tools only")
            key = self._lists.key(served.surface.name, grant, headers, message)
            cached = self._lists.find(key, message["id"]) if key else None
            if cached:
                await cached(scope, receive, send)
                return
            visit.number, visit.lost_error = message.get("id"), served.surface.lost_error(message)
            streams = visit.streams = guards.asks_progress(message)
            if streams or takes_long(served.surface, message):
                leave()
            scope[WHY] = refusal_of(grant, message) or await self._spend(grant, visit)
            chosen = served.stream if streams else served.plain
            keep = partial(self._lists.keep, key) if key and not streams else None
            hearing = ResponseObserver(send, visit, streams=streams, keep=keep)
            with self._lasting(visit.rpc == "subscriptions/listen"), _calling(grant):
                await chosen.handle_request(scope, guards.replayed(body, receive), hearing)

    @contextmanager
    def _lasting(self, lasts: bool) -> Generator[None]:
        """Know an answer that has no end, so that nobody waits for it."""
        task = asyncio.current_task()
        if not lasts or task is None:
            yield
            return
        self._endless.add(task)
        try:
            yield
        finally:
            self._endless.discard(task)

    def end(self) -> None:
        """Refuse what comes from now on; what is being answered is answered."""
        self._is_ending = True

    def cut(self) -> None:
        """Cut off the answers that have no end; a reader comes back with the last id it has."""
        for task in self._endless:
            task.cancel()

    def _find(self, path: str) -> _Served[C] | None:
        return self._served.get(self._named(path)) if path.startswith("/mcp") else None

    def _named(self, path: str) -> str:
        """Return the name of the surface of a path: the first one without a name."""
        return self.config.surfaces[0] if path in {"/mcp", "/mcp/"} else path.removeprefix("/mcp/")

    def _telling(self, path: str) -> str | None:
        """Return the surface whose events are at a path, if there is one that tells any."""
        name = path.removeprefix("/events/")
        served = None if name == path else self._served.get(name)
        return None if served is None or served.surface.tell is None else name

    def _nowhere(self, path: str) -> Refused:
        if path.startswith("/events/"):
            followed = [
                name for name, served in self._served.items() if served.surface.tell is not None
            ]
            listing = ", ".join(f"/events/{name}" for name in followed)
            return refuse(
                404,
                "unknown_surface",
                "no dialect here tells events",
                f"There are: {listing}." if listing else "Every entry is sent at /events.",
            )
        if path.startswith("/mcp"):
            listing = ", ".join(f"/mcp/{name}" for name in self.config.surfaces)
            return refuse(
                404, "unknown_surface", "there is no such dialect", f"There are: {listing}."
            )
        return refuse(404, "not_found", "there is nothing here", "MCP is served at /mcp.")

    async def _healthz(self, scope: Scope, headers: Headers) -> Response:
        del scope, headers
        return _json({"alive": True})

    async def _readyz(self, scope: Scope, headers: Headers) -> Response:
        del scope, headers
        troubles = await self.workers.run(self.config.troubles)
        return _json({"ready": not troubles, "troubles": troubles}, 503 if troubles else 200)

    def _own(self, page: OwnPage) -> Page:
        async def answered(scope: Scope, headers: Headers) -> Response:
            async with self._turns.turn(headers.get("authorization", "")):
                return await page(await self._entrance.reader(scope, headers), scope)

        return answered

    async def _metrics(self, scope: Scope, headers: Headers) -> Response:
        await self._entrance.reader(scope, headers)
        gauges = dict(await self.workers.run(self.config.gauges))
        gauges["counterpoint_open_requests"] = ("Requests that are being answered.", self._open)
        gauges["counterpoint_event_readers"] = (
            "Readers of the events of dialects.",
            self._audience.size,
        )
        return Response(self.metrics.render(gauges), headers={"content-type": MEDIA_TYPE})

    async def _metadata(self, scope: Scope, headers: Headers) -> Response:
        del scope, headers
        issuer = self.config.issuer
        return _json(issuer.metadata() if issuer else {})


_BEGINS = frozenset({"http.response.start", "websocket.http.response.start", "websocket.accept"})
"""The messages that carry the head of an answer; to accept a WebSocket is the status 101."""

_SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
"""What stands on every answer: it is never guessed at and never kept by something in between."""


@contextmanager
def _calling(grant: Grant) -> Generator[None]:
    """Have the calls of a request counted as those of its token; without one, as those of all who have none."""
    before = CALLER.set(grant.id or "without a token")
    try:
        yield
    finally:
        CALLER.reset(before)


def _later(seconds: int) -> list[tuple[bytes, bytes]]:
    """Return the header that says when to come again, if there is a time to say (RFC 9110, 10.2.3)."""
    return [(b"retry-after", str(seconds).encode())] if seconds else []


def _session(visit: RequestRecord) -> list[tuple[bytes, bytes]]:
    """Return the header with a session of its own for a client that shakes hands: only it can know that."""
    # What is not a success may be shown to somebody else, and begins nothing.
    if visit.rpc != "initialize" or visit.status != HTTPStatus.OK:
        return []
    return [(guards.SESSION_HEADER.encode(), token_hex().encode())]


def _json(value: Mapping[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")

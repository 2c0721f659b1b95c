"""What a request over HTTP must pass before the protocol sees it.

A request goes on if and only if (1) its Host is one of this server's names with its port, and its Origin, if
it has one, such a page with its scheme (403); (2) its path is one there is (404, 405); (3) its
bearer is known (401); (4) the token is good for the surface (403) and has a call left (429); (5) its
body is whole, not too large, and one JSON object (400, 408, 413); (6) header and body agree (400);
(7) the token has every scope the message needs (403). A token in the query string is never looked at.

What a token narrows inside is held there: lists show what its bearer may use, and what its list of tools
leaves out is refused in the surface's own words.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import mcp_types as wire
import orjson
from mcp.server.lowlevel import Server
from mcp_types import HEADER_MISMATCH, INVALID_REQUEST, PARSE_ERROR
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from counterpoint.kernel.errors import CounterpointError, Forbidden
from counterpoint.protocol.http.grants import Grant, looks_beside_tools
from counterpoint.protocol.limits import TOO_WIDE, is_wide
from counterpoint.protocol.surface import Surface

LARGEST_BODY = 10 * 1024 * 1024
PATIENCE = 30.0
"""Seconds in which the whole of a body must arrive."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

_VERSION = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_WORD = "bearer."
GRANT = "counterpoint.grant"
"""Where the grant of a request lies in its ASGI scope."""

_LISTS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
SESSION_HEADER = "mcp-session-id"
"""What a client sends back with each call that the server made for it at its handshake."""
_SESSION = re.compile("[0-9a-f]{64}")
_ONCE = (
    "authorization",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "counterpoint-session",
    SESSION_HEADER,
)


class Refused(Exception):
    """A request that is refused at the entrance; not one of the product's own errors."""

    def __init__(self, response: Response, outcome: str) -> None:
        """Keep the answer, and one word for the log."""
        self.response = response
        self.outcome = outcome
        super().__init__(outcome)


def refuse(status: int, code: str, message: str, hint: str = "", **headers: str) -> Refused:
    """Return a refusal as JSON; `www_authenticate` and the like become headers."""
    fields = {name.replace("_", "-"): text for name, text in headers.items()}
    body = {"error": code, "message": message} | ({"hint": hint} if hint else {})
    return Refused(
        Response(orjson.dumps(body), status, fields, media_type="application/json"), outcome=code
    )


def mistaken(code: int, message: str, number: object = None) -> Refused:
    """Return a refusal as the JSON-RPC error that the protocol names for it."""
    request_id = number if isinstance(number, str | int) and not isinstance(number, bool) else None
    body = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
    response = Response(orjson.dumps(body), 400, media_type="application/json")
    return Refused(response, outcome="malformed")


def ending() -> Refused:
    """Return the refusal of a server that is about to end: nothing of the request was done."""
    return refuse(
        503,
        "server_ending",
        "this server is about to end; nothing was done",
        "Repeat the request in a moment.",
        retry_after="2",
        connection="close",
    )


def cut_off(number: str | int | None, error: Mapping[str, Any]) -> Refused:
    """Return the answer to a request that the end of the server overtakes, as a JSON-RPC error."""
    body = lost_answer(number, error)
    headers = {"retry-after": "2", "connection": "close"}
    response = Response(body, 503, headers, media_type="application/json")
    return Refused(response, outcome="server_gone")


def lost_answer(number: str | int | None, error: Mapping[str, Any]) -> bytes:
    """Return the JSON-RPC message that tells that a request was lost."""
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "error": error})


def wrong_method(allowed: str) -> Refused:
    """Return the refusal of a method that a path does not take."""
    return refuse(405, "method_not_allowed", f"only {allowed} is taken here", allow=allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """The names under which this server may be spoken to, whole: as a browser writes them.

    own: names of this machine, each with the ports that are listened on. allowed: further names, of a proxy
    before it perhaps: one that has a port goes with that alone, one without goes with those that are
    listened on too. Own names have pages over `http` alone.
    """

    own: tuple[str, ...]
    ports: tuple[int, ...]
    allowed: tuple[str, ...] = ()
    hosts: frozenset[str] = field(init=False, repr=False, compare=False)
    origins: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Write all forms down once, so that a request is looked up and never taken apart."""
        own = {_host(name, port) for name in self.own for port in self.ports}
        allowed = [_split(name.lower()) for name in self.allowed]
        plain = own | {
            _host(name, own_port)
            for name, port in allowed
            for own_port in ((port and (port,)) or self.ports)
        }
        safe = {_host(name, port or _HTTPS) for name, port in allowed}
        plain |= {name for name, port in allowed if not port}
        origins = {f"http://{_without(host, _HTTP)}" for host in plain}
        origins |= {f"https://{_without(host, _HTTPS)}" for host in safe}
        hosts = plain | safe
        hosts |= {_without(_without(host, _HTTP), _HTTPS) for host in hosts}
        object.__setattr__(self, "hosts", frozenset(hosts))
        object.__setattr__(self, "origins", frozenset(origins))

    def check(self, headers: Headers, *, is_entrance: bool = False) -> None:
        """Refuse a request that a page of another site made, or that came by another name; is_entrance: a file may have made it."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            raise refuse(
                403,
                "forbidden_host",
                "this server does not go by that name",
                "Use the address it was started with, or start it with `--allow-host NAME`.",
            )
        # DNS rebinding: a page of a stranger can reach 127.0.0.1 under a name of its own; and
        # behind another port of this machine there may be anybody.
        origins = self.origins | {"null"} if is_entrance else self.origins
        if any(origin.lower() not in origins for origin in headers.getlist("origin")):
            raise refuse(403, "forbidden_origin", "pages of another site may not call this")


_HTTP: Final = 80
_HTTPS: Final = 443


def _split(name: str) -> tuple[str, int]:
    """Return a name and its port; 0 without one."""
    host, _, port = name.rpartition(":")
    # Of an address of IPv6 the end is no port, unless the address stands in brackets.
    is_port = port.isdecimal() and (":" not in host or host.endswith("]"))
    if is_port:
        return host, int(port)
    return (f"[{name}]" if ":" in name and not name.startswith("[") else name), 0


def _host(name: str, port: int) -> str:
    return f"{name.lower()}:{port}"


def _without(host: str, port: int) -> str:
    """Return a host without this port, as browsers leave out that of the scheme."""
    return host.removesuffix(f":{port}")


def check_once(headers: Headers) -> None:
    """Refuse a request that gives a header twice where two could disagree."""
    twice = [name for name in _ONCE if len(headers.getlist(name)) > 1]
    if twice:
        raise mistaken(HEADER_MISMATCH, f"the header {twice[0]} appears more than once")


def bearer(headers: Headers) -> str:
    """Return the token of a request; empty if it brings none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def shows_token(scope: Scope, headers: Headers) -> bool:
    """Whether a request claims to bring a token, valid or not."""
    return "authorization" in headers or bool(_words(scope))


def token_of(scope: Scope, headers: Headers) -> str:
    """Return the token of a request; refused if it stands in two places."""
    words = _words(scope)
    if len(words) + ("authorization" in headers) > 1:
        raise refuse(400, "invalid_request", "the token appears more than once")
    return words[0].removeprefix(_WORD) if words else bearer(headers)


def _words(scope: Scope) -> list[str]:
    """Return the names of sub-protocols in which a WebSocket brings its token."""
    return [word for word in scope.get("subprotocols", ()) if word.startswith(_WORD)]


def check_session(headers: Headers) -> None:
    """Refuse a session that this server cannot have made; the client then shakes hands anew."""
    session = headers.get(SESSION_HEADER)
    if session is not None and _SESSION.fullmatch(session) is None:
        raise refuse(
            404, "unknown_session", "this server made no such session", "Initialize again."
        )


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """Return a request's whole body, refused when it is too large, too wide or too slow."""
    declared = headers.get("content-length", "")
    # Refused before any of it is read.
    if declared.isdecimal() and int(declared) > LARGEST_BODY:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise refuse(400, "incomplete", "the request ended before its body did")
                parts.append(message.get("body", b""))
                # Counted as it comes: what a caller declares need not be true.
                size += len(parts[-1])
                if size > LARGEST_BODY:
                    raise _too_large()
                if not message.get("more_body", False):
                    return _checked(b"".join(parts))
    except TimeoutError:
        raise refuse(
            408, "too_slow", "the body of the request did not arrive in time", connection="close"
        ) from None


def _checked(body: bytes) -> bytes:
    """Return a body that is not too wide to be parsed."""
    if is_wide(body):
        raise refuse(413, "too_wide", f"the body holds {TOO_WIDE}", "Send it in several calls.")
    return body


def _too_large() -> Refused:
    return refuse(
        413,
        "too_large",
        f"the body is larger than {LARGEST_BODY} bytes",
        "Put large texts into a file of the repository and name its path.",
        connection="close",
    )


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body that was read already, then what still comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        # What still comes is the news that the client is gone, which a stream waits for.
        return waiting.pop() if waiting else await receive()

    return again


def read_message(body: bytes) -> dict[str, Any]:
    """Return the JSON-RPC message of a body: one object."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise mistaken(PARSE_ERROR, "the body is not JSON") from None
    if not isinstance(message, dict):
        raise mistaken(INVALID_REQUEST, "the body is not one JSON-RPC message")
    return cast("dict[str, Any]", message)


def check_envelope(message: Mapping[str, Any]) -> None:
    """Refuse what is no request and no notification (JSON-RPC 2.0, section 4).

    A strange id would make the library take a request for a notification, and never answer it.
    """
    number = message.get("id", 0)
    is_number = isinstance(number, str | int) and not isinstance(number, bool)
    sound = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    if not (sound and is_number and isinstance(message.get("params", {}), dict)):
        raise mistaken(INVALID_REQUEST, "the body is not one JSON-RPC message", message.get("id"))


def params_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a message; none if they are no object."""
    params = message.get("params")
    return cast("dict[str, Any]", params) if isinstance(params, dict) else {}


def asks_progress(message: Mapping[str, Any]) -> bool:
    """Whether the answer must be a stream: the caller wants progress, or to be told of changes."""
    meta = params_of(message).get("_meta")
    wants = isinstance(meta, dict) and "progressToken" in meta
    return wants or message.get("method") == "subscriptions/listen"


def check_agreement(headers: Headers, message: Mapping[str, Any], older: Iterable[str]) -> None:
    """Refuse a message whose headers say something else than its body.

    The library checks this for versions from 2026-07-28; here stand the gaps: a body of that era
    without the header, and headers of that era on a message of an older one.
    """
    version = headers.get("mcp-protocol-version")
    if version is not None and version not in older:
        return
    number, params = message.get("id"), params_of(message)
    meta = params.get("_meta")
    body_version = cast("dict[str, Any]", meta).get(_VERSION) if isinstance(meta, dict) else None
    if body_version is not None and body_version != version:
        raise mistaken(
            HEADER_MISMATCH, "Mcp-Protocol-Version and the body name different versions", number
        )
    method = headers.get("mcp-method")
    if method is not None and method != message.get("method"):
        raise mistaken(HEADER_MISMATCH, "Mcp-Method and the body disagree", number)
    name = headers.get("mcp-name")
    key = _NAMED_BY.get(str(message.get("method")), "name")
    if name is not None and not name.startswith("=?") and name != params.get(key):
        raise mistaken(HEADER_MISMATCH, "Mcp-Name and the body disagree", number)


def refusal_of(grant: Grant, message: Mapping[str, Any]) -> CounterpointError | None:
    """Return what a surface shall refuse in its own words: what the grant's list of tools leaves out."""
    if not grant.tools:
        return None
    name = params_of(message).get("name")
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
        tools = [(tool, grant.shown(tool)) for tool in surface.tools]
        whole_entries = {entry["name"]: entry for entry in answer["tools"]}
        entries = [
            whole_entries[tool.name] if visible is tool else visible.listed()
            for tool, visible in tools
            if visible is not None
        ]
        return {**answer, "tools": entries}

    return listed

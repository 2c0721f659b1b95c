"""A door for HTTP that really listens, in a thread, and ways to knock at it."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from httpx2 import AsyncClient
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.responses import Response

from counterpoint.protocol.http.app import HttpApp, ServerConfig
from counterpoint.protocol.http.grants import Grant
from counterpoint.protocol.http.guards import LOOPBACK, Hosts
from counterpoint.protocol.http.serving import Listener, listen

PATIENCE = 20.0
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
ALL = Grant(id="tok_all", name="ci", session="ses_1")
TOKENS = {
    "all": ALL,
    "reader": Grant(id="tok_reader", name="eye", session="ses_2", scopes=("read",)),
    "nothing": Grant(id="tok_nothing", name="nil", session="ses_3", scopes=()),
    "echo": Grant(id="tok_echo", name="echo", session="ses_4", tools=("echo", "pause")),
    "elsewhere": Grant(id="tok_elsewhere", name="far", session="ses_5", surfaces=("other",)),
    "curbed": Grant(
        id="tok_curbed", name="curbed", session="ses_7", calls_a_month=3, tool_limits={"echo": 2}
    ),
    "slow": Grant(id="tok_slow", name="slow", session="ses_6", calls_a_minute=2),
}


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Share:
    """Calls that were drawn from a month."""

    granted: int
    used: int
    month: str = "2026-11"
    resets_at: str = "2026-12-01T00:00:00.000Z"
    resets_in: int = 3600


@dataclass
class Months:
    """Where the calls of months are kept, in memory: handfuls of two."""

    calls_a_month: int = 0
    used: dict[str, int] = field(default_factory=dict)
    drawings: int = 0

    def draw(self, subject: str, most: int) -> Share:
        """Answer two calls, or as many as are left."""
        self.drawings += 1
        used = self.used.get(subject, 0)
        granted = max(0, min(2, most - used))
        self.used[subject] = used + granted
        return Share(granted=granted, used=used + granted)

    def give_back(self, subject: str, month: str, calls: int) -> None:
        """Take calls back."""
        assert month == "2026-11"
        self.used[subject] -= calls


@dataclass
class Live:
    """A door that really listens, in a thread of its own."""

    port: int = 0
    lines: list[Any] = field(default_factory=list)
    calls: list[tuple[Grant, Any]] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    anyone: Grant | None = None
    troubles: Callable[[], list[str]] = list
    quotas: Months = field(default_factory=Months)
    heard: threading.Event = field(default_factory=threading.Event)
    gate: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    _present: threading.Condition = field(default_factory=threading.Condition)
    stop: Callable[[], None] = lambda: None
    connections: Callable[[], int] = lambda: 0
    listener: Any = None
    door: Any = None

    @property
    def url(self) -> str:
        """Where MCP is served."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def ready(self) -> list[str]:
        """Answer what keeps the server from being ready."""
        return self.troubles()

    def log(self, line: Any) -> None:
        """Hear one line of the log."""
        with self._present:
            self.lines.append(line)
            self._present.notify_all()

    def logged(self, count: int) -> list[Any]:
        """Answer the log when it has so many lines: each is written after its answer left."""
        with self._present:
            assert self._present.wait_for(lambda: len(self.lines) >= count, PATIENCE)
            return list(self.lines)

    def find(self, token: str, address: str) -> Grant | None:
        """Answer the grant of a word that is no real token."""
        assert address == "127.0.0.1"
        self.secrets.append(token)
        return TOKENS.get(token)

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """Send a request as it is."""
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        try:
            wire.request(method, path, body or None, named)
            got = wire.getresponse()
            told = {name.lower(): text for name, text in got.getheaders()}
            return Answer(got.status, told, got.read())
        finally:
            wire.close()

    def ask(self, message: Any, *, path: str = "/mcp", by: str = "all", **headers: str) -> Answer:
        """Send a message."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        plain = {
            "content_type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        bearer = {"authorization": f"Bearer {by}"} if by else {}
        return self.send("POST", path, body, **{**plain, **bearer, **headers})

    def call(self, tool: str, *, by: str = "all", modern: bool = False, **arguments: Any) -> Answer:
        """Call a tool."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if modern:
            params["_meta"] = META
            more = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": tool}
        else:
            more = {}
        return self.ask(rpc("tools/call", **params), by=by, **more)


def rpc(method: str, number: Any = 1, **params: Any) -> dict[str, Any]:
    """Answer a request as JSON-RPC has it."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@contextmanager
def running(small, issuer=None, tell=None, **pages):
    """Serve the small surface during the block; the first of its two may tell events.

    It goes by the port 80 too: requests that tests write themselves name none.
    """
    live = Live()
    live.gate.set()
    sockets = listen("127.0.0.1", 0)
    live.port = sockets[0].getsockname()[1]

    def call_for(grant, caller):
        live.calls.append((grant, caller))
        live.heard.set()
        assert live.gate.wait(PATIENCE)
        return small.Call(caller=caller)

    async def about(grant, _scope):
        return Response(f"about {grant.name}")

    door = HttpApp(config=ServerConfig(
        surfaces=("small", "other"), build=lambda name: small.build(tell=tell if name == "small" else None), call_for=call_for,
        find=live.find, anyone=lambda: live.anyone, troubles=live.ready,
        gauges=lambda: {"counterpoint_ledger_entries": ("Entries.", 7)}, log=live.log,
        hosts=Hosts(own=LOOPBACK, ports=(live.port, 80)), quotas=live.quotas, issuer=issuer, pages={"/about": about, **{f"/{name}": page for name, page in pages.items()}},
    ))  # fmt: skip
    ready = threading.Event()

    async def serve():
        told = asyncio.Event()
        loop = asyncio.get_running_loop()
        live.stop = lambda: loop.call_soon_threadsafe(told.set)
        async with door.opened():
            listener = Listener(door, sockets)
            live.listener = listener
            live.door = door
            live.connections = lambda: listener.connections
            ready.set()
            await listener.serve(told)
            await door.close()
        live.ended.set()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        yield live
    finally:
        # A loop that has ended needs no telling.
        with suppress(RuntimeError):
            live.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def story(url, tell, *, mode, by="all", **headers):
    """Run a story with the SDK's own client."""

    async def run():
        named = {"Authorization": f"Bearer {by}", **headers}
        async with (
            AsyncClient(headers=named, timeout=PATIENCE) as wire,
            Client(streamable_http_client(url, http_client=wire), mode=mode) as client,
        ):
            return await tell(client)

    return asyncio.run(asyncio.wait_for(run(), PATIENCE))


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    pulse = threading.Event()
    for _ in range(2000):
        if holds():
            return
        pulse.wait(0.01)
    raise AssertionError("it never came to hold")

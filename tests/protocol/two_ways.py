"""One connection to a server of its own, with the short way for plain calls or without it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import Any, Self

from counterpoint.kernel.canonical import Json
from counterpoint.protocol.server import create_server
from counterpoint.protocol.surface import Surface
from counterpoint.protocol.tools import tool
from counterpoint.protocol.wire.direct import Direct
from counterpoint.protocol.wire.inbox import Inbox
from counterpoint.protocol.wire.outbox import Outbox
from counterpoint.protocol.workers import Workers

PATIENCE = 20.0
MODERN = "2026-07-28"
ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN)
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "7"},
}

Line = dict[str, Any]


class Counting(Direct[Any]):
    """What answers directly, and how often it did."""

    count = 0

    def take(self, request: object) -> bool:
        """Count what was taken."""
        taken = super().take(request)
        self.count += taken
        return taken


class Gate:
    """A tool that waits until it may go on, and says when it has begun."""

    def __init__(self) -> None:
        """Stay closed."""
        self.begun, self.opened = threading.Semaphore(0), threading.Event()
        self.names: list[str] = []
        gate = self

        @tool(reads=True)
        def wait(call: Any, name: str) -> Json:
            """Wait at the gate."""
            gate.names.append(name)
            gate.begun.release()
            gate.opened.wait(PATIENCE)
            return {"name": name}

        self.tool = wait

    async def entered(self) -> None:
        """Wait until one more call is at the gate."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=PATIENCE)


class Connection:
    """One connection to a server of its own, and the client's end of it."""

    def __init__(self, surface: Surface[Any], call: Any, era: str, *, is_direct: bool) -> None:
        """Prepare a connection in an era, with or without the short way."""
        self.surface, self.call_for, self.era, self.is_direct = surface, call, era, is_direct
        self.limit, self.workers = 0, Workers(4)

    async def __aenter__(self) -> Self:
        """Open it."""
        self.ours, theirs = socket.socketpair()
        self.theirs = theirs
        theirs.setblocking(False)
        self.outbox = Outbox(theirs.fileno(), self.limit)
        self.outbox.lost_error = self.surface.lost_error
        self.direct = Counting(self.surface, self.workers, self.outbox) if self.is_direct else None
        inbox = Inbox(theirs.fileno(), self.outbox, direct=self.direct)
        server = create_server(
            self.surface, self.call_for, workers=self.workers, direct=self.direct
        )
        options = server.create_initialization_options()
        self.serving = asyncio.create_task(server.run(inbox, self.outbox, options))
        self.serving.add_done_callback(lambda _: theirs.shutdown(socket.SHUT_WR))
        self.reader, self.writer = await asyncio.open_connection(sock=self.ours, limit=10_000_000)
        return self

    async def __aexit__(self, *_: object) -> None:
        """End it, whatever is under way."""
        self.serving.cancel()
        await asyncio.wait({self.serving}, timeout=PATIENCE)
        self.outbox.leave()
        self.writer.close()
        self.theirs.close()

    def say(self, *messages: Any) -> None:
        """Send messages; bytes as they are."""
        for one in messages:
            self.writer.write(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n")

    async def line(self) -> bytes:
        """Answer the next line; nothing at the end."""
        return await asyncio.wait_for(self.reader.readline(), PATIENCE)

    async def hear(self) -> Line:
        """Answer the next message."""
        return json.loads(await self.line())

    async def rest(self) -> list[bytes]:
        """Say that there is no more, and answer all lines until the end, sorted."""
        self.writer.write_eof()
        return sorted((await asyncio.wait_for(self.reader.read(), PATIENCE)).splitlines())

    async def begin(self) -> Connection:
        """Shake hands where that is done, and make the first call."""
        if self.era != MODERN:
            self.say(hello(self.era), {"jsonrpc": "2.0", "method": "notifications/initialized"})
            assert (await self.hear())["result"]["protocolVersion"] == self.era
        self.say(self.call("first", "large", size=1))
        assert (await self.hear())["id"] == "first"
        return self

    def call(self, number: Any, name: Any, /, **arguments: Any) -> Line:
        """Answer a plain call."""
        return self.request(number, {"name": name, "arguments": arguments})

    def request(self, number: Any, params: Any) -> Line:
        """Answer a request for a tool, in the envelope of its era."""
        if self.era == MODERN and isinstance(params, dict) and "_meta" not in params:
            params = {**params, "_meta": ENVELOPE}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    @property
    def count(self) -> int:
        """How many requests took the short way."""
        return self.direct.count if self.direct else 0


def hello(era: str, number: int | str = 0) -> Line:
    """Answer the greeting of an older era."""
    who = {"name": "tester", "version": "7"}
    params = {"protocolVersion": era, "capabilities": {}, "clientInfo": who}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


def cancelled(number: Any) -> Line:
    """Answer the notification that nobody waits for a request any more."""
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


def everyday(to: Connection) -> list[Line]:
    """Answer calls that take the short way: right ones, wrong ones and refused ones."""
    plan = {"title": "a", "children": [{"title": "b"}]}
    return [
        to.call(1, "echo", text="plain"),
        to.call("two", "echo", text='ä€😀"\\\n\x00 </script>'),
        to.call(2**53 + 1, "echo", text=""),
        to.call(-4, "start", item="x", plan=plan, names=["p"], lease_minutes=5),
        to.call(5, "start", id="by another name", trace=True),
        to.call(6, "start", item="x", idempotency_key="k"),
        to.call(7, "start", item="x" * 30, lease_minutes=0, kind="none", plan={"title": 1}),
        to.call(8, "start", itm="x", item=1.5),
        to.call(9, "echo"),
        to.call(10, "echo", text="x", deep=[[[]]], more={"a": None, "b": 1e300}),
        to.request(11, {"name": "refuse"}),
        to.call(12, "crash", how="raise"),
        to.call(13, "crash", how="list"),
        to.call(14, "crash", how="bytes"),
        to.call(15, "crash", how="exit"),
        to.call(16, "large", size=200_000),
        to.call(17, "delete", item="cp-1"),
    ]

"""A server for the conformance suite: it says its port in one line and serves until its input ends.

`server.py door` is the product's own door for HTTP, as `counterpoint up` opens it: stateless, and
plain JSON where no progress was asked for. `server.py sessions` has the same server behind the SDK's
transport with sessions and streams, for what the suite asks and the product does not offer.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from beside import Beside
from mcp.server.streamable_http import EventMessage, EventStore
from ours import build

from counterpoint.protocol.http.app import HttpApp, ServerConfig
from counterpoint.protocol.http.grants import Grant
from counterpoint.protocol.http.guards import LOOPBACK, Hosts
from counterpoint.protocol.http.serving import Listener, listen
from counterpoint.protocol.server import create_server

NAME = "conformance"
RETRY_MS = 100


class Events(EventStore):
    """What was sent on each stream, so that a client that lost one can go on."""

    def __init__(self) -> None:
        """Start with nothing sent."""
        self._sent: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        """Keep a message; answer its number."""
        self._sent.append((stream_id, message))
        return str(len(self._sent))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        """Send what came on the same stream after a number; answer the stream."""
        seen = int(last_event_id) if last_event_id.isdecimal() else 0
        if not 0 < seen <= len(self._sent):
            return None
        stream = self._sent[seen - 1][0]
        for number, (on, message) in enumerate(self._sent[seen:], seen + 1):
            if on == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def config(port: int) -> ServerConfig[object]:
    """Answer a house with the one surface, open to everyone on this machine."""
    everyone = Grant(id="everyone", name="everyone", session="")
    return ServerConfig(
        surfaces=(NAME,),
        build=lambda _name: build(),
        call_for=lambda _grant, caller: caller,
        find=lambda _token, _address: None,
        anyone=lambda: everyone,
        troubles=list[str],
        gauges=dict[str, tuple[str, float]],
        log=lambda _line: None,
        hosts=Hosts(own=LOOPBACK, ports=(port,)),
    )


async def serve_door(told: asyncio.Event) -> None:
    """Serve with the product's own transport until told to end."""
    sockets = listen("127.0.0.1", 0)
    door = HttpApp(config=config(sockets[0].getsockname()[1]))
    async with door.opened():
        Beside(door._served[NAME].plain.app).put()
        say_port(sockets[0])
        await Listener(door, sockets).serve(told)


async def serve_sessions(told: asyncio.Event) -> None:
    """Serve with the transport of the SDK until told to end."""
    server = create_server(build(), lambda caller: caller)
    Beside(server).put()
    app = server.streamable_http_app(event_store=Events(), retry_interval=RETRY_MS)
    listening = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(running.serve(sockets=[listening]))
    say_port(listening)
    await told.wait()
    running.should_exit = True
    await serving


def say_port(listening: socket.socket) -> None:
    """Write the port for the test to read."""
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()


async def serve(transport: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Serve until the standard input ends."""
    told = asyncio.Event()
    serving = asyncio.ensure_future(transport(told))
    await asyncio.to_thread(sys.stdin.read)
    told.set()
    await serving


if __name__ == "__main__":
    asyncio.run(serve({"door": serve_door, "sessions": serve_sessions}[sys.argv[1]]))

"""Listening for HTTP: sockets, connections, and an end that loses no answer.

When it is told to end, the server (1) takes no new connection and closes the idle ones, (2) cuts
off streams that have no end, (3) gives what is being answered a short time to be answered, (4)
cancels the rest, which has not been answered and so does not count as done, (5) lets written
answers leave. It installs no signal.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from counterpoint.kernel.errors import Unavailable
from counterpoint.protocol.http.door import Door

GRACE = 0.06
"""Seconds that requests under way get at the end."""
UNWIND = 0.02
"""Seconds that cancelled requests and written answers get after that."""

MOST_CONNECTIONS = 1024
IDLE = 75
"""Seconds after which a connection without a request is closed."""
BACKLOG = 256


def listen(host: str, port: int) -> list[socket.socket]:
    """Answer sockets that listen on every address of a host; Unavailable if one cannot be had."""
    found: list[socket.socket] = []
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, place in dict.fromkeys(places):
            # One free port for all addresses of the host.
            chosen = port or (found[0].getsockname()[1] if found else 0)
            found.append(_bound(family, (place[0], chosen)))
    except OSError as fault:
        for one in found:
            one.close()
        raise Unavailable(
            f"cannot listen on {host} port {port}: {fault.strerror or type(fault).__name__}",
            hint="Choose another address or port; port 0 takes any free one.",
        ) from None
    return found


def _bound(family: int, place: tuple[str | int, int]) -> socket.socket:
    """Answer a socket that listens; one that knows it speaks TCP.

    For asyncio sends small packets at once only over connections that say so, and the two of an
    answer, headers and body, would otherwise lie 40 ms apart.
    """
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(place)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


class _Wire(H11Protocol):
    """A connection that says when it was the last to go."""

    gone: asyncio.Event

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self.connections:
            self.gone.set()


class Listener:
    """An HTTP server of this process, over sockets that listen already."""

    def __init__(self, door: Door[Any], sockets: Sequence[socket.socket]) -> None:
        """Serve nothing yet."""
        self._gone = asyncio.Event()
        self._sockets = list(sockets)
        wire = type("_Wire", (_Wire,), {"gone": self._gone})
        self._door = door
        self._server = uvicorn.Server(
            uvicorn.Config(
                door,
                http=wire,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                # A header that any caller can write must not say where the caller is.
                proxy_headers=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=IDLE,
            )
        )

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._server.server_state.connections)

    async def serve(self, told: asyncio.Event) -> None:
        """Serve until told to end, then end."""
        config = self._server.config
        config.load()
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(sockets=self._sockets)
        try:
            while not told.is_set():
                # A tick of the server renews the time that stands on its answers.
                await self._server.on_tick(0)
                with suppress(TimeoutError):
                    await asyncio.wait_for(told.wait(), 1.0)
        finally:
            with _unsaid():
                await self._end()

    async def _end(self) -> None:
        state = self._server.server_state
        for server in self._server.servers:
            server.close()
        for connection in list(state.connections):
            connection.shutdown()
        self._door.cut()
        if state.tasks:
            _, late = await asyncio.wait(set(state.tasks), timeout=GRACE)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=UNWIND)
        for connection in list(state.connections):
            connection.shutdown()
        if state.connections:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), UNWIND)


@contextmanager
def _unsaid() -> Generator[None]:
    """Keep the library from logging as faults what is cut off on purpose."""
    logger = logging.getLogger("uvicorn.error")

    def nothing(_record: logging.LogRecord) -> bool:
        return False

    logger.addFilter(nothing)
    try:
        yield
    finally:
        logger.removeFilter(nothing)

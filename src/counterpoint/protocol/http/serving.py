"""Listening for HTTP: sockets, connections, and an end that loses no answer.

When it is to end, the server (1) closes idle connections and answers whatever comes from now on, over old connections and
new ones, with 503 and `Retry-After`, (2) cuts off streams that have no end, (3) gives what is being answered `GRACE` seconds, or until it is to
end at once, (4) takes no connection any more and cancels the rest, which has not been answered and so does not count as done, (5) lets written
answers leave. It installs no signal.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from counterpoint.kernel.errors import Unavailable
from counterpoint.protocol.http.app import HttpApp
from counterpoint.protocol.http.quotas import HEAD, Places
from counterpoint.protocol.http.subscriptions import LARGEST_MESSAGE

GRACE = 10.0
"""Seconds that requests under way get at the end."""
UNWIND = 0.02
"""Seconds that cancelled requests and written answers get after that."""

IDLE = 75
"""Seconds after which a connection without a request is closed."""
BACKLOG = 256
UNTAKEN = 60.0
"""Seconds after which a connection is cut whose other end takes nothing of what was sent."""
PING = 15.0
"""Seconds between the pings of a WebSocket, and in which each must be answered."""
LINGER = 2.0
"""Seconds in which a WebSocket that is over must be gone."""
_END = b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5" + _END
_LATE = b"HTTP/1.1 408 Request Timeout" + _END


def listen(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen on every address of a host; Unavailable if one cannot be had."""
    sockets: list[socket.socket] = []
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(places):
            # One free port for all addresses of the host.
            chosen = port or (sockets[0].getsockname()[1] if sockets else 0)
            sockets.append(_bind(family, (address[0], chosen)))
    except OSError as fault:
        for listener in sockets:
            listener.close()
        raise Unavailable(
            f"cannot listen on {host} port {port}: {fault.strerror or type(fault).__name__}",
            hint="Choose another address or port; port 0 takes any free one.",
        ) from None
    return sockets


def _bind(family: int, address: tuple[str | int, int]) -> socket.socket:
    """Return a socket that listens; one that knows it speaks TCP.

    For asyncio sends small packets at once only over connections that say so, and the two of an
    answer, headers and body, would otherwise lie 40 ms apart.
    """
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Else a server could not start again on its port for a minute after it ended.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # The other half of the host's addresses has a socket of its own on the same port.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # Else the system would keep what a reader does not take for as long as it answers.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNTAKEN * 1000))
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


class _Wire(H11Protocol):
    """A connection that has a place, and a time for its head; it says when it was the last to go."""

    gone: asyncio.Event
    places: Places
    address: str = ""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if not self.places.take(self):
            transport.write(_FULL)
            transport.close()
            return
        self._wait_for_head()

    def _receive(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        # Handed on to a WebSocket, it is that one's from here.
        if self.transport.get_protocol() is not self:
            self._stop_waiting()
        elif self.conn.their_state is h11.IDLE:
            self._wait_for_head()
        else:
            self._stop_waiting()
            self.places.work(self)

    data_received = _receive  # the library's own name for what it calls

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE:
            self.places.wait(self)
            # A half of the next one may have come with this one.
            if self.conn.trailing_data[0]:
                self._wait_for_head()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        super().handle_websocket_upgrade(event)
        talk = self.transport.get_protocol()
        if isinstance(talk, _Socket):
            self.places.work(self)
            # The place goes back with the conversation.
            talk.leave = partial(self.places.leave, self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.places.leave(self)
        super().connection_lost(exc)
        if not self.connections:
            self.gone.set()

    def give_way(self) -> None:
        """Make room for a connection that may have something to say."""
        self.transport.abort()

    def _wait_for_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD, self._is_too_late)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _is_too_late(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_LATE)
            self.transport.close()


class _Socket(WebSocketsSansIOProtocol):
    """A WebSocket that says when it was the last to go, and is not kept by a client."""

    gone: asyncio.Event
    leave: Callable[[], None] | None = None
    """Gives the place of the connection back."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.leave is not None:
            self.leave()
        if not self.connections:
            self.gone.set()

    def handle_connect(self, event: Request) -> None:
        """Hear nothing more until the client is let in: it may not speak before that."""
        super().handle_connect(event)
        self.transport.pause_reading()

    async def send(self, message: Any) -> None:
        if self.handshake_complete and self.transport.is_closing():
            # Known here at once; the library hears of it only when nothing more is to be sent.
            raise ClientDisconnected
        await super().send(message)
        if message["type"] == "websocket.accept" and not self.read_paused:
            self.transport.resume_reading()
        elif message["type"] == "websocket.http.response.body":
            # A refusal ends a handshake too; the library would log it as none.
            self.handshake_complete = True

    def pause_writing(self) -> None:
        """Hear nothing from a client that takes nothing: the answers to its pings would pile up."""
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.read_paused:
            self.transport.resume_reading()

    async def run_asgi(self) -> None:
        """Talk; then let go of a client that does not take what is left, or never says goodbye."""
        try:
            await super().run_asgi()
        finally:
            self.loop.call_later(LINGER, self.transport.abort)


class Listener:
    """An HTTP server of this process, over sockets that listen already."""

    def __init__(self, app: HttpApp[Any], sockets: Sequence[socket.socket]) -> None:
        """Serve nothing yet."""
        # The same one each time: what is cut off late is no fault either, and a filter is added once.
        logging.getLogger("uvicorn.error").addFilter(_was_not_cut_off)
        self._gone = asyncio.Event()
        self._sockets = list(sockets)
        wire = type("_Wire", (_Wire,), {"gone": self._gone, "places": Places()})
        talk = type("_Socket", (_Socket,), {"gone": self._gone})
        self._app = app
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=wire,
                ws=talk,
                ws_max_size=LARGEST_MESSAGE,
                ws_ping_interval=PING,
                ws_ping_timeout=PING,
                # Messages are short, and a compressor for each client is not.
                ws_per_message_deflate=False,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                # A header that any caller can write must not say where the caller is.
                proxy_headers=False,
                timeout_keep_alive=IDLE,
            )
        )

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._server.server_state.connections)

    async def serve(self, stopping: asyncio.Event, at_once: asyncio.Event | None = None) -> None:
        """Serve until it is to end, then end. at_once: set when nobody waits any more for what is being answered."""
        config = self._server.config
        config.load()
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(sockets=self._sockets)
        try:
            while not stopping.is_set():
                # A tick of the server renews the time that stands on its answers.
                await self._server.on_tick(0)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), 1.0)
        finally:
            with _unsaid():
                await self._end(at_once or asyncio.Event())

    async def _answered(self, at_once: asyncio.Event) -> None:
        """Wait until all that came before the end has been answered, but not for longer than is left for it."""
        tasks = set(self._server.server_state.tasks)
        hurry = asyncio.create_task(at_once.wait())
        until = asyncio.get_running_loop().time() + GRACE
        while tasks and not hurry.done():
            seconds_left = until - asyncio.get_running_loop().time()
            if seconds_left <= 0:
                break
            done, _ = await asyncio.wait(
                {*tasks, hurry}, timeout=seconds_left, return_when=asyncio.FIRST_COMPLETED
            )
            tasks -= done
        hurry.cancel()

    async def _end(self, at_once: asyncio.Event) -> None:
        state = self._server.server_state
        self._app.end()
        for connection in list(state.connections):
            connection.shutdown()
        self._app.cut()
        await self._answered(at_once)
        for server in self._server.servers:
            server.close()
        for connection in list(state.connections):
            connection.shutdown()
        if state.tasks:
            late = set(state.tasks)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=UNWIND)
        for connection in list(state.connections):
            connection.shutdown()
        if state.connections:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), UNWIND)
        for connection in list(state.connections):
            # What has not been taken by now is taken by nobody.
            connection.transport.abort()


def _was_not_cut_off(record: logging.LogRecord) -> bool:
    """Whether a record tells of anything but an answer that was cancelled on purpose."""
    return not record.exc_info or record.exc_info[0] is not asyncio.CancelledError


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

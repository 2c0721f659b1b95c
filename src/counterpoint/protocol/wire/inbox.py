"""The side of a pipe that is read: one JSON-RPC message a line.

A line is a message if and only if (1) it is at most `LINE_LIMIT` bytes, not too wide (`limits.py`), and ends with a line feed,
(2) it is strict JSON, (3) the JSON is a JSON-RPC 2.0 object. A line that fails (1) or (2) is answered
with -32700, one that fails (3) with -32600, and with its `id` if a usable one can be made out, else
null; the connection stays up. Empty lines mean nothing.

Reading ends at the end of the input, or when the other side no longer reads. Requests that came
before the end of the input are still answered, for at most `GRACE` seconds.

The SDK need not be there to read: what is answered directly waits for nobody. A relay's handshake, of
which no client hears the answer, is held back until there is something else for the SDK.

Nobody's lines keep the loop from others: a turn takes `TURN` of them, or as many as have `_CHUNK` bytes. While `MOST_OPEN`
requests of a connection are not answered nothing more is read of it, so that what its client sends beyond
that waits with the client, and not here; a cancellation waits there too. The same holds while its client does not read
what was answered. Requests that take long are counted apart (`Outbox.set_apart`), so that
no quick one waits behind a model's answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
import os
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

import orjson

from counterpoint.kernel.lost_calls import unbegun_call_error
from counterpoint.protocol.limits import TOO_WIDE, is_wide, name_of
from counterpoint.protocol.wire.direct import Direct
from counterpoint.protocol.wire.first import GREETING
from counterpoint.protocol.wire.outbox import Outbox, RequestId, Side

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage

LINE_LIMIT = 10_000_000
GRACE = 2.0
MOST_OPEN = 64
"""How many requests of one connection may wait for their answers, beside those that take long."""
TURN = 16
"""How many lines are taken before others have the loop."""

_CHUNK = 65536
_TOO_LONG = b"\xff"
_NEVER_ANSWERED = "subscriptions/listen"
_CANCELLED = "notifications/cancelled"
_BEGIN = "initialize"
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600
_MOST = 2**53
"""The highest number that every reader of JSON keeps as it is."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a line says nothing; the name of the request if that can be made out."""

    words: str
    name: RequestId | None


class Inbox(Side):
    """The read side: the SDK's stream protocol over a descriptor."""

    def __init__(
        self, fd: int, outbox: Outbox, begun: bytes = b"", direct: Direct[Any] | None = None
    ) -> None:
        """Read from a non-blocking descriptor; the caller keeps it open.

        begun: what was read from it already; direct: who gets the requests before the SDK does.
        """
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._outbox = outbox
        self._direct = direct
        self._ready = asyncio.Event()
        outbox.on_gone = self._ready.set
        self._received: deque[object] = deque()
        self._held: list[object] = []
        self._parts: list[bytes] = []
        self._size = 0
        self._lines: deque[bytes] = deque()
        self._is_over = self._is_at_end = False
        self._is_waiting = False
        self._context = contextvars.copy_context()
        outbox.on_settled = self._go_on
        if begun:
            self._take(begun)

    async def aclose(self) -> None:
        """End what is answered directly; leave the descriptor open."""
        if self._direct is not None:
            self._direct.close()

    def end(self) -> None:
        """Read nothing more; what was read whole is still answered."""
        while self._lines:
            self._receive_line(self._lines.popleft())
        self._is_over = True
        self._ready.set()

    def refuse_rest(self) -> None:
        """Say of each request that has come and was not begun that nothing was done: the server ends."""
        size = 0
        # What cannot be read now has not come.
        with contextlib.suppress(OSError):
            while size < LINE_LIMIT and (chunk := os.read(self._fd, _CHUNK)):
                size += len(chunk)
                self._take(chunk)
        error = unbegun_call_error("Start this server again and repeat it.")
        for value in (*self._received, *map(_said, self._lines)):
            number = _named(value)
            if number is not None and "method" in cast("dict[str, Any]", value):
                message = {"jsonrpc": "2.0", "id": number, "error": error}
                self._outbox.post(orjson.dumps(message) + b"\n")

    async def wants_sdk(self) -> bool:
        """Wait until something has come that is the SDK's; answer no at the end of the input."""
        try:
            while not (self._received or self._is_over):
                await self._more()
            if not self._received:
                await self._let_answers_go()
        finally:
            if not self._received:
                await self.aclose()
        return bool(self._received)

    async def receive(self) -> SessionMessage:
        """Return the next message; EndOfStream when there is none."""
        from anyio import EndOfStream
        from mcp.shared.message import SessionMessage

        # The handshake that was held back comes before what woke the SDK.
        self._received.extendleft(reversed(self._held))
        self._held.clear()
        while True:
            while self._received:
                message = await self._message(self._received.popleft())
                if message is not None:
                    return SessionMessage(message)
            if self._is_over:
                await self._let_answers_go()
                raise EndOfStream
            await self._more()

    def __aiter__(self) -> Self:
        """Return this side."""
        return self

    async def __anext__(self) -> SessionMessage:
        """Return the next message."""
        from anyio import EndOfStream

        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def _more(self) -> None:
        """Wait until there is something for the SDK, or nobody to answer."""
        self._ready.clear()
        # What can always be read, such as a file, cannot be waited for.
        while self._read():
            if self._received or self._is_over:
                return
            # Input that never ends must not keep everybody else from the loop.
            await asyncio.sleep(0)
        self._is_waiting = True
        # Whose calls these are is known here, and not to what tells that there is room again.
        self._context = contextvars.copy_context()
        self._go_on()
        try:
            await self._ready.wait()
        finally:
            self._is_waiting = False
            self._loop.remove_reader(self._fd)
        self._is_over = self._is_over or self._outbox.is_gone

    @property
    def _is_full(self) -> bool:
        # To who is gone nothing is owed: the end is to be seen at once.
        if self._is_over or self._outbox.is_gone:
            return False
        waiting = len(self._outbox.open) - len(self._outbox.apart)
        return waiting + len(self._received) >= MOST_OPEN or self._outbox.is_crowded

    def _go_on(self) -> None:
        """Read again, if somebody waits for it and there is room: what was kept first."""
        if not self._is_waiting or self._is_full:
            return
        self._context.run(self._loop.add_reader, self._fd, self._read)
        if self._lines:
            self._loop.call_soon(self._read_on, context=self._context)

    def _read_on(self) -> None:
        """Take a further turn of what is kept, unless a turn between has taken it."""
        if self._is_waiting and self._lines:
            self._read()

    def _read(self) -> bool:
        """Take a turn of what there is to read, and nothing for the end; answer whether there was any."""
        if self._is_full:
            self._loop.remove_reader(self._fd)
            return False
        try:
            is_over = self._is_over or self._outbox.is_gone
            if self._outbox.is_gone:
                self._lines.clear()
            if is_over or not self._lines:
                self._take(b"" if is_over else os.read(self._fd, _CHUNK))
        except BlockingIOError:
            return False
        except OSError:
            self._take(b"")
        self._take_turn()
        if self._received or self._is_over:
            self._ready.set()
        elif self._lines and self._is_waiting:
            self._loop.call_soon(self._read_on, context=self._context)
        return True

    def _take_turn(self) -> None:
        size = 0
        for _ in range(TURN):
            if not self._lines or self._is_full or size > _CHUNK:
                break
            size += len(self._lines[0])
            self._receive_line(self._lines.popleft())
        self._is_over = self._is_over or (self._is_at_end and not self._lines)

    def _take(self, chunk: bytes) -> None:
        """Cut a chunk into lines; a line that grows too long keeps only its length."""
        if not chunk:
            self._is_at_end = True
            chunk = b"\n"  # the last line counts without its end too
        first, *others = chunk.split(b"\n")
        self._grow(first)
        for other in others:
            self._lines.append(b"".join(self._parts))
            self._parts, self._size = [], 0
            self._grow(other)

    def _grow(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= LINE_LIMIT:
            self._parts.append(part)
        else:
            # One byte that is no JSON stands for the whole line.
            self._parts = [_TOO_LONG]

    def _receive_line(self, line: bytes) -> None:
        """Return a line directly, or keep what it says."""
        if not line.strip():
            return
        value = _said(line)
        # What came before it and waits has its turn first.
        if self._received:
            self._received.append(value)
        elif self._direct is not None and self._direct.greet(value):
            self._held.append(value)
        elif not self._is_direct(value):
            self._received.append(value)

    def _is_direct(self, value: object) -> bool:
        return self._direct is not None and self._direct.take(value)

    async def _message(self, value: object) -> JSONRPCMessage | None:
        """Return a message for the SDK; None if it is none, and then it was answered."""
        if isinstance(value, _Fault):
            await self._refuse(_PARSE_ERROR, value.words, value.name)
            return None
        # Asked again: while it waited for its turn, the answer before it may have been learned from.
        if self._is_direct(value):
            return None
        from pydantic import ValidationError  # the SDK has loaded it by now, and `down` need not

        try:
            message = _parsed(value)
        except ValidationError:
            await self._refuse(_INVALID_REQUEST, "Invalid request: not JSON-RPC 2.0", _named(value))
            return None
        self._note(message)
        return message

    def _note(self, message: JSONRPCMessage) -> None:
        """Remember which requests wait for an answer."""
        from mcp_types import JSONRPCNotification, JSONRPCRequest

        if isinstance(message, JSONRPCRequest):
            # By the handshake of a relay a client is made known, to a further server too: nobody
            # has begun again.
            if message.method == _BEGIN and message.id != GREETING and self._direct is not None:
                self._direct.restart()
            if message.method != _NEVER_ANSWERED:
                self._outbox.open.add(message.id)
                self._outbox.requests[message.id] = message
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            if self._direct is not None:
                self._direct.cancel(message.params)
            request = (message.params or {}).get("requestId")
            if isinstance(request, str | int):
                self._outbox.settle(request)

    async def _refuse(self, code: int, words: str, name: RequestId | None = None) -> None:
        error = {"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": words}}
        if not await self._outbox.write(orjson.dumps(error) + b"\n"):
            self._is_over = True

    async def _let_answers_go(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                while self._outbox.open and not self._outbox.is_gone:
                    self._outbox.answered.clear()
                    await self._outbox.answered.wait()


def _parsed(value: Any) -> JSONRPCMessage:
    """Return the message of a JSON value; ValidationError if it is none."""
    from mcp_types import JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter

    if isinstance(value, dict) and "method" in value:
        if "id" in value:
            return JSONRPCRequest.model_validate(value, by_name=False)
        return JSONRPCNotification.model_validate(value, by_name=False)
    return jsonrpc_message_adapter.validate_python(value, by_name=False)


def _said(line: bytes) -> object:
    """Return the JSON of a line, or why it says nothing."""
    if is_wide(line):
        return _Fault(f"Parse error: the line holds {TOO_WIDE}", name_of(line))
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        limit = f"Parse error: not a line of JSON of at most {LINE_LIMIT} bytes"
        return _Fault(limit if line == _TOO_LONG else "Parse error: not JSON", _name_in(line))


def _named(value: object) -> RequestId | None:
    """Return the id of what may be a request; None without one that can be used."""
    name = cast("dict[str, Any]", value).get("id") if isinstance(value, dict) else None
    return name if isinstance(name, str | int) and not isinstance(name, bool) else None


def _name_in(line: bytes) -> RequestId | None:
    """Return the id in a line that is no strict JSON, such as one with half a surrogate or NaN.

    So that who waits for the answer hears it, instead of waiting until its time is over.
    """
    try:
        name = _named(json.loads(line))
    except (ValueError, RecursionError):
        return None
    usable = name.isprintable() if isinstance(name, str) else abs(name or 0) <= _MOST
    return name if usable else None

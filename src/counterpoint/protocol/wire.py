"""JSON-RPC messages over two file descriptors, one message a line.

A line is a message if and only if (1) it is at most `LINE_LIMIT` bytes and ends with a line feed,
(2) it is JSON, (3) the JSON is a JSON-RPC 2.0 object. A line that fails (1) or (2) is answered with
-32700 and `id` null, one that fails (3) with -32600 and its `id` if it has a usable one; the
connection stays up. Empty lines mean nothing.

Reading ends at the end of the input, or when the other side no longer reads. Requests that came
before the end of the input are still answered, for at most `GRACE` seconds. Output is written whole:
what a full pipe does not take is kept and flushed when it does, so that a cancelled task never
leaves half a message.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, cast

import anyio
import orjson
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

LINE_LIMIT = 10_000_000
GRACE = 2.0

_CHUNK = 65536
_HIGH_WATER = 1_000_000
_NEVER_ANSWERED = "subscriptions/listen"
_CANCELLED = "notifications/cancelled"


class _Side:
    """One direction of the wire; the descriptor stays the caller's, so closing does nothing."""

    async def aclose(self) -> None:
        """Leave the descriptor open."""

    async def __aenter__(self) -> Self:
        """Answer this side."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Leave the descriptor open."""


class Outbox(_Side):
    """The write side: the SDK's stream protocol over a descriptor."""

    def __init__(self, fd: int, limit: int = 0) -> None:
        """Write to a non-blocking descriptor; the caller keeps it open.

        limit: the other side counts as gone when so many bytes wait for it; 0: it never does.
        """
        self._fd = fd
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._kept = bytearray()
        self._drained = asyncio.Event()
        self._drained.set()
        self.is_gone = False
        """Whether the other side no longer reads."""
        self.on_gone: Callable[[], None] = self._drained.set
        """What to call when that is found out."""
        self.open: set[RequestId] = set()
        """The requests that were read and are not answered yet."""
        self.answered = asyncio.Event()
        """Set whenever an answer leaves nothing open."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message; BrokenResourceError if nobody reads any more."""
        message = item.message
        await self.write(_line(message))
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self.settle(message.id)

    def settle(self, request: RequestId) -> None:
        """Take a request as done, answered or not."""
        self.open.discard(request)
        if not self.open:
            self.answered.set()

    async def write(self, line: bytes) -> None:
        """Write one line, waiting only while much is unread; BrokenResourceError as `send`."""
        if self._kept:
            self._kept += line
        else:
            self._keep(line)
        if 0 < self._limit < len(self._kept):
            self.leave()
        if self.is_gone:
            raise anyio.BrokenResourceError
        if len(self._kept) > _HIGH_WATER:
            await self._drained.wait()

    async def drain(self, seconds: float) -> None:
        """Wait until all is written, or the time is over."""
        with anyio.move_on_after(seconds):
            await self._drained.wait()

    def leave(self) -> None:
        """Take the other side as gone, and forget what waits for it."""
        if self._kept:
            self._loop.remove_writer(self._fd)
            self._kept.clear()
            self._drained.set()
        self._lose()

    def _lose(self) -> None:
        self.is_gone = True
        self.answered.set()
        self.on_gone()

    def _keep(self, line: bytes) -> None:
        sent = self._push(line)
        if sent < len(line):
            self._kept += line[sent:]
            self._drained.clear()
            self._loop.add_writer(self._fd, self._flush)

    def _flush(self) -> None:
        del self._kept[: self._push(self._kept)]
        if not self._kept:
            self._loop.remove_writer(self._fd)
            self._drained.set()

    def _push(self, line: bytes | bytearray) -> int:
        """Answer how many bytes the pipe took; one that nobody reads takes all."""
        try:
            return os.write(self._fd, line)
        except BlockingIOError:
            return 0
        except OSError:
            self._lose()
            return len(line)


class Inbox(_Side):
    """The read side: the SDK's stream protocol over a descriptor."""

    def __init__(self, fd: int, outbox: Outbox, begun: bytes = b"") -> None:
        """Read from a non-blocking descriptor; the caller keeps it open.

        begun: what was read from it already.
        """
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._outbox = outbox
        self._ready = asyncio.Event()
        outbox.on_gone = self._ready.set
        self._lines: deque[bytes] = deque()
        self._parts: list[bytes] = []
        self._size = 0
        self._is_over = False
        if begun:
            self._take(begun)

    def end(self) -> None:
        """Read nothing more; what was read whole is still answered."""
        self._is_over = True
        self._ready.set()

    async def receive(self) -> SessionMessage:
        """Answer the next message; EndOfStream when there is none."""
        while True:
            while self._lines:
                message = await self._message(self._lines.popleft())
                if message is not None:
                    return SessionMessage(message)
            if self._is_over:
                await self._let_answers_go()
                raise anyio.EndOfStream
            self._take(await self._chunk())

    def __aiter__(self) -> Self:
        """Answer this side."""
        return self

    async def __anext__(self) -> SessionMessage:
        """Answer the next message."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def _chunk(self) -> bytes:
        """Answer what there is to read, waiting for it; empty at the end."""
        while not (self._outbox.is_gone or self._is_over):
            try:
                return os.read(self._fd, _CHUNK)
            except BlockingIOError:
                await self._readable()
            except OSError:
                break
        return b""

    async def _readable(self) -> None:
        """Wait until there is something to read, or nobody to answer."""
        self._ready.clear()
        self._loop.add_reader(self._fd, self._ready.set)
        try:
            await self._ready.wait()
        finally:
            self._loop.remove_reader(self._fd)

    def _take(self, chunk: bytes) -> None:
        """Cut a chunk into lines; a line that grows too long keeps only its length."""
        if not chunk:
            self._is_over = True
            chunk = b"\n"
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
            self._parts = [b"\xff"]

    async def _message(self, line: bytes) -> JSONRPCMessage | None:
        """Answer the message of a line; None if it has none, and then it was answered."""
        if not line.strip():
            return None
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            too_long = line == b"\xff"
            limit = f"Parse error: not a line of JSON of at most {LINE_LIMIT} bytes"
            await self._refuse(PARSE_ERROR, limit if too_long else "Parse error: not JSON")
            return None
        try:
            message = _parsed(value)
        except ValidationError:
            name = cast("dict[str, Any]", value).get("id") if isinstance(value, dict) else None
            usable = isinstance(name, str | int) and not isinstance(name, bool)
            await self._refuse(
                INVALID_REQUEST, "Invalid request: not JSON-RPC 2.0", name if usable else None
            )
            return None
        self._note(message)
        return message

    def _note(self, message: JSONRPCMessage) -> None:
        """Remember which requests wait for an answer."""
        if isinstance(message, JSONRPCRequest) and message.method != _NEVER_ANSWERED:
            self._outbox.open.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
            request = (message.params or {}).get("requestId")
            if isinstance(request, str | int):
                self._outbox.settle(request)

    async def _refuse(self, code: int, words: str, name: RequestId | None = None) -> None:
        error = {"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": words}}
        try:
            await self._outbox.write(orjson.dumps(error) + b"\n")
        except anyio.BrokenResourceError:
            self._is_over = True

    async def _let_answers_go(self) -> None:
        with anyio.move_on_after(GRACE):
            while self._outbox.open and not self._outbox.is_gone:
                self._outbox.answered.clear()
                await self._outbox.answered.wait()


def _parsed(value: Any) -> JSONRPCMessage:
    """Answer the message of a JSON value; ValidationError if it is none."""
    if isinstance(value, dict) and "method" in value:
        if "id" in value:
            return JSONRPCRequest.model_validate(value, by_name=False)
        return JSONRPCNotification.model_validate(value, by_name=False)
    return jsonrpc_message_adapter.validate_python(value, by_name=False)


def _line(message: JSONRPCMessage) -> bytes:
    """Answer the line of a message."""
    if isinstance(message, JSONRPCResponse):
        body = {"jsonrpc": "2.0", "id": message.id, "result": message.result}
        return orjson.dumps(body) + b"\n"
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"

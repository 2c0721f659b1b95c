"""The side of a pipe that is written: one JSON-RPC message a line.

Output is written whole: what a full pipe does not take is kept and flushed when it does, so that a
cancelled task never leaves half a message. What the SDK needs of itself is loaded when it writes: until
then there is none.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from counterpoint.kernel.lost_calls import lost_call_error

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse

RequestId = str | int

MOST_LONG = 64
"""How many requests of one connection may be under way or wait that take long."""
_HIGH_WATER = 1_000_000
_CONNECTION_CLOSED: Final = -32000
"""How the SDK ends a request that its own end overtakes."""


class Side:
    """One direction of the wire; the descriptor stays the caller's, so closing does nothing."""

    async def aclose(self) -> None:
        """Leave the descriptor open."""

    async def __aenter__(self) -> Self:
        """Return this side."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        """Leave the descriptor open."""


class Outbox(Side):
    """The write side: the SDK's stream protocol over a descriptor."""

    def __init__(self, fd: int, limit: int = 0) -> None:
        """Write to a non-blocking descriptor; the caller keeps it open.

        limit: the other side counts as gone when so many bytes wait for it; 0: it never does.
        """
        self._fd = fd
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._kept = bytearray()
        self._pushing = threading.Lock()
        self._drained = asyncio.Event()
        self._drained.set()
        self.is_gone = False
        """Whether the other side no longer reads."""
        self.on_gone: Callable[[], None] = self._drained.set
        """What to call when that is found out."""
        self.on_answer: Callable[[JSONRPCResponse | JSONRPCError], None] = _unheard
        """What to call with every answer that the SDK sends."""
        self.requests: dict[RequestId, JSONRPCRequest] = {}
        """Those that the SDK has to answer."""
        self.lost_error: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _unknown
        """What to say of a request that the end of the server overtakes."""
        self.open: set[RequestId] = set()
        """The requests that were read and are not answered yet."""
        self.apart: set[RequestId] = set()
        """Those of them that take long: they keep no room from others."""
        self.on_settled: Callable[[], None] = _unasked
        """What to call when a request is not open any more, or the other side has taken what waited for it."""
        self.answered = asyncio.Event()
        """Set whenever an answer leaves nothing open."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message; BrokenResourceError if nobody reads any more."""
        from anyio import BrokenResourceError
        from mcp_types import JSONRPCError, JSONRPCResponse

        message = item.message
        if isinstance(message, JSONRPCError) and message.error.code == _CONNECTION_CLOSED:
            # All that the SDK says of it; who has asked needs to know whether to ask again.
            line = self._lost_line(message)
        else:
            line = line_of(message)
        if not await self.write(line):
            raise BrokenResourceError
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self.settle(message.id)
            self.on_answer(message)

    def _lost_line(self, message: JSONRPCError) -> bytes:
        request = self.requests.get(message.id) if message.id is not None else None
        question = {"method": request.method, "params": request.params} if request else {}
        error = {"jsonrpc": "2.0", "id": message.id, "error": self.lost_error(question)}
        return orjson.dumps(error) + b"\n"

    def set_apart(self, request: RequestId) -> bool:
        """Count a request apart that takes long; return whether there is room for one more of them."""
        if len(self.apart) >= MOST_LONG:
            return False
        # One that was cancelled meanwhile is nobody's.
        self.apart |= self.open & {request}
        self.on_settled()
        return True

    def settle(self, request: RequestId) -> None:
        """Take a request as done, answered or not."""
        self.open.discard(request)
        self.requests.pop(request, None)
        self.apart.discard(request)
        if not self.open:
            self.answered.set()
        self.on_settled()

    @property
    def is_crowded(self) -> bool:
        """Whether so much waits for the other side that nothing more is to be taken from it."""
        return len(self._kept) > _HIGH_WATER

    async def write(self, line: bytes) -> bool:
        """Write one line, waiting only while much is unread; answer whether anybody reads."""
        self.post(line)
        if not self.is_gone and len(self._kept) > _HIGH_WATER:
            await self._drained.wait()
            return True
        return not self.is_gone

    def post(self, line: bytes) -> None:
        """Write one line without waiting; nothing happens if nobody reads any more."""
        with self._pushing:
            if self.is_gone:
                return
            # Behind what waits already, or two lines would be mixed.
            sent = 0 if self._kept else self._push(line)
            self._kept += line[sent:]
        self._flush_later()

    def post_now(self, line: bytes) -> bool:
        """Write one line from another thread; answer False if the loop has to, and nothing is written."""
        with self._pushing:
            if self.is_gone or self._kept:
                return False
            try:
                sent = os.write(self._fd, line)
            except OSError:  # full or gone: the loop finds the same, and knows what to do
                return False
            self._kept += line[sent:]
        if sent < len(line):
            with contextlib.suppress(RuntimeError):  # a loop that is closed writes nothing
                self._loop.call_soon_threadsafe(self._flush_later)
        return True

    async def drain(self, seconds: float) -> None:
        """Wait until all is written, or the time is over."""
        self._flush_later()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._drained.wait()

    def leave(self) -> None:
        """Take the other side as gone, and forget what waits for it."""
        with self._pushing:
            self._kept.clear()
            self._lose()
        self._loop.remove_writer(self._fd)
        self._drained.set()

    def _lose(self) -> None:
        self.is_gone = True
        self.answered.set()
        self.on_gone()

    def _flush_later(self) -> None:
        """Have the rest written when the other side takes it; let one go that takes too little."""
        if 0 < self._limit < len(self._kept):
            self.leave()
        elif self._kept and self._drained.is_set():
            self._drained.clear()
            self._loop.add_writer(self._fd, self._flush)

    def _flush(self) -> None:
        was_crowded = self.is_crowded
        with self._pushing:
            del self._kept[: self._push(self._kept)]
        if was_crowded and not self.is_crowded:
            self.on_settled()
        if not self._kept:
            self._loop.remove_writer(self._fd)
            self._drained.set()

    def _push(self, line: bytes | bytearray) -> int:
        """Return how many bytes the pipe took; one that nobody reads takes all."""
        try:
            return os.write(self._fd, line)
        except BlockingIOError:
            return 0
        except OSError:
            self._lose()
            # As if it were taken: what nobody reads must not be kept either.
            return len(line)


def line_of(message: JSONRPCMessage) -> bytes:
    """Return the line of a message."""
    from mcp_types import JSONRPCResponse

    # Most of what is sent: what a surface has answered is JSON already, and needs no model to be
    # written.
    if isinstance(message, JSONRPCResponse):
        body = {"jsonrpc": "2.0", "id": message.id, "result": message.result}
        return orjson.dumps(body) + b"\n"
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def _unheard(_answer: JSONRPCResponse | JSONRPCError) -> None:
    """Do nothing with an answer."""


def _unknown(_message: Mapping[str, Any]) -> Mapping[str, Any]:
    return lost_call_error(only_reads=False, has_key=False)


def _unasked() -> None:
    """Do nothing about room for a further request."""

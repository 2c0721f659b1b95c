"""The feed as server-sent events: every entry in order, from any sequence on.

    GET /events              what happens from now on
    GET /events?after=12     what has happened since 12, then what happens; -1 is from the beginning
    Last-Event-ID: 12        the same; browsers send it by themselves when they connect again

    id: 13                   the sequence
    event: task.started      what happened
    data: {…}                the entry, as one line of JSON
    (a line with a colon)    nothing happened for a while; the connection lives

Rules: (1) Entries are read when the one before has been taken, so that a slow reader costs no memory.
(2) A reader that takes nothing for half a minute is dropped; it can come back with the last id it
has. (3) Waiting costs the place of a stream, of which there are so many. (4) Whether the reader may
still read is asked each time, and a stream ends after ten minutes, so that a token is shown again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from counterpoint.kernel.errors import CounterpointError
from counterpoint.protocol.http.guards import GRANT, Refused, refuse
from counterpoint.protocol.limits import Shares
from counterpoint.protocol.workers import Workers

G = TypeVar("G")

MOST_STREAMS: Final = 64
STALL: Final = 30.0
"""Seconds that a reader may take nothing."""
LONGEST: Final = 600.0
"""Seconds that a stream lasts."""
QUIET: Final = 15.0
"""Seconds without an entry after which a sign of life is sent."""
_A_WHILE: Final = 1.0
_RETRY: Final = b"retry: 1000\n\n"
_ALIVE: Final = b":\n\n"
_LONGEST_NUMBER: Final = 18
_STATUS: Final = {"not_found": 404, "invalid": 400, "forbidden": 403, "unavailable": 503}


@dataclass(frozen=True, slots=True, kw_only=True)
class SentEvent:
    """One entry as it is sent; `text` is JSON without a line break."""

    sequence: int
    action: str
    text: str

    def to_bytes(self) -> bytes:
        """Return the event on the wire."""
        return f"id: {self.sequence}\nevent: {self.action}\ndata: {self.text}\n\n".encode()


Read = Callable[[G, int, float], list[SentEvent]]
"""(reader, sequence, seconds) → entries above the sequence, waiting so long for the first of them."""

Last = Callable[[G], int]
"""(reader) → the sequence of the last entry."""


class Events(Generic[G]):
    """The page that follows the ledger."""

    def __init__(self, read: Read[G], last: Last[G]) -> None:
        """Serve nobody yet; both are called in threads of this page's own."""
        self._read = read
        self._last = last
        self._workers = Workers(MOST_STREAMS)
        self._places = Shares(MOST_STREAMS)

    async def page(self, reader: G, scope: Scope) -> Response:
        """Return the stream for a reader; refused for a place that is none, or when all are taken."""
        after, who = _after(scope), reader_of(scope)
        take_place(self._places, who)
        leave = partial(self._places.give_back, who)
        with ExitStack() as refused:
            refused.callback(leave)
            try:
                if after is None:
                    after = await self._workers.run(lambda: self._last(reader))
                first = await self._workers.run(lambda: self._read(reader, after, 0))
            except CounterpointError as fault:
                raise refused_for(fault) from None
            stream = Stream(self._events(reader, after, first), leave)
            refused.pop_all()
        return stream

    async def _events(self, reader: G, after: int, first: list[SentEvent]) -> AsyncGenerator[bytes]:
        """Return what to send; it ends after its time, or when the reader may not read any more."""
        yield _RETRY
        entries, quiet = first, 0.0
        until = time.monotonic() + LONGEST
        while entries or time.monotonic() < until:
            for entry in entries:
                yield entry.to_bytes()
                after, quiet = entry.sequence, 0.0
            if quiet >= QUIET:
                yield _ALIVE
                quiet = 0.0
            try:
                entries = await self._look(reader, after)
            except CounterpointError as fault:
                if not fault.retryable:
                    return
                await asyncio.sleep(_A_WHILE)
                entries = []
            quiet += 0.0 if entries else _A_WHILE

    async def _look(self, reader: G, after: int) -> list[SentEvent]:
        return await self._workers.run(lambda: self._read(reader, after, _A_WHILE))


class Stream(Response):
    """An answer without an end, for a reader that goes on taking it."""

    def __init__(
        self, events: AsyncGenerator[bytes], leave: Callable[[], None] = lambda: None
    ) -> None:
        """Prepare to send what comes; `leave` hears of the end."""
        # nginx would keep events back until its buffer is full.
        super().__init__(media_type="text/event-stream", headers={"x-accel-buffering": "no"})
        # Starlette sets it for the empty body; this one has no end that is known.
        del self.headers["content-length"]
        self._events = events
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the reader leaves, stalls, or may not read any more."""
        sending = asyncio.ensure_future(self._send(send, is_head=scope["method"] == "HEAD"))
        leaving = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._events.aclose()
            self._leave()

    async def _send(self, send: Send, *, is_head: bool) -> None:
        start: dict[str, Any] = {"type": "http.response.start", "status": 200}
        await send({**start, "headers": self.raw_headers})
        with suppress(TimeoutError):
            if not is_head:
                async for piece in self._events:
                    body = {"type": "http.response.body", "body": piece, "more_body": True}
                    # Not `wait_for`, which goes on if it is cancelled in the moment in which the piece is taken.
                    async with asyncio.timeout(STALL):
                        await send(body)
            async with asyncio.timeout(STALL):
                await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def reader_of(scope: Scope) -> str:
    """Return whose places a request takes: those of its token, or of all who have none."""
    grant = scope.get(GRANT)
    return (grant.id if grant is not None else "") or "without a token"


def take_place(places: Shares, who: str) -> None:
    """Take a place for a reader; refused if there is none for him."""
    if not places.take(who):
        raise refuse(
            503,
            "busy",
            "there is no place for a further reader of this token",
            "Close a stream that is not needed; of all places one token has half at most.",
            retry_after="5",
        )


def _after(scope: Scope) -> int | None:
    """Return the sequence that the reader has already; None if it does not say."""
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    text = Headers(scope=scope).get("last-event-id", "") or next(iter(query.get("after", [])), None)
    if text is None:
        return None
    digits = text.removeprefix("-")
    # To Python, digits of other scripts are digits too, and a number of any length is one.
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_NUMBER):
        raise refuse(400, "invalid_input", "`after` and Last-Event-ID take the number of an entry")
    return int(text)


def refused_for(fault: CounterpointError) -> Refused:
    """Return the refusal of a reader for an error of the product."""
    more = {"retry_after": "1"} if fault.retryable else {}
    return refuse(_STATUS.get(fault.kind, 500), fault.code, fault.message, fault.hint, **more)

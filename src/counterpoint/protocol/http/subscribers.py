"""Everyone who follows a surface, on server-sent events or on a WebSocket.

    GET /events/<surface>            what happens from now on
    GET …?after=12.1                 what has happened since, then what happens; -1 is from the beginning
    Last-Event-ID: 12.1              the same; browsers send it by themselves when they connect again
    GET …?about=ID&about=ID          only events about these

    id: 13.1                         where to go on from (protocol/http/place.py)
    event: task:created              what happened, in the words of the surface
    data: {…}                        one line of JSON
    (an id alone)                    the place has moved on, past what this reader does not want
    (a line with a colon)            the connection lives

With `Upgrade: websocket` the same address and the same query open a WebSocket
(protocol/http/conversation.py). Rules: (1) Events come in order, each once, and none is left out; who
comes back with the last id goes on after it. (2) Events are read when those before them were taken;
a reader that takes nothing for half a minute is dropped. (3) Whether the reader may still follow is
asked at each look, at least once a second. (4) There are so many places, for all surfaces together.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager
from typing import Any, Final, Generic, TypeVar
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.kernel.visible import dump_visible
from counterpoint.protocol.http.conversation import Conversation
from counterpoint.protocol.http.events import (
    MOST_STREAMS,
    QUIET,
    Stream,
    reader_of,
    refused_for,
    take_place,
)
from counterpoint.protocol.http.subscription import Place, Subscription, load_place
from counterpoint.protocol.limits.shares import Shares
from counterpoint.protocol.surface import Event, Tell
from counterpoint.protocol.workers import Workers

C = TypeVar("C")

_SPARE: Final = 8
"""Threads beside those that wait, for what is asked in between."""


class Subscribers(Generic[C]):
    """The places of those who follow."""

    def __init__(self) -> None:
        """Begin empty."""
        self._workers = Workers(MOST_STREAMS + _SPARE)
        self._open = 0
        self._places = Shares(MOST_STREAMS)

    @property
    def size(self) -> int:
        """How many follow."""
        return self._open

    async def serve(
        self,
        tell: Tell[C],
        call: Callable[[], C],
        wait: Callable[[], int],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Serve one follower to the end; refused for a place that is none, or when all are taken.

        call: makes what the surface gets, in a worker; raises Forbidden for who may not follow any
        more. wait: takes one call; answers 0, or in how many seconds there is one.
        """
        with self._place_taken(reader_of(scope)):
            subscription = Subscription(tell, call, self._workers)
            try:
                after, about = _asked(scope)
                subscription.check(about)
                if about:
                    subscription.subjects = set(about)
                await subscription.move(after)
            except CounterpointError as fault:
                raise refused_for(fault) from None
            if scope["type"] == "websocket":
                await Conversation(subscription, wait, receive, send).hold(scope)
            else:
                await Stream(_pieces(subscription))(scope, receive, send)

    @contextmanager
    def _place_taken(self, who: str) -> Generator[None]:
        take_place(self._places, who)
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._places.give_back(who)


async def _pieces(subscription: Subscription[Any]) -> AsyncGenerator[bytes]:
    """Return what to send; it ends when the reader may not follow any more."""
    # The first id, so that who is cut off before any event knows where to go on.
    sent = subscription.place
    yield f"retry: 1000\nid: {sent}\n\n".encode()
    quiet = time.monotonic()
    try:
        async with aclosing(subscription.follow()) as following:
            async for cursor, event in following:
                if event is not None:
                    yield _piece(cursor, event)
                elif time.monotonic() - quiet >= QUIET:
                    yield f"id: {cursor}\n\n".encode() if cursor != sent else b":\n\n"
                else:
                    continue
                sent, quiet = cursor, time.monotonic()
    except CounterpointError:
        return


def _piece(cursor: Place, event: Event) -> bytes:
    _, data = dump_visible(dict(event.data))
    return f"id: {cursor}\nevent: {event.name}\ndata: {data}\n\n".encode()


def _asked(scope: Scope) -> tuple[Place | None, list[str]]:
    """Return the place to go on from, if one is named, and the subjects; InvalidInput."""
    query: dict[str, list[str]] = parse_qs(
        scope["query_string"].decode("latin-1"), keep_blank_values=True
    )
    text = Headers(scope=scope).get("last-event-id", "") or next(iter(query.get("after", [])), None)
    about = query.get("about", [])
    if "" in about:
        raise InvalidInput("`about` takes the id of what you want to hear of")
    return (None if text is None else load_place(text)), about

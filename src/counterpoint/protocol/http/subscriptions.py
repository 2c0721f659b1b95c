"""Subscriptions over WebSockets: who hears which events.

One follower of events: from a place on, about some subjects, each once.
Events are read when those before them have been taken, so a slow follower costs no memory. Who wants
only some subjects still passes by the others: its place moves on with the ledger.

A place is behind one event, or behind a whole entry:

    12      behind everything that entry 12 of the ledger gave
    12.3    behind the third event of entry 12
    -1      before everything

Rules: (1) A text is a place if and only if it is `-1`, or an integer from 0 with at most 15 digits,
or such an integer, a dot, and an integer from 1 with at most 6 digits; none begins with a zero that is
not its only digit. (2) Places order as their numbers do, a whole entry after each of its events. (3)
The events of an entry count from 1, those that a reader does not want included, so that a place means
the same to everybody.

A surface's events on a WebSocket: what each side may say.

    server   {"event": "task:created", "id": "12.1", "data": {…}}     an event, with its place
             {"event": "following", "id": "12", "data": {"about": […] or null}}
             {"event": "error", "id": "12", "data": {"error": …, "message": …, "hint": …}}
    client   {"subscribe": [ids]}     from the first time on only events about what is subscribed to
             {"unsubscribe": [ids]}   those no more; one that was not there is no mistake
             {"after": "12.1"}        goes on from there, forward or back

Rules: (1) A message is a JSON object in a text frame, with one or more of these keys and no other; it
is done wholly and answered by `following`, or not at all and answered by `error` with every fault.
(2) The connection stays open either way. (3) `following` also comes first of all, and in quiet times
when the place has moved on; `id` is always where to go on from: nothing up to it is still to come.
(4) Each message takes one call from what the token may do in a minute. (5) A client that takes
nothing for half a minute is let go; it can come back with the last id it has.

Everyone who follows a surface, on server-sent events or on a WebSocket.

    GET /events/<surface>            what happens from now on
    GET …?after=12.1                 what has happened since, then what happens; -1 is from the beginning
    Last-Event-ID: 12.1              the same; browsers send it by themselves when they connect again
    GET …?about=ID&about=ID          only events about these

    id: 13.1                         where to go on from (above)
    event: task:created              what happened, in the words of the surface
    data: {…}                        one line of JSON
    (an id alone)                    the place has moved on, past what this reader does not want
    (a line with a colon)            the connection lives

With `Upgrade: websocket` the same address and the same query open a WebSocket
(above). Rules: (1) Events come in order, each once, and none is left out; who
comes back with the last id goes on after it. (2) Events are read when those before them were taken;
a reader that takes nothing for half a minute is dropped. (3) Whether the reader may still follow is
asked at each look, at least once a second. (4) There are so many places, for all surfaces together.
"""

from __future__ import annotations

import asyncio
import difflib
import re
import time
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar, cast
from urllib.parse import parse_qs

import orjson
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.kernel.visible import dump_visible
from counterpoint.protocol.http.events import (
    MOST_STREAMS,
    QUIET,
    Stream,
    reader_of,
    refused_for,
    take_place,
)
from counterpoint.protocol.limits import Shares
from counterpoint.protocol.surface import Event, Tell, contained
from counterpoint.protocol.workers import Workers

C = TypeVar("C")

MOST_SUBJECTS: Final = 1000
LONGEST_SUBJECT: Final = 200
A_WHILE: Final = 1.0
"""Seconds that one look waits for something to happen."""
_PAGE: Final = 100
_ALL: Final = 10**6
"""Stands behind every event of an entry."""
_TEXT: Final = re.compile(r"(-1|0|[1-9][0-9]{0,14})(?:\.([1-9][0-9]{0,5}))?")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place between two events."""

    sequence: int
    number: int = _ALL

    @property
    def position(self) -> int:
        """The last entry that is wholly before this place."""
        return self.sequence if self.number == _ALL else self.sequence - 1

    def __str__(self) -> str:
        """Write it as a reader gives it back."""
        return str(self.sequence) if self.number == _ALL else f"{self.sequence}.{self.number}"


class Subscription(Generic[C]):
    """Where a follower is and what it wants."""

    def __init__(self, tell: Tell[C], call: Callable[[], C], workers: Workers) -> None:
        """Begin nowhere, wanting everything; `call` raises for who may not follow any more."""
        self._tell = tell
        self._call = call
        self._workers = workers
        self._place = Place(-1)
        self._offered: Place | None = None
        self.subjects: set[str] | None = None

    @property
    def place(self) -> Place:
        """Behind what has been taken, or passed by."""
        return self._place

    async def move(self, cursor: Place | None) -> None:
        """Go on from a place, None: the end; InvalidInput if the ledger has not come so far."""
        if cursor is not None:
            # The entry itself must be there, also when some of its events are still to be sent.
            await self._look(cursor.sequence, 1, 0)
        else:
            position, _ = await self._look(None, 1, 0)
            cursor = Place(position)
        # A copy: whoever follows sees by the object that somebody has moved, even to an equal
        # place.
        self._place, self._offered = replace(cursor), None

    def check(self, more: Collection[str]) -> None:
        """Raise InvalidInput for subjects that cannot be added."""
        if any(len(subject) > LONGEST_SUBJECT for subject in more):
            raise InvalidInput(f"an id has at most {LONGEST_SUBJECT} characters")
        if len((self.subjects or set()).union(more)) > MOST_SUBJECTS:
            raise InvalidInput(
                f"there can be {MOST_SUBJECTS} subscriptions at most",
                hint="Unsubscribe from what is over, or subscribe to the root of several.",
            )

    async def follow(self) -> AsyncGenerator[tuple[Place, Event | None]]:
        """Return each event that is wanted with its place, and (place, None) after each look.

        An event counts as taken when the next one is asked for. After a `move` meanwhile it goes on
        from there. Raises what ended it: a fault that does not pass by itself.
        """
        while True:
            began = self._place
            try:
                position, entries = await self._look(began.position, _PAGE, A_WHILE)
            except CounterpointError as fault:
                if not fault.retryable:
                    raise
                await asyncio.sleep(A_WHILE)
                continue
            for cursor, event in _placed(entries):
                # The very same one: to move to a place that is equal is a move too.
                if self._place is not began:
                    break
                if cursor > began and self._concerns(event):
                    self._offered = cursor
                    yield cursor, event
                    if self._place is began:
                        self._place = began = cursor
            if self._place is began:
                self._place = began = max(began, Place(position))
            yield self._place, None

    def wants(self, cursor: Place, event: Event) -> bool:
        """Whether an event that was just answered is still wanted: nothing was changed since."""
        return self._offered is cursor and self._concerns(event)

    def _concerns(self, event: Event) -> bool:
        return self.subjects is None or not self.subjects.isdisjoint(event.subjects)

    async def _look(
        self, position: int | None, limit: int, seconds: float
    ) -> tuple[int, list[Event]]:
        def look() -> tuple[int, list[Event]]:
            with contained("a surface's events"):
                return self._tell(self._call(), position, limit, seconds)

        return await self._workers.run(look)


def load_place(text: str) -> Place:
    """Return the place that a text names; InvalidInput if it names none."""
    match = _TEXT.fullmatch(text)
    if match is None or (match[1] == "-1" and match[2]):
        raise InvalidInput(
            "the place to go on from is none",
            hint="Give the id of the last event you have, such as 12.1, or -1 for everything.",
        )
    return Place(int(match[1]), int(match[2]) if match[2] else _ALL)


def _placed(events: list[Event]) -> list[tuple[Place, Event]]:
    """Return events with their places; those of one entry stand together."""
    placed: list[tuple[Place, Event]] = []
    number = 0
    for event in events:
        number = number + 1 if placed and placed[-1][0].sequence == event.sequence else 1
        placed.append((Place(event.sequence, number), event))
    return placed


NAME: Final = "counterpoint.events"
"""The sub-protocol; a browser must be answered with one of those that it offers."""
LARGEST_MESSAGE: Final = 256 * 1024
"""Bytes; a larger one ends the connection, as the WebSocket protocol has it."""
STALL: Final = 30.0
"""Seconds that a client may take nothing."""
SOCKET_QUIET: Final = 15.0
"""Seconds without an event after which the place is sent, if it has moved on."""

_NOT_IN_FORCE: Final = 1008
_BROKEN: Final = 1011
_KEYS: Final = ("subscribe", "unsubscribe", "after")
_HINT: Final = 'Send {"subscribe": [ids]}, {"unsubscribe": [ids]} or {"after": "12.1"}.'


class Conversation(Generic[C]):
    """One client that follows, and may write meanwhile."""

    def __init__(
        self, subscription: Subscription[C], wait: Callable[[], int], receive: Receive, send: Send
    ) -> None:
        """Prepare; `wait` takes one call and answers 0, or in how many seconds there is one."""
        self._subscription = subscription
        self._wait = wait
        self._receive = receive
        self._send = send
        self._turn = asyncio.Lock()
        self._said = ""

    async def hold(self, scope: Scope) -> None:
        """Talk until the client leaves, stalls, or may not follow any more."""
        offered = NAME if NAME in scope.get("subprotocols", ()) else None
        # The first message is `websocket.connect`, which says nothing.
        await self._receive()
        await self._send({"type": "websocket.accept", "subprotocol": offered})
        talking = [asyncio.ensure_future(coroutine) for coroutine in (self._tell(), self._hear())]
        try:
            await asyncio.wait(talking, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in talking:
                task.cancel()
            # Both are ended before anything is raised: one alone would go on writing to a closed
            # socket.
            ends = await asyncio.gather(*talking, return_exceptions=True)
        for end in ends:
            # A client that is gone, or takes nothing, is no fault of the server's.
            if isinstance(end, Exception) and not isinstance(end, OSError):
                raise end

    async def _tell(self) -> None:
        """Send events, and now and then the place."""
        await self._say_following()
        quiet = time.monotonic()
        try:
            async with aclosing(self._subscription.follow()) as following:
                async for cursor, event in following:
                    if event is not None:
                        await self._say_event(cursor, event)
                        quiet = time.monotonic()
                    elif time.monotonic() - quiet >= SOCKET_QUIET:
                        quiet = time.monotonic()
                        if self._said != str(self._subscription.place):
                            await self._say_following()
        except CounterpointError as fault:
            code = _NOT_IN_FORCE if fault.kind == "forbidden" else _BROKEN
            await self._say_error(fault.code, fault.message, fault.hint)
            await self._put({"type": "websocket.close", "code": code, "reason": fault.code})

    async def _hear(self) -> None:
        """Do what the client asks, one message after the other."""
        while (message := await self._receive())["type"] != "websocket.disconnect":
            wait = self._wait()
            if wait:
                hint = f"Wait {wait} s, then send it again; nothing was done."
                await self._say_error("too_many_calls", "the token has no call left", hint)
                continue
            try:
                await self._obey(_read(message.get("text")))
            except CounterpointError as fault:
                await self._say_error(fault.code, fault.message, fault.hint)

    async def _obey(self, message: ClientMessage) -> None:
        subscription = self._subscription
        subscription.check(message.subscribe or ())
        async with self._turn:
            if message.after is not None:
                await subscription.move(message.after)
            if message.subscribe is not None:
                subscription.subjects = {*(subscription.subjects or ()), *message.subscribe}
            if subscription.subjects is not None:
                subscription.subjects.difference_update(message.unsubscribe)
        await self._say_following()

    async def _say_event(self, cursor: Place, event: Event) -> None:
        async with self._turn:
            # The client may have moved on while the event waited for its turn.
            if self._subscription.wants(cursor, event):
                await self._say(event.name, cursor, event.data)

    async def _say_following(self) -> None:
        async with self._turn:
            subjects = self._subscription.subjects
            about = None if subjects is None else sorted(subjects)
            await self._say("following", self._subscription.place, {"about": about})

    async def _say_error(self, code: str, message: str, hint: str) -> None:
        async with self._turn:
            data = {"error": code, "message": message, "hint": hint}
            await self._say("error", self._subscription.place, data)

    async def _say(self, event: str, cursor: Place, data: Mapping[str, Any]) -> None:
        self._said = str(cursor)
        _, text = dump_visible({"event": event, "id": self._said, "data": dict(data)})
        await self._put({"type": "websocket.send", "text": text})

    async def _put(self, message: dict[str, Any]) -> None:
        # A client that takes nothing holds this task, and what was read for it, for no longer.
        async with asyncio.timeout(STALL):
            await self._send(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMessage:
    """What one message of a client asks for."""

    subscribe: tuple[str, ...] | None = None
    unsubscribe: tuple[str, ...] = ()
    after: Place | None = None


def _read(text: str | None) -> ClientMessage:
    """Return what a message asks; InvalidInput with every fault."""
    if text is None:
        raise InvalidInput("the message is not text", hint=_HINT)
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise InvalidInput("the message is not JSON", hint=_HINT) from None
    if not isinstance(parsed, dict) or not parsed:
        raise InvalidInput("the message is not a JSON object with a key", hint=_HINT)
    fields = cast("dict[str, Any]", parsed)
    faults = [_unknown(name) for name in fields if name not in _KEYS]
    faults += [
        f"`{name}` is not a list of ids"
        for name in ("subscribe", "unsubscribe")
        if name in fields and not _are_words(fields[name])
    ]
    after: Place | None = None
    if "after" in fields:
        try:
            after = load_place(str(fields["after"]))
        except InvalidInput as fault:
            faults.append(f"`after`: {fault.message}")
    if faults:
        raise InvalidInput("; ".join(faults), hint=_HINT)
    return ClientMessage(
        subscribe=tuple(fields["subscribe"]) if "subscribe" in fields else None,
        unsubscribe=tuple(fields.get("unsubscribe", ())),
        after=after,
    )


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name[:100], _KEYS, n=1)
    return f"there is no key {name[:60]!r}" + (f"; did you mean `{near[0]}`?" if near else "")


def _are_words(value: Any) -> bool:
    words = cast("list[Any]", value) if isinstance(value, list) else [None]
    return all(isinstance(word, str) for word in words)


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

"""A surface's events on a WebSocket: what each side may say.

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
"""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

import orjson
from starlette.types import Receive, Scope, Send

from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.kernel.visible import dump_visible
from counterpoint.protocol.http.subscription import Place, Subscription, load_place
from counterpoint.protocol.surface import Event

C = TypeVar("C")

NAME: Final = "counterpoint.events"
"""The sub-protocol; a browser must be answered with one of those that it offers."""
LARGEST_MESSAGE: Final = 256 * 1024
"""Bytes; a larger one ends the connection, as the WebSocket protocol has it."""
STALL: Final = 30.0
"""Seconds that a client may take nothing."""
QUIET: Final = 15.0
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
                    elif time.monotonic() - quiet >= QUIET:
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

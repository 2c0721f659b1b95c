"""Telling a client that a resource has changed: MCP subscriptions of both eras.

    from 2026-07-28   `subscriptions/listen`: the answer is a stream, acknowledged first, that ends
                      with the request
    before            `resources/subscribe` and `resources/unsubscribe`: updates come on the
                      connection until it ends, so they need one that lasts

Rules: (1) Only what changed after the acknowledgement is sent, in the order of the changes. (2) Only
addresses that the surface has are honoured, whether there is such a thing or not; lists never change
while a server runs, so nothing else is. (3) An update says that it is worth while to read again. For
a client that does not keep up, updates of one address that are still to be sent become one: so a
slow client costs a fixed amount of memory, and nobody else any time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Generic, TypeVar

import mcp_types as wire
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp.shared.exceptions import MCPError

from counterpoint.kernel.errors import CounterpointError
from counterpoint.protocol.surface import Surface, Watch, contained
from counterpoint.protocol.workers import Workers

logger = logging.getLogger(__name__)

C = TypeVar("C")

Context = ServerRequestContext[Any, Any]

MOST_STREAMS: Final = 256
"""How many subscribers a server has at once; each has a thread that waits."""
MOST_ADDRESSES: Final = 1000
_UNSENT: Final = 256
_A_WHILE: Final = 1.0
"""Seconds after which a subscriber that waits looks whether it is still wanted."""


class Follower(Generic[C]):
    """What waits for changes on behalf of one subscriber, in a thread of its own."""

    def __init__(
        self,
        watch: Watch[C],
        call: Callable[[], C],
        addresses: set[str],
        stopped: Callable[[], None],
    ) -> None:
        """Prepare to watch for addresses, as whoever makes the calls; `stopped` is called once."""
        self.wanted = addresses
        self._watch = watch
        self._call = call
        self._stopped = stopped
        self._loop = asyncio.get_running_loop()
        self._has_some = asyncio.Event()
        self._unsent: deque[str] = deque()
        self._fault: CounterpointError | None = None
        self._is_over = threading.Event()

    async def start(self, workers: Workers) -> None:
        """Tell from now on; raises what the first look raises."""
        # Before the acknowledgement: what changes after it must not be missed while the thread
        # starts.
        position, _ = await workers.run(lambda: self._watch(self._call(), None, 0))
        threading.Thread(
            target=self._follow, args=(position,), name="follower", daemon=True
        ).start()

    async def next(self) -> str:
        """Return the next address that changed; raises what ended the watch."""
        while not self._unsent:
            if self._fault is not None:
                raise self._fault
            self._has_some.clear()
            await self._has_some.wait()
        return self._unsent.popleft()

    def stop(self) -> None:
        """Tell nothing any more."""
        if not self._is_over.is_set():
            self._is_over.set()
            self._stopped()

    def _follow(self, position: int) -> None:
        # A loop that is closed has nobody left to tell.
        with suppress(RuntimeError):
            try:
                with contained("a subscription"):
                    while not self._is_over.is_set():
                        position = self._look(position)
            except CounterpointError as fault:
                self._loop.call_soon_threadsafe(self._end, fault)

    def _look(self, position: int) -> int:
        """Wait a while for changes; answer the position behind them."""
        try:
            position, changed = self._watch(self._call(), position, _A_WHILE)
        except CounterpointError as fault:
            if not fault.retryable:
                raise
            # A store that fails is not asked again at once, and a stop ends the wait.
            self._is_over.wait(_A_WHILE)
            return position
        if changed:
            self._loop.call_soon_threadsafe(self._add, changed)
        return position

    def _add(self, changed: list[str]) -> None:
        for uri in changed:
            if uri in self.wanted and (len(self._unsent) < _UNSENT or uri not in self._unsent):
                self._unsent.append(uri)
        self._has_some.set()

    def _end(self, fault: CounterpointError) -> None:
        self._fault = fault
        self._has_some.set()


class Line(Generic[C]):
    """The updates of one connection of the eras before 2026-07-28."""

    def __init__(self) -> None:
        """Begin without subscriptions."""
        self.follower: Follower[C] | None = None
        self._sending: asyncio.Task[None] | None = None

    def open(self, follower: Follower[C], session: ServerSession) -> None:
        """Send what a follower tells."""
        self.follower = follower
        self._sending = asyncio.ensure_future(_send(follower, session))

    async def close(self) -> None:
        """Send nothing any more."""
        if self.follower is not None:
            self.follower.stop()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        self.follower = self._sending = None


async def _send(follower: Follower[Any], session: ServerSession) -> None:
    try:
        while True:
            await session.send_resource_updated(await follower.next())
    except CounterpointError as fault:
        logger.warning("the subscriptions of a connection have ended: %s", fault.message)


@asynccontextmanager
async def connected(_server: Server[Any]) -> AsyncGenerator[Line[Any]]:
    """Keep the line of a connection for as long as it lasts."""
    line: Line[Any] = Line()
    try:
        yield line
    finally:
        await line.close()


class Live(Generic[C]):
    """The methods of subscriptions, for a surface that can be watched."""

    def __init__(
        self,
        surface: Surface[C],
        watch: Watch[C],
        caller: Callable[[Context], Callable[[], C]],
        workers: Workers,
    ) -> None:
        """Serve subscriptions; `caller` answers what makes the calls of whoever sends a request."""
        self._surface = surface
        self._watch = watch
        self._caller = caller
        self._workers = workers
        self._streams = 0
        self._changing = asyncio.Lock()

    def register(self, server: Server[Any], *, pushes: bool) -> None:
        """Register the methods; without `pushes` only those that need no connection that lasts."""
        server.add_request_handler(
            "subscriptions/listen", wire.SubscriptionsListenRequestParams, self._listen
        )
        if pushes:
            server.add_request_handler(
                "resources/subscribe", wire.SubscribeRequestParams, self._subscribe
            )
            server.add_request_handler(
                "resources/unsubscribe", wire.UnsubscribeRequestParams, self._unsubscribe
            )

    async def _listen(
        self, context: Context, params: wire.SubscriptionsListenRequestParams
    ) -> wire.SubscriptionsListenResult:
        """Serve one stream until the client ends it."""
        number = context.request_id
        if number is None:
            raise MCPError(wire.INVALID_REQUEST, "subscriptions/listen needs a request id")
        uris = dict.fromkeys(params.notifications.resource_subscriptions or ())
        honored = [uri for uri in uris if self._surface.has_resource(uri)]
        follower = await self._opened(context, set(honored))
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: number}
        try:
            await context.session.send_notification(
                wire.SubscriptionsAcknowledgedNotification(
                    params=wire.SubscriptionsAcknowledgedNotificationParams(
                        notifications=wire.SubscriptionFilter(
                            resource_subscriptions=honored or None
                        ),
                        _meta=meta,
                    )
                ),
                related_request_id=number,
            )
            while True:
                update = wire.ResourceUpdatedNotificationParams(
                    uri=await follower.next(), _meta=meta
                )
                await context.session.send_notification(
                    wire.ResourceUpdatedNotification(params=update), related_request_id=number
                )
        except CounterpointError as fault:
            raise MCPError(wire.INTERNAL_ERROR, fault.message, {"code": fault.code}) from None
        finally:
            follower.stop()

    async def _subscribe(
        self, context: Context, params: wire.SubscribeRequestParams
    ) -> wire.EmptyResult:
        """Add an address to those that this connection hears of."""
        uri = str(params.uri)
        if not self._surface.has_resource(uri):
            raise MCPError(
                wire.INVALID_PARAMS,
                f"There is no resource {uri[:120]!r}",
                {"uri": uri, "hint": "Read `resources/list` and `resources/templates/list`."},
            )
        line: Line[C] = context.lifespan_context
        async with self._changing:
            if line.follower is None:
                line.open(await self._opened(context, {uri}), context.session)
            elif len(line.follower.wanted) >= MOST_ADDRESSES:
                raise _too_many(f"{MOST_ADDRESSES} addresses")
            else:
                line.follower.wanted.add(uri)
        return wire.EmptyResult()

    async def _unsubscribe(
        self, context: Context, params: wire.UnsubscribeRequestParams
    ) -> wire.EmptyResult:
        """Take an address away; one that was not there is no mistake."""
        line: Line[C] = context.lifespan_context
        async with self._changing:
            if line.follower is not None:
                line.follower.wanted.discard(str(params.uri))
                if not line.follower.wanted:
                    await line.close()
        return wire.EmptyResult()

    async def _opened(self, context: Context, addresses: set[str]) -> Follower[C]:
        """Return a follower that runs if there is anything to wait for."""
        if self._streams >= MOST_STREAMS:
            raise _too_many(f"{MOST_STREAMS} subscribers")
        if len(addresses) > MOST_ADDRESSES:
            raise _too_many(f"{MOST_ADDRESSES} addresses")
        # Counted before the thread starts: of two that come at once only one is the last.
        self._streams += 1
        follower = Follower(self._watch, self._caller(context), addresses, self._closed)
        try:
            if addresses:
                await follower.start(self._workers)
        except CounterpointError as fault:
            follower.stop()
            raise MCPError(wire.INTERNAL_ERROR, fault.message, {"code": fault.code}) from None
        return follower

    def _closed(self) -> None:
        self._streams -= 1


def _too_many(most: str) -> MCPError:
    return MCPError(wire.INTERNAL_ERROR, f"There are {most} already, and there can be no more")

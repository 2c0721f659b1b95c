"""Places, turns and quotas of HTTP callers.

Places for connections over HTTP, and who gives way when there are none.
Rules: (1) There are so many places as the process has descriptors for, and what agents connect to has its own. (2) Nobody's
address takes all of them (protocol/limits.py). (3) Where an address has no place left, the one of its connections
that has been waiting longest without a request gives way to the next; if all are in the middle of one, the next is refused.
So silent connections cost others nothing, however many there are and wherever they come from. (4) A head must have come
`HEAD` seconds after the connection, or after the first letter of it.

Turns of callers over HTTP, before anything of a request is looked at.
Rules: (1) Of one caller, over all of his connections, `APIECE` requests are looked at at once; the others wait, each where it is, and a connection
is read no further while one of its requests waits. (2) Whoever has waited longest comes next. (3) A place is given back with the answer; once it is known that this takes
long or has no end; or after `LASTS` seconds: what takes so long waits for a worker, where there are turns too (protocol/workers.py).

So whatever one caller sends, and over however many connections, the event loop does a few things of his between two of another's.
A caller is what he says he is, his token: to find out whether it is one takes longer than to let him wait.

What calls of tools cost: a share of a minute, and of a calendar month.
A call is let through if and only if (1) its tool has a call left for this token in this minute, and
there is one left this month (2) for the token, (3) for the project. One that is refused costs nothing.

Minutes are counted in memory. Months are counted in the store: some calls are drawn from it at
a time and spent here, one by one; what is left at the end is given back.
"""

from __future__ import annotations

import asyncio
import resource
import threading
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Protocol

from counterpoint.kernel.errors import CounterpointError, QuotaExceeded, RateLimited
from counterpoint.protocol.http.grants import Grant, Limits
from counterpoint.protocol.limits import Shares

MOST_CONNECTIONS: Final = 1024
HEAD: Final = 10.0
"""Seconds until the head of a request must have come."""
_OWN: Final = 100
"""Descriptors that the server needs for itself."""
_PART: Final = 4
"""Of what is left so many times less is for this: agents have a third of it, with two for each."""


class Guest(Protocol):
    """A connection that has a place."""

    address: str

    def give_way(self) -> None:
        """End at once."""


class Places:
    """Who has a place, and which of them wait without a request."""

    def __init__(self, size: int = 0) -> None:
        """Begin with all places free; without a size with as many as there are descriptors for."""
        self._shares = Shares(size or _size())
        self._seated: set[Guest] = set()
        self._waiting: dict[str, dict[Guest, None]] = {}

    def take(self, guest: Guest) -> bool:
        """Give a connection a place, if need be that of one that waits; answer whether there was one."""
        waiting = self._waiting.get(guest.address)
        if not self._shares.may_take(guest.address) and waiting:
            longest = next(iter(waiting))
            self.leave(longest)
            longest.give_way()
        if not self._shares.take(guest.address):
            return False
        self._seated.add(guest)
        self.wait(guest)
        return True

    def wait(self, guest: Guest) -> None:
        """Note that a connection has no request."""
        if guest in self._seated:
            self._waiting.setdefault(guest.address, {})[guest] = None

    def work(self, guest: Guest) -> None:
        """Note that a connection has a request."""
        waiting = self._waiting.get(guest.address, {})
        waiting.pop(guest, None)
        if not waiting:
            self._waiting.pop(guest.address, None)

    def leave(self, guest: Guest) -> None:
        """Take the place of a connection back, if it has one."""
        if guest in self._seated:
            self.work(guest)
            self._seated.discard(guest)
            self._shares.give_back(guest.address)


def _size() -> int:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(4, (most - _OWN) // _PART))


APIECE: Final = 8
LASTS: Final = 0.5


class Turns:
    """Who has how many requests under way in one event loop, and who waits."""

    def __init__(self, apiece: int = APIECE, lasts: float = LASTS) -> None:
        """Begin with nobody. lasts: after how many seconds a place is given back at the latest."""
        self._apiece = apiece
        self._lasts = lasts
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, who: str) -> AsyncGenerator[Callable[[], None]]:
        """Wait for a place of a caller, and have it during the block, or for as long as one may; answers what gives it back before."""
        await self._take(who)
        leave = _once(partial(self._give_back, who))
        timer = asyncio.get_running_loop().call_later(self._lasts, leave)
        try:
            yield leave
        finally:
            timer.cancel()
            leave()

    async def _take(self, who: str) -> None:
        if self._taken[who] < self._apiece:
            self._taken[who] += 1
            return
        awaited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(awaited)
        try:
            await awaited
        except asyncio.CancelledError:
            if awaited.done() and not awaited.cancelled():
                # It was given a place at the moment at which its client left.
                self._give_back(who)
            raise

    def _give_back(self, who: str) -> None:
        """Hand a place of a caller to the one that waits longest, or take it back."""
        waiting = self._waiting.get(who, deque())
        while waiting:
            awaited = waiting.popleft()
            if not waiting:
                del self._waiting[who]
            if not awaited.done():
                awaited.set_result(None)
                return
        self._taken[who] -= 1
        if not self._taken[who]:
            del self._taken[who]


def _once(act: Callable[[], None]) -> Callable[[], None]:
    """Return what does something the first time that it is called, and nothing afterwards."""
    acts = [act]

    def do() -> None:
        while acts:
            acts.pop()()

    return do


PROJECT = "project"
"""The subject of the month that all callers share."""


class QuotaUse(Protocol):
    """Calls that were drawn from a month: how many, how many are used now, when it ends."""

    @property
    def granted(self) -> int:
        """How many calls were drawn."""
        ...

    @property
    def used(self) -> int:
        """How many of the month are used, with these."""
        ...

    @property
    def month(self) -> str:
        """The month, such as `2026-11`."""
        ...

    @property
    def resets_at(self) -> str:
        """The first moment of the next month."""
        ...

    @property
    def resets_in(self) -> int:
        """The seconds until then."""
        ...


class QuotaStore(Protocol):
    """Where the calls of months are kept, for every server of a project."""

    @property
    def calls_a_month(self) -> int:
        """How many calls all callers together have in a month; 0 for no limit."""
        ...

    def draw(self, subject: str, most: int) -> QuotaUse:
        """Take some calls of this month, of which there are `most`."""
        ...

    def give_back(self, subject: str, month: str, calls: int) -> None:
        """Put back calls that were drawn from a month and not made."""
        ...


class Spending:
    """The calls that one server may still let through; asked by several threads."""

    def __init__(self, limits: Limits, store: QuotaStore | None) -> None:
        """Begin with nothing drawn. limits: where the minutes of tools are counted."""
        self._limits = limits
        self._store = store
        self._lock = threading.Lock()
        self._left: dict[str, tuple[str, int]] = {}

    def is_counted(self, grant: Grant) -> bool:
        """Whether calls of a grant are counted by months, so that the store may be asked."""
        return self._store is not None and bool(grant.calls_a_month or self._store.calls_a_month)

    def hurry(self, grant: Grant, tool: str) -> RateLimited | None:
        """Take a call of a tool from this minute; answer the refusal if there is none."""
        most = grant.tool_limits.get(tool, 0)
        wait = self._limits.take_of(f"{grant.id} {tool}", most)
        if not wait:
            return None
        return RateLimited(
            f"this token may call {tool} {most} times a minute", retry_after=wait, limit=most
        )

    def spend(self, grant: Grant) -> CounterpointError | None:
        """Take a call from the months; answer the refusal if there is none. Runs in a worker."""
        store = self._store
        if store is None:
            return None
        refusal = self._spend(store, grant.id, grant.calls_a_month)
        if refusal is None:
            refusal = self._spend(store, PROJECT, store.calls_a_month)
            # The token's call was taken before the project had none: a refusal costs nothing.
            if refusal is not None and grant.calls_a_month:
                self._put(grant.id, "", 1)
        return refusal

    def close(self) -> None:
        """Give back what was drawn and not spent; what cannot be given back is lost."""
        with self._lock:
            unspent, self._left = self._left, {}
        for subject, (month, calls) in unspent.items():
            if self._store is not None and calls:
                self._store.give_back(subject, month, calls)

    def _spend(self, store: QuotaStore, subject: str, most: int) -> QuotaExceeded | None:
        if not most or self._take(subject):
            return None
        # Outside of the lock: the store writes, and nobody else need wait for the disk.
        drawn = store.draw(subject, most)
        if drawn.granted:
            self._put(subject, drawn.month, drawn.granted - 1)
            return None
        whose = "this project" if subject == PROJECT else "this token"
        return QuotaExceeded(
            f"{whose} has made its {most} calls of {drawn.month}",
            used=drawn.used,
            limit=most,
            resets_at=drawn.resets_at,
            retry_after=drawn.resets_in,
        )

    def _take(self, subject: str) -> bool:
        with self._lock:
            month, calls_left = self._left.get(subject, ("", 0))
            self._left[subject] = (month, max(0, calls_left - 1))
            return calls_left > 0

    def _put(self, subject: str, month: str, calls: int) -> None:
        with self._lock:
            stored_month, calls_left = self._left.get(subject, ("", 0))
            self._left[subject] = (month or stored_month, calls_left + calls)

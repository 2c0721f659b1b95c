"""Turns of callers over HTTP, before anything of a request is looked at.

Rules: (1) Of one caller, over all of his connections, `APIECE` requests are looked at at once; the others wait, each where it is, and a connection
is read no further while one of its requests waits. (2) Whoever has waited longest comes next. (3) A place is given back with the answer; once it is known that this takes
long or has no end; or after `LASTS` seconds: what takes so long waits for a worker, where there are turns too (protocol/workers.py).

So whatever one caller sends, and over however many connections, the event loop does a few things of his between two of another's.
A caller is what he says he is, his token: to find out whether it is one takes longer than to let him wait.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

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

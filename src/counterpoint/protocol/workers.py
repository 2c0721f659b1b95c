"""Threads for the synchronous work behind a server, never waited for at exit.

The threads are daemons, for a process that is told to end must not wait for a tool that runs:
nothing that was not answered counts as done.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, TypeVar, cast

from counterpoint.kernel.errors import CounterpointError, Unexpected

T = TypeVar("T")

SIZE = 8
"""How many calls may run at once."""


class Workers:
    """A fixed number of threads that an event loop hands work to."""

    def __init__(self, size: int = SIZE) -> None:
        """Start nothing yet; each thread starts when no other is idle."""
        self._size = size
        self._count = 0
        self._idle = threading.Semaphore(0)
        self._jobs: SimpleQueue[_Job[object]] = SimpleQueue()

    async def run(self, work: Callable[[], T]) -> T:
        """Answer what the work answers; it may raise CounterpointError and no other.

        If the waiting task is cancelled, work that has begun runs on and its answer is dropped.
        """
        loop = asyncio.get_running_loop()
        told: asyncio.Future[T] = loop.create_future()
        job = _Job(work=work, loop=loop, told=told, context=contextvars.copy_context())
        self._jobs.put(cast("_Job[object]", job))
        if not self._idle.acquire(blocking=False) and self._count < self._size:
            self._count += 1
            self._start()
        return await told

    def _start(self) -> None:
        threading.Thread(target=self._serve, name="tool", daemon=True).start()

    def _serve(self) -> None:
        try:
            while True:
                self._jobs.get().run()
                self._idle.release()
        finally:
            # Work that ends its thread must not take the place of the thread with it.
            self._start()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job(Generic[T]):
    """A piece of work and the one who waits for it."""

    work: Callable[[], T]
    loop: asyncio.AbstractEventLoop
    told: asyncio.Future[T]
    context: contextvars.Context

    def run(self) -> None:
        if self.told.cancelled():
            return
        result: T | CounterpointError = Unexpected()
        try:
            result = self.context.run(self.work)
        except CounterpointError as refusal:
            result = refusal
        finally:
            # A loop that is closed has nobody left to tell.
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._tell, result)

    def _tell(self, result: T | CounterpointError) -> None:
        if self.told.done():
            return
        if isinstance(result, CounterpointError):
            self.told.set_exception(result)
        else:
            self.told.set_result(result)

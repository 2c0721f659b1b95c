"""Threads for the synchronous work behind a server, never waited for at exit.

This is the one place where calls wait. Whoever's they are (`CALLER`), those of one run beside each other in so many threads that as many
are left for others (protocol/limits.py), and of those that wait each has his turn: one call, then it is the next one's. Among the calls of
one caller, its connections (`CONNECTION`) have turns too, and each runs `APIECE` quick ones at once: what computes shares one
interpreter, so that with each call more beside it everybody's answer takes longer, and none comes sooner. Work that
takes long, as commands do, has half of the threads for itself, with shares of its own: however many ask for it, half are left for what is quick.

The threads are daemons, for a process that is told to end must not wait for a tool that runs:
nothing that was not answered counts as done.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Final, Generic, TypeVar, cast

from counterpoint.kernel.errors import CounterpointError, Unexpected
from counterpoint.protocol.limits import Shares

T = TypeVar("T")

SIZE = 8
"""How many calls may run at once."""
CALLER: Final = contextvars.ContextVar("caller", default="")
"""Whose calls a task makes; empty for the server's own work, which is given no share."""
CONNECTION: Final = contextvars.ContextVar("connection", default="")
"""By which connection of its caller a task came; empty where nobody tells."""
APIECE: Final = 4
"""How many quick calls of a connection run at once: so many writes share a commit."""


class Workers:
    """A fixed number of threads that an event loop hands work to."""

    def __init__(self, size: int = SIZE) -> None:
        """Start nothing yet; each thread starts when no other is idle."""
        self._size = size
        self._count = 0
        self._idle = threading.Semaphore(0)
        self._sharing = threading.Lock()
        self._threads = Shares(size)
        self._long = Shares(max(1, size // 2))
        self._waiting: dict[tuple[str, bool], _Turns] = {}
        self._running: Counter[tuple[str, str]] = Counter()
        """Quick calls that run, by caller and connection."""
        self._jobs: SimpleQueue[Job[object]] = SimpleQueue()
        self._post: _LoopQueue | None = None

    async def run(self, work: Callable[[], T], *, long: bool = False) -> T:
        """Return what the work answers; it may raise CounterpointError and no other.

        long: whether it may take minutes.
        If the waiting task is cancelled, work that has begun runs on and its answer is dropped.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        job = self.submit(work, partial(_settle, answer), long=long)
        try:
            return await answer
        finally:
            job.drop()

    def submit(
        self,
        work: Callable[[], T],
        deliver: Callable[[T | CounterpointError], None],
        *,
        long: bool = False,
    ) -> Job[T]:
        """Have the work done, and call `deliver` in this event loop with what it answered or raised."""
        loop, queue = asyncio.get_running_loop(), self._post
        if queue is None or queue.loop is not loop:
            queue = self._post = _LoopQueue(loop)
        job = Job(
            work=work,
            deliver=deliver,
            queue=queue,
            context=contextvars.copy_context(),
            caller=CALLER.get(),
            connection=CONNECTION.get(),
            long=long,
        )
        with self._sharing:
            turns = self._waiting.setdefault((job.caller, long), {})
            turns.setdefault(job.connection, deque()).append(cast("Job[object]", job))
        self._begin()
        return job

    def _begin(self) -> None:
        """Let begin what may: never waits."""
        with self._sharing:
            while (
                next_job := next(filter(None, map(self._may_begin, self._waiting)), None)
            ) is not None:
                job = self._take(*next_job)
                self._threads.take(job.caller)
                if job.long:
                    self._long.take(job.caller)
                else:
                    self._running[job.caller, job.connection] += 1
                self._jobs.put(job)
                # With no thread idle a further one starts; there are never more jobs than threads.
                if not self._idle.acquire(blocking=False) and self._count < self._size:
                    self._count += 1
                    self._start()

    def _may_begin(self, who: tuple[str, bool]) -> tuple[tuple[str, bool], str] | None:
        """Return a caller with the connection whose turn it is, if a call of it may begin."""
        caller, is_long = who
        if not self._threads.may_take(caller) or (is_long and not self._long.may_take(caller)):
            return None
        for connection in self._waiting[who]:
            if is_long or not connection or self._running[caller, connection] < APIECE:
                return who, connection
        return None

    def _take(self, who: tuple[str, bool], connection: str) -> Job[object]:
        """Return the first call of a connection; both go to the end, so that the others come first now."""
        turns = self._waiting.pop(who)
        waiting = turns.pop(connection)
        job = waiting.popleft()
        if waiting:
            turns[connection] = waiting
        if turns:
            self._waiting[who] = turns
        return job

    def _end(self, job: Job[object]) -> None:
        """Take a call as run."""
        with self._sharing:
            self._threads.give_back(job.caller)
            if job.long:
                self._long.give_back(job.caller)
                return
            who = job.caller, job.connection
            self._running[who] -= 1
            if not self._running[who]:
                del self._running[who]

    def _start(self) -> None:
        threading.Thread(target=self._serve, name="tool", daemon=True).start()

    def _serve(self) -> None:
        try:
            while True:
                job = self._jobs.get()
                try:
                    job.run()
                finally:
                    self._end(job)
                self._idle.release()
                self._begin()
        finally:
            # Work that ends its thread must not take the place of the thread with it.
            self._start()
            self._begin()


class _LoopQueue:
    """What workers have for an event loop: many answers wake it once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], None]] = []

    def put(self, deliver: Callable[[], None]) -> None:
        """Have something called in the loop, from any thread; a loop that is closed calls nothing."""
        with self._lock:
            self._waiting.append(deliver)
            is_first = len(self._waiting) == 1
        # The loop has been woken for those before it and takes all there are.
        if is_first:
            # The loop is closed: whoever waited is gone with it.
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        if len(waiting) == 1:
            waiting[0]()
            return
        # One by one through the loop: a callback that fails is reported by it, and ends no other.
        for deliver in waiting:
            self.loop.call_soon(deliver)


@dataclass(eq=False, slots=True, kw_only=True)
class Job(Generic[T]):
    """A piece of work and who gets the answer."""

    work: Callable[[], T]
    deliver: Callable[[T | CounterpointError], None]
    queue: _LoopQueue
    context: contextvars.Context
    caller: str = ""
    connection: str = ""
    long: bool = False
    is_wanted: bool = True

    def drop(self) -> None:
        """Tell nobody, and do not begin if it has not begun."""
        self.is_wanted = False

    def run(self) -> None:
        """Do the work, in a worker."""
        if not self.is_wanted:
            return
        result: T | CounterpointError = Unexpected()
        try:
            result = self.context.run(self.work)
        except CounterpointError as refusal:
            result = refusal
        finally:
            self.queue.put(partial(self._deliver_answer, result))

    def _deliver_answer(self, result: T | CounterpointError) -> None:
        if self.is_wanted:
            self.deliver(result)


def _settle(answer: asyncio.Future[T], result: T | CounterpointError) -> None:
    """Give a result to the one who waits for it, if anybody still does."""
    # Whoever waited may have been cancelled meanwhile.
    if answer.done():
        return
    if isinstance(result, CounterpointError):
        answer.set_exception(result)
    else:
        answer.set_result(result)


_Turns = dict[str, deque[Job[object]]]
"""The calls of one caller that wait, by connection; the first is the one whose turn it is."""

"""Workers: threads that outlive what runs in them."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

from counterpoint.kernel.errors import NotFound, Unexpected
from counterpoint.protocol.workers import APIECE, CALLER, CONNECTION, Workers

word: contextvars.ContextVar[str] = contextvars.ContextVar("word")


def test_a_refusal_reaches_the_one_who_waits() -> None:
    """An error of the tree is raised where the work was asked for."""

    def work() -> None:
        raise NotFound("no such thing")

    with pytest.raises(NotFound, match="no such thing"):
        asyncio.run(Workers().run(work))


def test_a_thread_that_dies_is_told_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that ends its thread is answered, and never uses the threads up."""
    deaths: SimpleQueue[object] = SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", deaths.put)

    async def run() -> int:
        workers = Workers(2)
        for _ in range(5):
            with pytest.raises(Unexpected):
                await workers.run(sys.exit)
        async with asyncio.timeout(10):
            return await workers.run(lambda: 7)

    assert asyncio.run(run()) == 7
    for _ in range(5):
        deaths.get(timeout=10)


def test_the_same_workers_serve_one_loop_after_another() -> None:
    """An answer that a loop did not live to hear keeps the next loop from none of its own."""
    workers, begun, end = Workers(1), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        end.wait(10)

    async def leave() -> None:
        workers.submit(work, lambda _: None)
        assert await asyncio.to_thread(begun.wait, 10)

    async def stay() -> int:
        end.set()
        async with asyncio.timeout(10):
            return await workers.run(lambda: 7)

    asyncio.run(leave())
    assert asyncio.run(stay()) == 7


def test_many_answers_wake_the_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is ready while the loop is busy is all told when it comes to listen, in order."""
    told: list[object] = []

    async def run() -> int:
        loop, workers, woken = asyncio.get_running_loop(), Workers(1), 0
        wake = loop.call_soon_threadsafe

        def counted(*arguments: Any) -> asyncio.Handle:
            nonlocal woken
            woken += 1
            return wake(*arguments)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        over = threading.Event()
        for number in range(9):
            workers.submit(partial(int, number), told.append)
        workers.submit(lambda: None, lambda _: None)
        workers.submit(over.set, lambda _: None)
        assert over.wait(10)
        async with asyncio.timeout(10):
            await workers.run(lambda: None)
        return woken

    assert asyncio.run(run()) <= 3
    assert told == list(range(9))


def test_no_more_work_runs_at_once_than_there_are_threads() -> None:
    """The rest waits its turn and all of it is done."""
    running, most, lock = 0, 0, threading.Lock()
    both = threading.Barrier(2)

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait(10)
        with lock:
            running -= 1

    async def run() -> None:
        workers = Workers(2)
        await asyncio.gather(*(workers.run(work) for _ in range(10)))

    asyncio.run(run())
    assert most == 2


def test_work_that_nobody_waits_for_any_more_is_not_begun() -> None:
    """A call that was cancelled in the queue is dropped."""
    begun, gate = threading.Event(), threading.Event()

    async def run() -> None:
        workers = Workers(1)
        first = asyncio.ensure_future(workers.run(lambda: gate.wait(10)))
        second = asyncio.ensure_future(workers.run(begun.set))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        gate.set()
        await first
        await workers.run(lambda: None)

    asyncio.run(run())
    assert not begun.is_set()


def test_work_sees_the_context_of_the_one_who_asked() -> None:
    """Variables of the context are those of the task that waits."""

    async def run() -> str:
        word.set("told")
        return await Workers().run(word.get)

    assert asyncio.run(run()) == "told"


def test_calls_that_run_long_leave_threads_to_other_callers() -> None:
    """One caller gets half of them, the next half of the rest; what waits is begun as soon as there is room."""
    begun: SimpleQueue[str] = SimpleQueue()
    ends = {name: threading.Semaphore(0) for name in ("a", "b")}

    def work(name: str) -> None:
        begun.put(name)
        ends[name].acquire()

    async def run() -> None:
        workers, told = Workers(8), asyncio.Semaphore(0)

        def call(name: str, what: Callable[[], object]) -> None:
            before = CALLER.set(name)
            workers.submit(what, lambda _: told.release())
            CALLER.reset(before)

        async def hear(many: int) -> list[str]:
            return [await asyncio.to_thread(begun.get, True, 10) for _ in range(many)]

        for _ in range(8):
            call("a", partial(work, "a"))
        for _ in range(8):
            call("b", partial(work, "b"))
        assert sorted(await hear(6)) == ["a"] * 4 + ["b"] * 2
        call("c", partial(begun.put, "c"))
        assert await hear(1) == ["c"]
        assert begun.empty()
        ends["a"].release()
        # A place is free again: it is the turn of who has fewer.
        assert await hear(1) == ["b"]
        ends["a"].release(7)
        ends["b"].release(8)
        async with asyncio.timeout(10):
            for _ in range(17):
                await told.acquire()

    asyncio.run(run())


def test_work_that_takes_long_leaves_threads_for_what_is_quick() -> None:
    """However many ask for it: they have half of the threads, in which each has his turn, and go on as these get free."""
    begun: SimpleQueue[str] = SimpleQueue()
    ends = threading.Semaphore(0)

    def work(name: str) -> None:
        begun.put(name)
        ends.acquire()

    async def run() -> None:
        workers, told = Workers(8), asyncio.Semaphore(0)
        names = [f"{number}" for number in range(34)]
        for name in ("0", *names):
            before = CALLER.set(name)
            workers.submit(partial(work, name), lambda _: told.release(), long=True)
            CALLER.reset(before)
        first = [await asyncio.to_thread(begun.get, True, 10) for _ in range(4)]
        assert sorted(first) == ["0", "0", "1", "2"]
        CALLER.set("reader")
        async with asyncio.timeout(10):
            assert await workers.run(lambda: "read") == "read"
        assert begun.empty()
        ends.release(len(names) + 1)
        async with asyncio.timeout(20):
            for _ in range(len(names) + 1):
                await told.acquire()

    asyncio.run(run())


def test_of_those_that_wait_each_has_his_turn() -> None:
    """However many one has put there before, the call of another comes next but one."""
    begun: list[str] = []
    go_on, blocked = threading.Event(), threading.Event()

    def block() -> None:
        blocked.set()
        go_on.wait(10)

    async def run() -> None:
        workers, told = Workers(1), asyncio.Semaphore(0)
        workers.submit(block, lambda _: None)
        await asyncio.to_thread(blocked.wait, 10)
        for name in "aaaabbc":
            before = CALLER.set(name)
            workers.submit(partial(begun.append, name), lambda _: told.release())
            CALLER.reset(before)
        go_on.set()
        async with asyncio.timeout(10):
            for _ in range(7):
                await told.acquire()

    asyncio.run(run())
    assert "".join(begun) == "abcabaa"


def test_the_connections_of_one_caller_have_turns_and_few_calls_at_once() -> None:
    """A burst of one leaves threads to the other, which waits for one call of it and not for all."""
    order: list[str] = []
    begun, end = threading.Semaphore(0), threading.Event()

    def work(name: str) -> None:
        order.append(name)
        begun.release()
        end.wait(10)

    async def run() -> None:
        workers = Workers(16)
        answers: SimpleQueue[object] = SimpleQueue()
        CALLER.set("one")
        for connection, count in (("burst", 20), ("light", 1)):
            CONNECTION.set(connection)
            for _ in range(count):
                workers.submit(partial(work, connection), answers.put)
        for _ in range(APIECE + 1):
            assert await asyncio.to_thread(begun.acquire, timeout=10)
        assert sorted(order) == ["burst"] * APIECE + ["light"]
        end.set()
        for _ in range(20 - APIECE):
            assert await asyncio.to_thread(begun.acquire, timeout=10)

    asyncio.run(run())
    assert order.count("burst") == 20

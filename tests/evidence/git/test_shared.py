"""Looks that several callers share: who shares which, and what a failure does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from counterpoint.evidence.git.shared import SharedLook

_LIMIT = 10.0
_SHARERS = 5


@dataclass
class Eye:
    """Looks when it is let: each look waits to be given what it answers."""

    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    answers: list[Future[int]] = field(default_factory=lambda: [Future() for _ in range(9)])
    looks: int = 0
    present: int = 0
    most: int = 0

    def look(self) -> int:
        """Say that a look has begun, and answer what the test gives it."""
        number = self.looks
        self.looks += 1
        self.present += 1
        self.most = max(self.most, self.present)
        self.begun.release()
        try:
            return self.answers[number].result(_LIMIT)
        finally:
            self.present -= 1


@dataclass
class Lock:
    """A lock that says when a thread has had it for the first time: then its question is in."""

    real: threading.Lock = field(default_factory=threading.Lock)
    taken: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    known: set[int] = field(default_factory=set[int])

    def __enter__(self) -> None:
        self.real.acquire()

    def __exit__(self, *_gone: object) -> None:
        self.real.release()
        if threading.get_ident() not in self.known:
            self.known.add(threading.get_ident())
            self.taken.release()


@pytest.fixture
def eye() -> Eye:
    """Something to look at."""
    return Eye()


@pytest.fixture
def shared(eye: Eye, monkeypatch: pytest.MonkeyPatch) -> SharedLook[int]:
    """What all look at together."""
    made = SharedLook(eye.look)
    monkeypatch.setattr(made, "_lock", Lock())
    return made


@pytest.fixture
def ask(shared: SharedLook[int]) -> Iterator[Callable[[], Future[int]]]:
    """Ask in a thread of its own; comes back when the question is in."""
    lock = vars(shared)["_lock"]
    assert isinstance(lock, Lock)
    with ExitStack() as held:

        def asking() -> Future[int]:
            # A pool of one has a thread of its own.
            asked = held.enter_context(ThreadPoolExecutor(1)).submit(shared.take)
            assert lock.taken.acquire(timeout=_LIMIT)
            return asked

        yield asking


def test_who_asks_while_one_looks_waits_for_the_next_look(
    eye: Eye, ask: Callable[[], Future[int]]
) -> None:
    """The look under way began before they asked: they share the one after it."""
    first = ask()
    assert eye.begun.acquire(timeout=_LIMIT)
    others = [ask() for _ in range(_SHARERS)]
    eye.answers[0].set_result(10)
    assert first.result(_LIMIT) == 10
    assert eye.begun.acquire(timeout=_LIMIT)
    eye.answers[1].set_result(11)
    assert [one.result(_LIMIT) for one in others] == [11] * _SHARERS
    assert (eye.looks, eye.most) == (2, 1)


def test_who_asks_alone_looks_at_once_and_each_time(eye: Eye, shared: SharedLook[int]) -> None:
    """Nothing is kept from one look to the next."""
    for number in range(3):
        eye.answers[number].set_result(number)
    assert [shared.take() for _ in range(3)] == [0, 1, 2]


def test_a_look_that_fails_fails_for_all_who_share_it_and_for_nobody_else(
    eye: Eye, ask: Callable[[], Future[int]]
) -> None:
    """Those who wait for the next look are not told of the fault of the present one."""
    first = ask()
    assert eye.begun.acquire(timeout=_LIMIT)
    others = [ask() for _ in range(_SHARERS)]
    eye.answers[0].set_exception(OSError("first"))
    assert str(first.exception(_LIMIT)) == "first"
    assert eye.begun.acquire(timeout=_LIMIT)
    last = ask()
    eye.answers[1].set_exception(OSError("second"))
    assert {str(one.exception(_LIMIT)) for one in others} == {"second"}
    eye.answers[2].set_result(12)
    assert last.result(_LIMIT) == 12

"""What every database does with those who wait for entries."""

from __future__ import annotations

import threading
import time

import pytest


def test_what_is_there_is_answered_at_once(store, entry):
    """-1 stands before the first entry; the last sequence is not above itself."""
    assert not store.wait("p", -1, 0)
    with store.writing("p") as writing:
        writing.append(entry(0))
        writing.append(entry(1))
    assert store.wait("p", -1, 0)
    assert store.wait("p", 0, 0)
    assert not store.wait("p", 1, 0)
    assert not store.wait("q", -1, 0)


def test_whoever_waits_is_woken_by_the_entry(store, entry):
    """Several wait at once, each is woken, long before the time is over."""
    heard: list[bool] = []
    waiting = [
        threading.Thread(target=lambda: heard.append(store.wait("p", 0, 30))) for _ in range(3)
    ]
    began = time.monotonic()
    with store.writing("p") as writing:
        writing.append(entry(0))
    for one in waiting:
        one.start()
    with store.writing("p") as writing:
        writing.append(entry(1))
    for one in waiting:
        one.join(30)
    assert heard == [True, True, True]
    assert time.monotonic() - began < 15


def test_waiting_ends_with_its_time(store):
    """What did not come is not there."""
    began = time.monotonic()
    assert not store.wait("p", -1, 0.1)
    assert 0.1 <= time.monotonic() - began < 15


def test_what_was_undone_wakes_nobody_into_a_wrong_answer(store, entry):
    """An entry that did not land is not there to be waited for."""

    def interrupted() -> None:
        with store.writing("p") as writing:
            writing.append(entry(0))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert not store.wait("p", -1, 0.05)

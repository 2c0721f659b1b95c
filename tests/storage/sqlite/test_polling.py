"""Waking those who wait: at once in the process, soon for what other processes commit."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from counterpoint.storage.sqlite import store as sqlite_store
from counterpoint.storage.sqlite.store import PollingWaiters, SqliteStore

PATIENCE = 10.0

APPENDS = """
import sys
from counterpoint.core.ports.store import Append
from counterpoint.storage.sqlite.store import SqliteStore
store = SqliteStore(sys.argv[1])
for line in sys.stdin:
    with store.writing("p") as writing:
        n = writing.head().size
        writing.append(Append(sequence=n, previous="", data=b"entry %d" % n, leaf=b"l" * 32, time="t",
            subject="s", action="a", frontier=b"", nodes=()))
    print(n, flush=True)
"""


@pytest.fixture
def path(tmp_path):
    """Give the place of a database."""
    return tmp_path / "store.db"


@pytest.fixture
def store(path):
    """Give a database in a file."""
    opened = SqliteStore(path)
    yield opened
    opened.close()


def waiting(store, after, count=1):
    """Start threads that wait; answer them and what they will have heard."""
    heard: list[bool] = []
    threads = [
        threading.Thread(target=lambda: heard.append(store.wait("p", after, 2 * PATIENCE)))
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    return threads, heard


def ended(threads):
    """Wait for threads."""
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_an_entry_of_another_process_wakes_everybody(store, path):
    """None of them looks by himself: one does for all, and the next one after him."""
    process = subprocess.Popen(
        [sys.executable, "-c", APPENDS, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    for number in range(4):
        threads, heard = waiting(store, number - 1, 8)
        process.stdin.write("go\n")
        assert process.stdout.readline() == f"{number}\n"
        ended(threads)
        assert heard == [True] * 8
    process.stdin.close()
    process.wait(PATIENCE)
    process.stdout.close()


def test_a_follower_misses_nothing_that_two_processes_write(store, path, entry):
    """He reads after the last one he has seen, whenever he is woken."""
    process = subprocess.Popen(
        [sys.executable, "-c", APPENDS, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    seen: list[bytes] = []

    def follow():
        while len(seen) < 120:
            assert store.wait("p", len(seen) - 1, PATIENCE)
            with store.reading("p") as view:
                seen.extend(view.entries(len(seen)))

    follower = threading.Thread(target=follow)
    follower.start()
    process.stdin.write("go\n" * 60)
    process.stdin.close()
    for _ in range(60):
        with store.writing("p") as writing:
            writing.append(entry(writing.head().size))
    ended([follower])
    process.wait(PATIENCE)
    assert seen == [b"entry %d" % number for number in range(120)]


def test_a_commit_of_the_process_itself_needs_no_look(store, entry, monkeypatch):
    monkeypatch.setattr(sqlite_store, "SHORTEST_LOOK", PATIENCE * 3)
    monkeypatch.setattr(sqlite_store, "LONGEST_LOOK", PATIENCE * 3)
    threads, heard = waiting(store, -1, 3)
    end = time.monotonic() + PATIENCE
    while store._polling is None and time.monotonic() < end:
        threading.Event().wait(0.001)
    with store._waiters._changed:
        pass
    with store.writing("p") as writing:
        writing.append(entry(0))
    ended(threads)
    assert heard == [True] * 3


def test_closing_wakes_whoever_waits(path):
    store = SqliteStore(path)
    threads, heard = waiting(store, -1, 4)
    store.close()
    ended(threads)
    assert heard == [False] * 4
    assert not store.wait("p", -1, PATIENCE)


def test_nobody_looks_while_nobody_waits(store, entry):
    """A store that is only written to opens no connection for looking."""
    with store.writing("p") as writing:
        writing.append(entry(0))
    assert store._polling is None
    assert store.wait("p", -1, PATIENCE)
    assert store._polling is None
    assert not store.wait("p", 0, 0)
    assert store._polling is None


def test_looks_become_rarer_while_nothing_happens(monkeypatch):
    """The pause grows to its longest, whoever waits."""
    monkeypatch.setattr(sqlite_store, "SHORTEST_LOOK", 0.001)
    monkeypatch.setattr(sqlite_store, "LONGEST_LOOK", 0.02)
    looks: list[float] = []

    def look() -> int:
        looks.append(time.monotonic())
        return 7

    waited = PollingWaiters(lambda: look)
    assert not waited.wait(lambda: False, 0.3)
    # The two of the first look, a few that grow, then one in 20 ms at most.
    assert len(looks) <= 2 + 8 + 15


def test_another_one_looks_when_one_leaves(monkeypatch):
    """A wait that ends early passes the duty on."""
    monkeypatch.setattr(sqlite_store, "LONGEST_LOOK", 0.01)
    version = [1]
    there = threading.Event()
    waited = PollingWaiters(lambda: lambda: version[0])
    first = threading.Thread(target=waited.wait, args=(lambda: False, 0.1))
    heard: list[bool] = []
    second = threading.Thread(target=lambda: heard.append(waited.wait(there.is_set, PATIENCE)))
    first.start()
    second.start()
    ended([first])
    there.set()
    version[0] = 2
    ended([second])
    assert heard == [True]

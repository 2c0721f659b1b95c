"""Group commit: neighbours share a COMMIT, and nothing else."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from itertools import count

import apsw
import pytest

from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import StoreBusy, StoreFull, Unavailable
from counterpoint.storage.sqlite import batch, search
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.crowds import PATIENCE, Crowd, until
from fakes.looking import faults_of
from fakes.texts import committed, retitle, salted

ANSWERED = """
import hashlib, os, sys, threading
from counterpoint.core.ports.store import Append
from counterpoint.storage.sqlite import batch
from counterpoint.storage.sqlite.store import SqliteStore
store = SqliteStore(sys.argv[1])
def run():
    while True:
        with store.writing("p") as writing:
            n = writing.head().size
            text = f"entry {n} " + "x" * 300
            writing.append(Append(sequence=n, previous="", data=text.encode(), leaf=b"l" * 32, time="t",
                subject="s", action="a", frontier=b"", nodes=()))
        os.write(1, b"%d\\n" % n)
for _ in range(16):
    threading.Thread(target=run, daemon=True).start()
threading.Event().wait(60)
"""


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """Give a database in a file whose batches take whoever waits, however slow the machine is."""
    monkeypatch.setattr(batch, "LONGEST", PATIENCE)
    opened = SqliteStore(tmp_path / "store.db", patience=5)
    yield opened
    opened.close()


@pytest.fixture
def said(shared):
    """Give the list of what was said to the writer's connection, from now on."""
    heard: list[str] = []

    def hear(event: dict[str, str]) -> None:
        if event["sql"].startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")):
            heard.append(event["sql"])

    shared._writer.trace_v2(apsw.SQLITE_TRACE_STMT, hear)
    return heard


@pytest.fixture
def crowd(shared, monkeypatch):
    """Give threads that will stand in line, all for one batch however slow the machine is."""
    monkeypatch.setattr(batch, "LONGEST", 60.0)
    return Crowd(shared)


@contextmanager
def limited(most: int):
    """Let no file of this process grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def refused(kind: type[BaseException], store, block: Callable):
    """Check that a writing ends with an error; answer the error."""
    with pytest.raises(kind) as caught, store.writing("p") as writing:
        block(writing)
    return caught.value


def fail(_writing) -> None:
    """Raise what no database raises."""
    raise ZeroDivisionError


def test_those_who_wait_share_one_commit(shared, said, crowd, task, save):
    """Everybody who stood in line while the first one wrote lands with it, several projects too."""
    with shared.writing("p") as writing:
        save(writing, task(1))
        for number in (2, 3, 4):
            crowd.join(number, lambda w, n=number: save(w, task(n)))
        crowd.join(5, lambda w: save(w, task(5, project="q")), project="q")
    crowd.wait()
    assert crowd.faults == {}
    assert [word for word in said if word in {"BEGIN IMMEDIATE", "COMMIT"}] == [
        "BEGIN IMMEDIATE",
        "COMMIT",
    ]
    with shared.reading("p") as view:
        assert {item.number for item in view.select(Item)} == {1, 2, 3, 4}
    with shared.reading("q") as view:
        assert {item.number for item in view.select(Item)} == {5}


def test_a_block_that_raises_does_not_undo_its_neighbours(shared, said, crowd, task, save):
    """Its rows, texts and words for the search go; theirs, before and after it, stay."""

    def write_and_fail(writing) -> None:
        save(writing, task(3, title="plums"))
        assert writing.search(["plums"])
        raise ZeroDivisionError

    with shared.writing("p") as writing:
        save(writing, task(1, title="apples"))
        crowd.join(2, lambda w: save(w, task(2, title="pears")))
        crowd.join(3, write_and_fail)
        crowd.join(4, lambda w: save(w, task(4, title="cherries")))
    crowd.wait()
    assert list(crowd.faults) == [3]
    assert isinstance(crowd.faults[3], ZeroDivisionError)
    assert said.count("COMMIT") == 1
    with shared.reading("p") as view:
        assert {item.number for item in view.select(Item)} == {1, 2, 4}
        assert view.search(["plums"]) == []
        assert all(view.search([word]) for word in ("apples", "pears", "cherries"))
    assert faults_of(shared) == []


def test_the_search_is_brought_in_step_once_for_all(shared, crowd, task, save, monkeypatch):
    """Behind the last of them, so that no SAVEPOINT makes SQLite write the index out in between."""
    order: list[str] = []
    index = search.index

    def watched(connection, project, noun, key, document) -> None:
        order.append(f"index {key[0]}")
        index(connection, project, noun, key, document)

    monkeypatch.setattr(search, "index", watched)

    def write(writing, number: int) -> None:
        order.append(f"write T-{number}")
        save(writing, task(number))

    with shared.writing("p") as writing:
        write(writing, 1)
        crowd.join(2, lambda w: write(w, 2))
        crowd.join(3, lambda w: write(w, 3))
    crowd.wait()
    assert order[:3] == ["write T-1", "write T-2", "write T-3"]
    assert sorted(order[3:]) == ["index T-1", "index T-2", "index T-3"]


def test_what_fails_before_the_commit_is_told_to_everybody(shared, crowd, task, save, monkeypatch):
    """The last of them raises it, its neighbours that nothing has landed; the next batch is sound."""

    def fail_to_index(*_args) -> None:
        raise ZeroDivisionError

    def write_first(writing) -> None:
        save(writing, task(1))
        crowd.join(2, lambda w: save(w, task(2)))

    with monkeypatch.context() as patched:
        patched.setattr(search, "index", fail_to_index)
        fault = refused(Unavailable, shared, write_first)
        crowd.wait()
    assert isinstance(fault.__cause__, ZeroDivisionError)
    assert isinstance(crowd.faults[2], ZeroDivisionError)
    with shared.writing("p") as writing:
        save(writing, task(3))
    with shared.reading("p") as view:
        assert [item.number for item in view.select(Item)] == [3]
        assert view.search(["task"])


def test_a_writer_alone_needs_no_savepoint(shared, said, crowd, task, save):
    """What it raises undoes the whole transaction, which holds nothing else; the next begins anew."""

    def write_and_fail(writing) -> None:
        save(writing, task(1))
        crowd.join(2, lambda w: save(w, task(2)))
        raise ZeroDivisionError

    refused(ZeroDivisionError, shared, write_and_fail)
    crowd.wait()
    assert said == ["BEGIN IMMEDIATE", "ROLLBACK", "BEGIN IMMEDIATE", "COMMIT"]
    with shared.reading("p") as view:
        assert [item.number for item in view.select(Item)] == [2]


def test_what_a_neighbour_undid_is_not_known_to_the_next(shared, crowd, task, save):
    """The rows and numbers of a member that raised are gone for those behind it in the batch."""
    seen: list[tuple[str, int]] = []

    def change_and_fail(writing) -> None:
        retitle(writing, "T-1", "changed")
        save(writing, task(2))
        assert (writing.find(Item, "T-1").title, writing.last_number(Item)) == ("changed", 2)
        raise ZeroDivisionError

    def look(writing) -> None:
        seen.append((writing.find(Item, "T-1").title, writing.last_number(Item)))

    with shared.writing("p") as writing:
        save(writing, task(1))
        crowd.join(2, change_and_fail)
        crowd.join(3, look)
    crowd.wait()
    assert seen == [("Task 1", 1)]


def test_a_batch_of_which_nothing_landed_is_rolled_back(shared, said, crowd):
    refused(ZeroDivisionError, shared, lambda _: crowd.join(1, fail) or fail(_))
    crowd.wait()
    assert "COMMIT" not in said
    assert said[-1] == "ROLLBACK"


def test_a_refusal_waits_for_what_it_is_about(shared, crowd, task, save):
    """Who is refused because of a neighbour's row hears so only after that row is on the disk."""
    gone: list[list[int]] = []

    def look(writing) -> None:
        assert writing.exists(Item)
        raise ZeroDivisionError

    with shared.writing("p") as writing:
        save(writing, task(1))
        crowd.join(2, look)
        crowd.join(3, lambda _: gone.append(list(crowd.done)))
    crowd.wait()
    assert gone == [[]]
    assert crowd.faults.keys() == {2}


@pytest.mark.durable
def test_a_disk_that_is_full_at_the_commit_fails_everybody(shared, tmp_path, crowd, task, save):
    """Each hears StoreFull as an error of its own, nothing is seen, and the store goes on."""
    with shared.writing("p") as writing:
        save(writing, task(1))

    def write_much(writing) -> None:
        for number in range(20, 40):
            save(writing, task(number, body=f"{number} " * 1000 * (number - 19)))
        for number in (3, 4, 5):
            crowd.join(number, lambda w, n=number: save(w, task(n)))
        crowd.join(6, fail)

    with limited((tmp_path / "store.db-wal").stat().st_size + 20_000):
        own = refused(StoreFull, shared, write_much)
        crowd.wait()
        with shared.reading("p") as view:
            assert [item.number for item in view.select(Item)] == [1]
    assert crowd.faults.keys() == {3, 4, 5, 6}
    assert {type(fault) for fault in crowd.faults.values()} == {StoreFull}
    assert len({id(fault) for fault in (own, *crowd.faults.values())}) == 5
    with shared.writing("p") as writing:
        save(writing, task(7))
    assert faults_of(shared) == []


def test_a_batch_that_lasts_calls_nobody_in_any_more(shared, said, crowd, monkeypatch, task, save):
    """Whoever has waited long enough gets the COMMIT; the rest of the line comes after it."""
    monkeypatch.setattr(batch, "LONGEST", 0.0)
    with shared.writing("p") as writing:
        save(writing, task(1))
        for number in (2, 3):
            crowd.join(number, lambda w, n=number: save(w, task(n)))
    crowd.wait()
    assert said.count("COMMIT") == 3


def test_a_transaction_that_sqlite_gives_up_takes_its_neighbours_with_it(shared, crowd, task, save):
    """No row of theirs is there any more, so all of them are told; the store goes on."""

    def give_up(writing) -> None:
        writing._link.execute("ROLLBACK")
        raise ZeroDivisionError

    def begin(writing) -> None:
        save(writing, task(1))
        crowd.join(2, lambda w: save(w, task(2)))
        crowd.join(3, give_up)
        crowd.join(4, lambda w: save(w, task(4)))

    refused(Unavailable, shared, begin)
    crowd.wait()
    assert crowd.faults.keys() == {2, 3}
    assert isinstance(crowd.faults[3], ZeroDivisionError)
    with shared.reading("p") as view:
        assert [item.number for item in view.select(Item)] == [4]


def test_nobody_waits_for_ever_for_a_neighbour_that_does_not_end(tmp_path, task, save):
    """Their patience ends, they are told, and what they wrote does not land afterwards either."""
    store = SqliteStore(tmp_path / "store.db", patience=0.3)
    crowd = Crowd(store)
    go_on = threading.Event()

    def hang(writing) -> None:
        save(writing, task(2))
        assert go_on.wait(PATIENCE)

    def begin(writing) -> None:
        save(writing, task(1))
        crowd.join(2, hang)

    refusal = refused(StoreBusy, store, begin)
    assert "0.3 s" in refusal.message
    assert refusal.retryable
    crowd.threads.append(
        threading.Thread(target=crowd._write, args=(3, lambda w: save(w, task(3)), "p"))
    )
    crowd.threads[-1].start()
    until(lambda: 3 in crowd.done)
    assert isinstance(crowd.faults[3], StoreBusy)
    go_on.set()
    crowd.wait()
    assert isinstance(crowd.faults[2], StoreBusy)
    with store.writing("p") as writing:
        assert writing.select(Item) == []
        save(writing, task(4))
    store.close()


def test_a_batch_has_no_more_members_than_it_may(tmp_path, monkeypatch, task, save):
    """The rest of the line goes into the next one."""
    monkeypatch.setattr(batch, "LONGEST", PATIENCE)
    store = SqliteStore(tmp_path / "store.db", together=2)
    crowd = Crowd(store)
    commits: list[str] = []
    store._writer.trace_v2(
        apsw.SQLITE_TRACE_STMT,
        lambda event: commits.append(event["sql"]) if event["sql"] == "COMMIT" else None,
    )
    with store.writing("p") as writing:
        save(writing, task(1))
        for number in (2, 3, 4, 5):
            crowd.join(number, lambda w, n=number: save(w, task(n)))
    crowd.wait()
    assert len(commits) == 3
    store.close()


def test_who_has_waited_too_long_leaves_the_line_whole(shared, crowd, monkeypatch, task, save):
    """He is told and skipped; those behind go on."""
    with shared.writing("p") as writing:
        save(writing, task(1))
        crowd.join(2, lambda w: save(w, task(2)))
        monkeypatch.setattr(shared._batches, "_patience", 0.05)
        with pytest.raises(StoreBusy, match="turn"):
            shared._batches._take_turn()
        crowd.join(3, lambda w: save(w, task(3)))
        monkeypatch.setattr(shared._batches, "_patience", PATIENCE)
    crowd.wait()
    with shared.reading("p") as view:
        assert {item.number for item in view.select(Item)} == {1, 2, 3}


@pytest.mark.parametrize("late", [True, False])
def test_an_interrupted_writer_passes_the_turn_on(shared, crowd, monkeypatch, task, save, late):
    """In line it is skipped; called at that very moment, it calls the next one."""
    sleep = batch._Waiter.sleep
    me = threading.get_ident()

    def interrupted(waiter, patience: float) -> bool:
        if threading.get_ident() == me and patience > 0:
            monkeypatch.setattr(batch._Waiter, "sleep", sleep)
            if late:
                go_on.set()
                until(lambda: not waiter.wakeup.locked())
            raise KeyboardInterrupt
        return sleep(waiter, patience)

    go_on = threading.Event()
    begun = threading.Event()

    def hold(writing) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        save(writing, task(1))

    first = threading.Thread(target=crowd._write, args=(1, hold, "p"))
    crowd.threads.append(first)
    first.start()
    assert begun.wait(PATIENCE)
    monkeypatch.setattr(batch._Waiter, "sleep", interrupted)
    refused(KeyboardInterrupt, shared, fail)
    go_on.set()
    crowd.wait()
    with shared.writing("p") as writing:
        assert [item.number for item in writing.select(Item)] == [1]


class WatchedLine(deque):
    """The line of a store's writers; notes how many blocks may come before whoever joins it."""

    def __init__(self, blocks: list[int]) -> None:
        """Watch the line of a store whose blocks note their thread in a list as they begin."""
        super().__init__()
        self.blocks = blocks
        self.latest: dict[int, int] = {}
        self.longest = 0

    def append(self, waiter) -> None:
        """Let a thread join: before it go those ahead in the line, and the one whose turn it is."""
        self.latest[threading.get_ident()] = len(self.blocks) + len(self) + 1
        super().append(waiter)
        self.longest = max(self.longest, len(self))


def test_sixty_four_threads_are_served_in_the_order_of_their_line(tmp_path, entry):
    """Nobody overtakes a thread that waits, in this batch or a later one; no write is lost.

    Which threads wait how often is up to the machine, so the order is compared and not the number.
    """
    store = SqliteStore(tmp_path / "store.db", patience=PATIENCE, together=8)
    quota, threads = 1600, 64
    places = count()
    blocks: list[int] = []
    line = store._batches._waiting = WatchedLine(blocks)
    overtaken: list[tuple[int, int]] = []

    def write(writing) -> None:
        number = len(blocks)
        latest = line.latest.pop(threading.get_ident(), number)
        if number > latest:
            overtaken.append((number, latest))
        blocks.append(threading.get_ident())
        writing.append(entry(writing.head().size))

    def run() -> None:
        while next(places) < quota:
            with store.writing("p") as writing:
                write(writing)

    crowd = [threading.Thread(target=run) for _ in range(threads)]
    with store.writing("p") as writing:
        next(places)
        write(writing)
        for thread in crowd:
            thread.start()
        until(lambda: len(line) == threads)
    for thread in crowd:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert line.longest == threads
    assert overtaken == []
    assert len(set(blocks)) == threads + 1
    with store.reading("p") as view:
        assert view.head().size == quota
        assert [int(data.split()[1]) for data in view.entries()] == list(range(quota))
    store.close()


@pytest.mark.parametrize("answers", [20, 90, 300])
def test_what_was_answered_before_a_kill_is_there(tmp_path, answers):
    path = tmp_path / "store.db"
    process = subprocess.Popen([sys.executable, "-c", ANSWERED, str(path)], stdout=subprocess.PIPE)
    heard = [int(process.stdout.readline()) for _ in range(answers)]
    process.kill()
    rest, _ = process.communicate(timeout=PATIENCE)
    heard += [int(line) for line in rest.split(b"\n")[:-1] if line]
    store = SqliteStore(path)
    with store.reading("p") as view:
        size = view.head().size
        assert size > max(heard)
        assert len(set(heard)) == len(heard)
        assert [int(data.split()[1]) for data in view.entries()] == list(range(size))
    assert faults_of(store) == []
    store.close()


def test_no_answer_comes_before_the_disk_has_it(shared, crowd, task, save):
    """While the COMMIT is under way nobody of the batch has left."""
    seen: list[tuple[str, list[int]]] = []

    def hear(event) -> None:
        if event["sql"] == "COMMIT":
            seen.append(("before", list(crowd.done)))

    shared._writer.trace_v2(apsw.SQLITE_TRACE_STMT, hear)
    shared._writer.set_commit_hook(lambda: seen.append(("at", list(crowd.done))) or False)
    with shared.writing("p") as writing:
        save(writing, task(1))
        for number in (2, 3, 4):
            crowd.join(number, lambda w, n=number: save(w, task(n)))
    crowd.wait()
    assert seen == [("before", []), ("at", [])]
    assert sorted(crowd.done) == [2, 3, 4]


def test_the_words_of_a_text_are_kept_once_for_all(shared, crowd):
    """Two neighbours that keep the same text find it there, and neither fails."""
    text = "the same words"
    kept = {committed(text): salted(text)}
    with shared.writing("p") as writing:
        writing.keep(kept)
        crowd.join(2, lambda w: w.keep(kept))
    crowd.wait()
    with shared.reading("p") as view:
        assert [text for _, text in view.texts()] == [*kept.values()]

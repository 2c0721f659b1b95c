"""Writers go in the order in which they came, and the dead are not waited for."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from counterpoint.kernel.errors import StoreBusy, StoreFull, StoreReadOnly
from counterpoint.storage.sqlite.queue import HAS_TICKETS, WriterQueue

tickets_only = pytest.mark.skipif(not HAS_TICKETS, reason="this system has no such locks")

HOLD = """
import sys
from pathlib import Path
from counterpoint.storage.sqlite.queue import WriterQueue
with WriterQueue(Path(sys.argv[1]), patience=30).turn():
    print("mine", flush=True)
    sys.stdin.read()
"""
TURNS = """
import sys
from pathlib import Path
from counterpoint.storage.sqlite.queue import WriterQueue
line, log = WriterQueue(Path(sys.argv[1]), patience=30), Path(sys.argv[1] + ".log")
print("here", flush=True)
sys.stdin.readline()
for _ in range(50):
    with line.turn() as ticket, log.open("a") as out:
        out.write(f"{ticket}\\n")
"""


def _start(script, path):
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _drawn(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[:8], "big") if path.exists() else 0


def _wait_until(true):
    end = time.monotonic() + 20
    pulse = threading.Event()
    while not true():
        assert time.monotonic() < end, "it took too long"
        pulse.wait(0.001)


@pytest.fixture
def path(tmp_path):
    """Give the file of a queue."""
    return tmp_path / "store.db-queue"


@tickets_only
def test_threads_have_their_turn_in_the_order_they_came(path):
    """Each stands in line with a description of its own."""
    line = WriterQueue(path, patience=20)
    order: list[int] = []

    def write(number: int) -> None:
        with line.turn():
            order.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    with line.turn():
        for place, thread in enumerate(threads):
            thread.start()
            _wait_until(lambda place=place: _drawn(path) == place + 2)
        assert order == []
    for thread in threads:
        thread.join(20)
    assert order == list(range(12))


@tickets_only
def test_eight_processes_go_strictly_by_ticket_and_none_starves(path):
    """The log of turns counts upward without a gap: nobody ever overtook anybody."""
    processes = [_start(TURNS, path) for _ in range(8)]
    for process in processes:
        assert process.stdout.readline() == "here\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=40)
        assert process.returncode == 0
    turns = [int(line) for line in Path(f"{path}.log").read_text().split()]
    assert turns == list(range(8 * 50))


@tickets_only
@pytest.mark.parametrize("who", ["holder", "waiter"])
def test_a_killed_writer_passes_the_turn_on(path, who):
    """The kernel frees its byte, in turn or in line, and the next in line goes."""
    line = WriterQueue(path, patience=20)
    if who == "holder":
        process = _start(HOLD, path)
        assert process.stdout.readline() == "mine\n"
        reached = threading.Event()
        next_one = threading.Thread(target=lambda: _take(line, reached))
        next_one.start()
        _wait_until(lambda: _drawn(path) == 2)
        assert not reached.is_set()
        process.kill()
    else:
        with line.turn():
            process = _start(HOLD, path)
            _wait_until(lambda: _drawn(path) == 2)
            reached = threading.Event()
            next_one = threading.Thread(target=lambda: _take(line, reached))
            next_one.start()
            _wait_until(lambda: _drawn(path) == 3)
            process.kill()
            process.wait(10)
            assert not reached.is_set()
    assert reached.wait(10)
    next_one.join(10)
    process.communicate(timeout=10)


def _take(line, reached):
    with line.turn():
        reached.set()


@pytest.mark.parametrize("tickets", [pytest.param(True, marks=tickets_only), False])
def test_a_wait_has_an_end_that_is_named(path, tickets):
    """StoreBusy says how long it waited; leaving the line spoils nothing."""
    line = WriterQueue(path, patience=20, tickets=tickets)
    hasty = WriterQueue(path, patience=0.05, tickets=tickets)
    with line.turn(), pytest.raises(StoreBusy, match=r"0\.05 s") as refusal, hasty.turn():
        pass
    assert refusal.value.facts["waited_seconds"] == 0.05
    with WriterQueue(path, patience=1, tickets=tickets).turn():
        pass


@pytest.mark.parametrize("tickets", [pytest.param(True, marks=tickets_only), False])
def test_one_at_a_time_with_and_without_tickets(path, tickets):
    """Two threads are never in turn together, nor after a block that raised."""
    line = WriterQueue(path, patience=20, tickets=tickets)
    inside: list[int] = []
    most: list[int] = []

    def write() -> None:
        for _ in range(25):
            with line.turn():
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    with pytest.raises(ZeroDivisionError), line.turn():
        raise ZeroDivisionError
    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(most) == 100
    assert set(most) == {1}


def test_a_queue_that_cannot_be_made_says_so(tmp_path, ordinary):
    """A folder that is not ours to write in."""
    with pytest.raises(StoreReadOnly), WriterQueue(Path("/store.db-queue"), patience=1).turn():
        pass


@tickets_only
@pytest.mark.parametrize("content", [b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"garbage!", b"\0\0"])
def test_a_ticket_that_nobody_can_have_drawn_begins_the_queue_anew(tmp_path, content):
    """Somebody wrote into the file: what a lock cannot stand for would refuse every write for ever."""
    path = tmp_path / "queue"
    path.write_bytes(content)
    line = WriterQueue(path, patience=1)
    for ticket in range(2):
        with line.turn() as drawn:
            assert drawn == ticket


@tickets_only
def test_a_ticket_that_finds_no_room_is_a_full_store_and_the_next_has_its_turn(path):
    """The write of the ticket is an error of the store too, and leaves no lock behind."""
    queue = WriterQueue(path, patience=5)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(StoreFull) as refused:
            queue.enter()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(path) in str(refused.value)
    with queue.turn() as ticket:
        assert ticket == 0

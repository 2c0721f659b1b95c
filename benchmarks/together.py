"""Threads of one process that write at once: what sharing a commit brings."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue

import apsw
from _floors import open_bare, stepping
from _measure import Row, asked, caller, folder, opened, publish

from counterpoint.core.model.filters import Note
from counterpoint.storage.sqlite.batch import MOST_MEMBERS
from counterpoint.storage.sqlite.store import SqliteStore

_WRITERS = (1, 8, 16, 64)
_PER_ROUND = 1600
_BYTES = 500
"""About as long as the entry of a note."""


class _Run:
    """What a race came to: the seconds it took, how many writes each thread made, its longest."""

    def __init__(self, seconds: float, counts: list[int], waits: list[float]) -> None:
        self.rate = sum(counts) / seconds
        self.counts = counts
        self.longest = max(waits)

    @property
    def spread(self) -> str:
        """The fewest and the most writes of a thread."""
        return f"{min(self.counts)} … {max(self.counts)}"

    @property
    def furthest(self) -> float:
        """How far the thread furthest from the mean is from it, in percent."""
        middle = sum(self.counts) / len(self.counts)
        return max(abs(count - middle) for count in self.counts) / middle * 100


def main() -> None:
    """Measure, print, write; a round is 1,600 writes of all threads together."""
    wanted = asked(__doc__ or "", rounds=3)
    rows: list[Row] = []
    for many in _WRITERS:
        quota = _PER_ROUND * wanted.rounds
        ours = _notes(many, quota, MOST_MEMBERS)
        alone = _notes(many, quota, 1)
        with folder() as place, _grouped(place / "bare.db") as append:
            bare = _race(append, many, quota)
        rows += _rows(f"{many:2} threads", ours, alone, bare)
    publish("together", rows)


def _rows(who: str, ours: _Run, alone: _Run, bare: _Run) -> list[Row]:
    return [
        Row(
            what=f"{who}, notes together",
            figure=ours.rate,
            unit="/s",
            floor=alone.rate,
            beside="one commit each",
        ),
        Row(
            what="  against bare appends",
            figure=ours.rate,
            unit="/s",
            floor=bare.rate,
            beside="grouped in apsw",
        ),
        Row(
            what="  furthest from the mean",
            figure=ours.furthest,
            unit="%",
            low=min(ours.counts),
            high=max(ours.counts),
            most=20,
        ),
        Row(
            what="  longest write",
            figure=ours.longest * 1e3,
            unit="ms",
            floor=alone.longest * 1e3,
            beside=f"one commit each ({alone.spread} a thread)",
        ),
    ]


def _notes(many: int, quota: int, together: int) -> _Run:
    """Let threads write notes, so many at most in a commit."""
    note = Note(kind="finding", body="found")
    with opened() as (app,):
        app.store = SqliteStore(app.database, together=together)
        core = caller(app)
        return _race(lambda: core().journal.append(note), many, quota)


def _race(write: Callable[[], object], many: int, quota: int) -> _Run:
    """Let so many threads write as fast as they can until the quota is written."""
    write()
    places = itertools.count()
    counts, waits = [0] * many, [0.0] * many
    barrier = threading.Barrier(many + 1)

    def run(number: int) -> None:
        barrier.wait(60)
        begin = time.perf_counter()
        while next(places) < quota:
            write()
            before, begin = begin, time.perf_counter()
            counts[number] += 1
            waits[number] = max(waits[number], begin - before)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(many)]
    for thread in threads:
        thread.start()
    barrier.wait(60)
    begin = time.perf_counter()
    for thread in threads:
        thread.join()
    return _Run(time.perf_counter() - begin, counts, waits)


@contextmanager
def _grouped(path: Path) -> Iterator[Callable[[], None]]:
    """Lend bare appends: one thread writes for all, and commits when nobody waits any more."""
    asked_for: SimpleQueue[threading.Lock | None] = SimpleQueue()
    connection = open_bare(path)
    writer = threading.Thread(target=_serve, args=(asked_for, connection))
    writer.start()

    def append() -> None:
        done = threading.Lock()
        done.acquire()
        asked_for.put(done)
        done.acquire()

    try:
        yield append
    finally:
        asked_for.put(None)
        writer.join()
        connection.close()


def _serve(asked_for: SimpleQueue[threading.Lock | None], connection: apsw.Connection) -> None:
    step = stepping(connection, _BYTES)
    while (first := asked_for.get()) is not None:
        batch = [first]
        connection.execute("BEGIN IMMEDIATE")
        step()
        while len(batch) < MOST_MEMBERS:
            try:
                follower = asked_for.get_nowait()
            except Empty:
                break
            if follower is None:
                asked_for.put(None)
                break
            step()
            batch.append(follower)
        connection.execute("COMMIT")
        for done in batch:
            done.release()


if __name__ == "__main__":
    main()

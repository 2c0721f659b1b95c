"""Many processes that write at once: total, fairness and the longest wait."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.synchronize import Barrier
from pathlib import Path

from _floors import appending, open_bare
from _measure import Row, asked, caller, folder, publish
from _pipe import ECHO, Pipe

from counterpoint.app import open_app
from counterpoint.core.model.filters import Note

_WRITERS = (1, 4, 8, 16)
_IN_FLIGHT = 8

Count = tuple[int, float]
"""How many writes a process made, and its longest one in seconds."""


def main() -> None:
    """Measure, print, write; a round is a second of writing."""
    wanted = asked(__doc__ or "", rounds=2)
    rows: list[Row] = []
    with folder() as place:
        echo = _echoes(place, wanted.rounds)
        rows.append(Row(what=f"one echo server, {_IN_FLIGHT} in flight", figure=echo, unit="/s"))
        for many in _WRITERS:
            bare = _race(_bare, place / f"bare-{many}.db", many, wanted.rounds)
            ours = _race(_ours, place / f"ours-{many}" / "ledger.db", many, wanted.rounds)
            rows += _rows(f"{many:2} writers", ours, bare, wanted.rounds)
            if many == _WRITERS[-1]:
                total = sum(count for count, _ in ours) / wanted.rounds
                what = "  against what the echo carries"
                beside = "echoes"
                rows.append(
                    Row(what=what, figure=total, unit="/s", floor=echo, beside=beside, least=0.7)
                )
    publish("writers", rows)


def _rows(who: str, ours: list[Count], bare: list[Count], seconds: int) -> list[Row]:
    counts, theirs = [count for count, _ in ours], [count for count, _ in bare]
    middle = sum(counts) / len(counts)
    worst = max(abs(count - middle) for count in counts) / middle * 100
    spread = f"busy_timeout ({min(theirs)} … {max(theirs)} a writer)"
    return [
        Row(
            what=f"{who}, notes together",
            figure=sum(counts) / seconds,
            unit="/s",
            floor=sum(theirs) / seconds,
            beside=spread,
        ),
        Row(
            what=f"{who}, furthest from the mean",
            figure=worst,
            unit="%",
            low=min(counts),
            high=max(counts),
            most=20,
        ),
        Row(
            what=f"{who}, longest write",
            figure=max(wait for _, wait in ours) * 1e3,
            unit="ms",
            floor=max(wait for _, wait in bare) * 1e3,
            beside="busy_timeout",
        ),
    ]


def _race(
    write: Callable[[Path, Barrier, int], Count], path: Path, many: int, seconds: int
) -> list[Count]:
    """Let so many processes write as fast as they can for some seconds."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as shared, context.Pool(many) as pool:
        barrier = shared.Barrier(many)
        return pool.starmap(write, [(path, barrier, seconds)] * many, chunksize=1)


def _ours(path: Path, barrier: Barrier, seconds: int) -> Count:
    app = open_app(path.parent.parent, {}, db=str(path), project="bench", agent="bench")
    core = caller(app)
    return _write(
        lambda: core().journal.append(Note(kind="finding", body="found")), barrier, seconds
    )


def _bare(path: Path, barrier: Barrier, seconds: int) -> Count:
    return _write(appending(open_bare(path), 500), barrier, seconds)


def _write(write: Callable[[], object], barrier: Barrier, seconds: int) -> Count:
    write()
    barrier.wait(60)
    count, longest = 0, 0.0
    now = time.perf_counter()
    end = now + seconds
    while now < end:
        write()
        begin, now = now, time.perf_counter()
        count, longest = count + 1, max(longest, now - begin)
    return count, longest


def _echoes(place: Path, seconds: int) -> float:
    """Answer how many echoes a second one server of the SDK carries."""
    with ExitStack() as held:
        pipe = held.enter_context(Pipe(ECHO, place))
        ask = {"name": "echo", "arguments": {"text": "x" * 80}}
        pipe.ask("tools/call", **ask)
        for _ in range(_IN_FLIGHT):
            pipe.send("tools/call", **ask)
        count, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            pipe.hear()
            pipe.send("tools/call", **ask)
            count += 1
        for _ in range(_IN_FLIGHT):
            pipe.hear()
        return count / seconds


if __name__ == "__main__":
    main()

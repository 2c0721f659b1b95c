"""Start and complete a task, durable, from a thousand tasks upwards."""

from __future__ import annotations

import hashlib
import statistics
import time
from pathlib import Path

import apsw
from _measure import Row, arguments, caller, graph, opened, publish, timed
from _measure import row as series

from counterpoint.core.model.asks import Report


def floor(folder: Path) -> list[float]:
    """Answer the seconds of two durable commits with a hash and two rows each: what cannot be less."""
    connection = apsw.Connection(str(folder / "floor.db"))
    connection.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE ledger(n INTEGER PRIMARY KEY, data BLOB, hash BLOB)")
    connection.execute("CREATE TABLE items(n INTEGER PRIMARY KEY, status TEXT)")
    data = b"x" * 1200

    def commit() -> None:
        with connection:
            connection.execute(
                "INSERT INTO ledger(data, hash) VALUES(?, ?)", (data, hashlib.sha256(data).digest())
            )
            connection.execute("INSERT INTO items(status) VALUES('active')")

    def both() -> None:
        commit()
        commit()

    return timed(both, 200)


def main() -> None:
    """Measure, print, write."""
    asked = arguments(main.__doc__ or "")
    sizes = [1_000, 10_000, 100_000, *([1_000_000] if asked.full else [])]
    rows: list[Row] = []
    for size in sizes:
        with opened() as app:
            core = caller(app)
            begin = time.perf_counter()
            ready = iter(graph(core(), "free", size))
            making = time.perf_counter() - begin

            def work() -> None:
                one = core()
                started = one.claims.start(next(ready))
                one.tasks.finish(
                    started.item.id, started.claim.token, Report(outcome="done", summary="done")
                )

            seconds = timed(work, min(asked.rounds, size // 2), warmup=20)
            least = statistics.median(floor(app.folder)) * 1e3
            rows.append(
                series(
                    f"start + finish among {size:,} tasks",
                    seconds,
                    floor=least,
                    beside="two bare durable commits",
                )
            )
            rows.append(Row(what=f"  the same against the promise", figure=rows[-1].figure, unit="ms", budget=4.0))
            rows.append(Row(what=f"  making {size:,} tasks", figure=making / size * 1e6, unit="us a task"))
            disk = sum(file.stat().st_size for file in app.folder.glob("ledger.db*")) / 1e6
            budget = 20.0 if size == 10_000 else None
            rows.append(Row(what=f"  disk with {size:,} tasks", figure=disk, unit="MB", budget=budget))
    first, last = rows[0], [one for one in rows if one.what.startswith("start")][-1]
    rows.append(
        Row(
            what=f"growth from {sizes[0]:,} to {sizes[-1]:,}",
            figure=last.figure,
            unit="ms",
            floor=first.figure,
            beside=f"at {sizes[0]:,}",
            budget=1.5,
        )
    )
    publish("tasks", rows)


if __name__ == "__main__":
    main()

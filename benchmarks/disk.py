"""The size of a store of 10,000 tasks with its whole ledger, as more of them are done."""

from __future__ import annotations

from _measure import Row, asked, caller, graph, opened, publish
from apsw import Connection

from counterpoint.app import App
from counterpoint.core.model.filters import Report

_TASKS = 10_000
_MOST_MB = 19.3
"""Of the 20 MB promised, so much less that every second of the 20,102 entries may carry a signature of 64 bytes."""


def main() -> None:
    """Measure, print, write."""
    asked(__doc__ or "", rounds=1)
    rows: list[Row] = []
    with opened() as (app,):
        core = caller(app)
        ready = iter(graph(core(), "free", _TASKS))
        rows.append(_row("as planned", app))
        done = 0
        for share in (10, 100):
            while done < _TASKS * share // 100:
                started = core().claims.start(next(ready))
                report = Report(outcome="done", summary=f"did the work of task {done}")
                core().tasks.finish(started.item.id, started.claim.token, report)
                done += 1
            rows.append(_row(f"{share} % done", app))
        rows += _parts(app)
    publish("disk", rows)


def _row(when: str, app: App) -> Row:
    """Answer the size of the file once the log has been written into it."""
    connection = Connection(str(app.database))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    size = app.database.stat().st_size / 1e6
    return Row(what=f"10,000 tasks, {when}", figure=size, unit="MB", most=_MOST_MB)


def _parts(app: App) -> list[Row]:
    """Answer what takes the most room at the end."""
    connection = Connection(str(app.database))
    sizes = connection.execute(
        "SELECT name, sum(pgsize) / 1e6 AS size FROM dbstat GROUP BY name ORDER BY size DESC LIMIT 14"
    ).fetchall()
    connection.close()
    return [Row(what=f"  of which {name}", figure=size, unit="MB") for name, size in sizes]


if __name__ == "__main__":
    main()

"""The memory of a server with a hundred thousand items, beside an idle one of the SDK."""

from __future__ import annotations

from pathlib import Path

from _measure import Row, asked, caller, graph, opened, publish
from _pipe import ECHO, Pipe, ours

_TASKS = 100_000
_MOST_MB = 120
_CALLS = 200


def main() -> None:
    """Measure, print, write."""
    asked(__doc__ or "", rounds=1)
    with opened() as (app,):
        core = caller(app)()
        graph(core, "random", _TASKS)
        # Each text has a vector before, so that every search is by words and by meaning among all of them.
        while core.embedding.advance(_TASKS):
            pass
        ready, every = core.embedding.coverage() or (0, 0)
        app.close()
        place = app.folder
        with Pipe(ECHO, place) as echo, Pipe(ours(app.database), place) as server:
            for number in range(_CALLS):
                echo.call("echo", text="x")
                server.call("list", ready=True)
                server.call("show", id=f"bench-{number * 400 + 2}")
                server.call("find", query=f"task {number * 300}")
                server.call("note", kind="finding", text=f"found {number}")
            bare, used = _resident(echo), _resident(server)
    rows = [
        Row(what="an idle server of the SDK", figure=bare["VmRSS"], unit="MB"),
        Row(
            what=f"a server with {_TASKS:,} items, {ready:,} of {every:,} texts found by meaning too, after {4 * _CALLS} calls",
            figure=used["VmRSS"],
            unit="MB",
            floor=bare["VmRSS"],
            beside="SDK alone",
        ),
        Row(what="  of which the promise", figure=used["VmRSS"], unit="MB", most=_MOST_MB),
        Row(what="  of which its own", figure=used["RssAnon"], unit="MB"),
        Row(what="  of which files, the database among them", figure=used["RssFile"], unit="MB"),
    ]
    publish("memory", rows)


def _resident(pipe: Pipe) -> dict[str, float]:
    """Answer the resident memory of a process in MB, by what it holds (Linux)."""
    lines = Path(f"/proc/{pipe.process.pid}/status").read_text().splitlines()
    parts = (line.split() for line in lines)
    return {part[0][:-1]: int(part[1]) / 1000 for part in parts if part[-1] == "kB"}


if __name__ == "__main__":
    main()

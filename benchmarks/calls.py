"""One call over stdio, reading or writing, beside an echo of the SDK and a durable append.

Through a relay, as clients connect every day, and to a server in one process, each with a database
of its own. With --against a durable note through a relay, at another revision and here, in turn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count

from _floors import appending, open_bare
from _measure import Row, Series, alternate, asked, folder, median, publish, row
from _pipe import ECHO, Pipe, end_server, ours, relayed
from _revision import apart, checked_out, in_turn, rows_of

_WAYS = {"relay": relayed, "in process": ours}


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=400, is_compared=True)
    if wanted.against:
        publish("calls-against", _against(wanted.against, wanted.rounds))
        return
    with folder() as place, ExitStack() as held:
        (place / "tree").mkdir()
        echo = held.enter_context(Pipe(ECHO, place / "tree"))
        cases: dict[str, Callable[[], object]] = {
            "echo": lambda: echo.call("echo", text="x" * 80),
            "append": appending(open_bare(place / "bare.db"), 500),
        }
        for way, command in _WAYS.items():
            database = place / way / "ledger.db"
            database.parent.mkdir()
            held.callback(end_server, database)
            server = held.enter_context(Pipe(command(database), place / "tree"))
            cases |= {f"{name}, {way}": run for name, run in _cases(server).items()}
        found = alternate(cases, wanted.rounds, warmup=50)
    publish("calls", _rows(found))


def _against(revision: str, rounds: int) -> list[Row]:
    with checked_out(revision) as python, folder() as place, ExitStack() as held:
        notes: list[Callable[[], object]] = []
        for name, interpreter in (("before", python), ("now", sys.executable)):
            tree, database = place / name / "tree", place / name / "ledger.db"
            tree.mkdir(parents=True)
            held.callback(end_server, database, interpreter)
            argv = relayed(database, python=interpreter)
            pipe = held.enter_context(Pipe(argv, tree, apart(place / name)))
            notes.append(_cases(pipe)["note"])
        before, now = notes
        return rows_of("note", revision, in_turn(before, now, rounds, warmup=100))


def _cases(server: Pipe) -> dict[str, Callable[[], object]]:
    server.call("remember", action="set", key="k", value={"text": "x" * 80})
    server.call("plan", markdown="# Plan\n- [ ] One {#one}\n")
    number = count()
    return {
        "get": lambda: server.call("remember", action="get", key="k"),
        "show": lambda: server.call("show", id="bench-1"),
        "note": lambda: server.call("note", kind="finding", text=f"found {next(number)}"),
        "set": lambda: server.call("remember", action="set", key="k", value=next(number)),
    }


def _rows(found: Series) -> list[Row]:
    echoed, appended = median(found["echo"]), median(found["append"])
    both = echoed + appended
    rows = [
        row("echo on the SDK's low-level server", found["echo"]),
        row("durable append with a chain and a row", found["append"]),
    ]
    for way in _WAYS:
        for what, name in (("remember get", "get"), ("show", "show")):
            took = found[f"{name}, {way}"]
            rows.append(row(f"{way}, read: {what}", took, floor=echoed, beside="echo", most=1.5))
        for what, name in (("remember set", "set"), ("note", "note")):
            took = found[f"{name}, {way}"]
            rows.append(
                row(f"{way}, write: {what}", took, floor=both, beside="echo + append", most=1.5)
            )
    return rows


if __name__ == "__main__":
    main()

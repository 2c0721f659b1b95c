"""Calls of the colibri dialect, each durable before and after, beside two bare durable appends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from typing import Any

import orjson
from _floors import appending, open_bare
from _measure import Row, Series, alternate, asked, folder, median, publish, row
from _pipe import ECHO, Pipe, end_server, ours, relayed

_WAYS = {"relay": relayed, "in process": ours}
_MOST = 4.0


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=300)
    with folder() as place, ExitStack() as held:
        (place / "tree").mkdir()
        echo = held.enter_context(Pipe(ECHO, place / "tree"))
        append = appending(open_bare(place / "bare.db"), 500)
        cases: dict[str, Callable[[], object]] = {
            "echo": lambda: echo.call("echo", text="x" * 80),
            "appends": lambda: (append(), append()),
        }
        for way, command in _WAYS.items():
            database = place / way / "ledger.db"
            database.parent.mkdir()
            held.callback(end_server, database)
            argv = (*command(database), "--surface", "colibri")
            server = held.enter_context(Pipe(argv, place / "tree"))
            cases |= {f"{name}, {way}": run for name, run in _cases(server).items()}
        found = alternate(cases, wanted.rounds, warmup=30)
    publish("colibri", _rows(found))


def _present(line: bytes) -> Any:
    return orjson.loads(line)["result"]["structuredContent"]["data"]


def _cases(server: Pipe) -> dict[str, Callable[[], object]]:
    task = _present(server.call("task_create", title="A task"))["id"]
    session = _present(server.call("audit_session_start", intent="Measure"))["session_id"]
    number = count()
    said = {"type": "analysis", "task_id": task, "agent_id": "bench", "session_id": session}
    return {
        "thought": lambda: server.call("thought_record", **said, content=f"thought {next(number)}"),
        "update": lambda: server.call("task_update", id=task, title=f"title {next(number)}"),
        "get": lambda: server.call("task_get", id=task),
        "ping": lambda: server.call("server_ping"),
    }


def _rows(found: Series) -> list[Row]:
    both = median(found["echo"]) + median(found["appends"])
    rows = [
        row("echo on the SDK's low-level server", found["echo"]),
        row("two durable appends with a chain and a row", found["appends"]),
    ]
    names = {"thought": "thought_record", "update": "task_update"}
    names |= {"get": "task_get", "ping": "server_ping"}
    for way in _WAYS:
        for name, tool in names.items():
            rows.append(
                row(
                    f"{way}: {tool}",
                    found[f"{name}, {way}"],
                    floor=both,
                    beside="echo + two appends",
                )
            )
    return rows


if __name__ == "__main__":
    main()

"""One call over stdio, reading or writing, beside an echo of the SDK and a durable append."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import count

from _floors import appending, open_bare
from _measure import Row, alternate, asked, folder, median, publish, row
from _pipe import ECHO, Pipe, ours


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=400)
    with folder() as place, ExitStack() as held:
        (place / "tree").mkdir()
        echo = held.enter_context(Pipe(ECHO, place / "tree"))
        server = held.enter_context(Pipe(ours(place / "ledger.db"), place / "tree"))
        server.call("remember", action="set", key="k", value={"text": "x" * 80})
        server.call("plan", markdown="# Plan\n- [ ] One {#one}\n")
        number = count()
        cases = {
            "echo": lambda: echo.call("echo", text="x" * 80),
            "remember": lambda: server.call("remember", action="get", key="k"),
            "show": lambda: server.call("show", id="bench-1"),
            "append": appending(open_bare(place / "bare.db"), 500),
            "note": lambda: server.call("note", kind="finding", text=f"found {next(number)}"),
            "set": lambda: server.call("remember", action="set", key="k", value=next(number)),
        }
        found = alternate(cases, wanted.rounds, warmup=50)
    echoed, appended = median(found["echo"]), median(found["append"])
    reads = {"floor": echoed, "beside": "echo", "most": 1.5}
    writes = {"floor": echoed + appended, "beside": "echo + append", "most": 1.5}
    rows: list[Row] = [
        row("echo on the SDK's low-level server", found["echo"]),
        row("durable append with a chain and a row", found["append"]),
        row("read: remember get", found["remember"], **reads),
        row("read: show", found["show"], **reads),
        row("write: remember set", found["set"], **writes),
        row("write: note", found["note"], **writes),
    ]
    publish("calls", rows)


if __name__ == "__main__":
    main()

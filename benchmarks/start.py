"""From the start of an agent's process to its answers, beside bare Python and a bare server.

A round: bare Python, the SDK's bare server, ours in one process, a relay that finds no server, and
a relay that finds the one the other has started, which is ended afterwards.
"""

from __future__ import annotations

import compileall
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from _measure import Row, Series, asked, folder, median, publish, row
from _pipe import ECHO, Pipe, end_server, ours, relayed

import counterpoint

_MOST_MS = 100
_MOST_MB = 12
_CALLS = 200


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=9)
    compileall.compile_dir(str(Path(counterpoint.__file__).parent), quiet=1)
    found: Series = {}
    with folder() as place:
        there = place / "there.db"
        with Pipe(ours(there), place) as server:
            server.call("brief")
        try:
            for number in range(-1, wanted.rounds):
                took = _round(place, there)
                for name, seconds in took.items() if number >= 0 else ():
                    found.setdefault(name, []).append(seconds)
            memory = _memory(place, there)
        finally:
            end_server(there)
    publish("start", [*_rows(found), *memory])


def _round(place: Path, database: Path) -> dict[str, float]:
    bare = (sys.executable, "-c", "pass")
    python = _timed(lambda: subprocess.run(bare, check=True))
    sdk = _lives(ECHO, place)
    ours_listed, ours_called = _lives(ours(database), place, "brief")
    cold_listed, cold_called = _lives(relayed(database), place, "brief")
    warm_listed, warm_called = _lives(relayed(database), place, "brief")
    end_server(database)
    return {
        "python": python,
        "sdk": sdk[0],
        "ours": ours_listed,
        "ours brief": ours_called,
        "down": cold_listed,
        "down brief": cold_called,
        "up": warm_listed,
        "up brief": warm_called,
    }


def _timed(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _lives(argv: Sequence[str], place: Path, tool: str = "") -> tuple[float, float]:
    """Answer the seconds from a start to the list, and to the answer of a first call."""
    begin = time.perf_counter()
    pipe = Pipe(argv, place)
    pipe.ask("tools/list")
    listed = time.perf_counter() - begin
    if tool:
        pipe.call(tool)
    called = time.perf_counter() - begin
    # It is ended at once: its leaving is not measured.
    pipe.process.kill()
    pipe.__exit__(None, None, None)
    return listed, called


def _rows(found: Series) -> list[Row]:
    python = {"floor": median(found["python"]), "beside": "bare Python"}
    sdk = {"floor": median(found["sdk"]), "beside": "bare SDK server"}
    return [
        row("bare Python", found["python"]),
        row("bare SDK server to tools/list", found["sdk"]),
        row("relay to tools/list, server up", found["up"], most=_MOST_MS),
        row("  beside bare Python", found["up"], **python),
        row("relay to tools/list, server down", found["down"], most=_MOST_MS),
        row("  beside bare Python", found["down"], **python),
        row("relay to the answer of `brief`, server up", found["up brief"]),
        row("relay to the answer of `brief`, server down", found["down brief"], **sdk),
        row("in one process, to tools/list", found["ours"], **sdk),
        row("in one process, to the answer of `brief`", found["ours brief"], **sdk),
    ]


def _memory(place: Path, database: Path) -> list[Row]:
    """Answer the most memory that a relay has had after many calls, beside bare Python."""
    pausing = (sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()")
    with Pipe(pausing, place) as bare, Pipe(relayed(database), place) as relay:
        bare.hear()
        for number in range(_CALLS):
            relay.call("note", kind="finding", text=f"found {number}")
            relay.call("brief")
        python, used = bare.status()["VmHWM"], relay.status()["VmHWM"]
    what = f"memory of a relay after {2 * _CALLS} calls, at most"
    return [
        Row(what="memory of bare Python", figure=python, unit="MB"),
        Row(what=what, figure=used, unit="MB", most=_MOST_MB),
        Row(what="  beside bare Python", figure=used, unit="MB", floor=python, beside="alone"),
    ]


if __name__ == "__main__":
    main()

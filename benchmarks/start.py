"""From the start of a server to its answer to `tools/list`, beside bare Python and a bare server.

The budget of 100 ms is for the relay, which answers before its server runs; a server on its own
pays for importing the SDK.
"""

from __future__ import annotations

import compileall
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from _measure import Row, alternate, asked, folder, median, publish, row
from _pipe import ECHO, Pipe, ours

import counterpoint


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=5)
    compileall.compile_dir(str(Path(counterpoint.__file__).parent), quiet=1)
    with folder() as place:
        there = place / "there.db"
        _list(ours(there), place)
        with Pipe(ours(there), place) as server:
            server.call("brief")
        cases = {
            "python": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
            "sdk": lambda: _list(ECHO, place),
            "ours": lambda: _list(ours(there), place),
            "brief": lambda: _brief(ours(there), place),
        }
        found = alternate(cases, wanted.rounds, warmup=1)
    floor = {"floor": median(found["sdk"]), "beside": "bare SDK server"}
    rows: list[Row] = [
        row("bare Python", found["python"]),
        row("bare SDK server to tools/list", found["sdk"]),
        row("counterpoint mcp to tools/list", found["ours"], **floor),
        row("  the same against the promise", found["ours"], most=100),
        row("counterpoint mcp to the answer of `brief`", found["brief"], **floor),
    ]
    publish("start", rows)


def _list(argv: Sequence[str], place: Path) -> None:
    pipe = Pipe(argv, place)
    pipe.ask("tools/list")
    _end(pipe)


def _brief(argv: Sequence[str], place: Path) -> None:
    pipe = Pipe(argv, place)
    pipe.call("brief")
    _end(pipe)


def _end(pipe: Pipe) -> None:
    """End the server at once: its leaving is not measured."""
    pipe.process.kill()
    pipe.__exit__(None, None, None)


if __name__ == "__main__":
    main()

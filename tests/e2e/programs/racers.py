"""Racers: processes that ask the same at the same moment, each through a core of its own.

The input is one JSON object:

    {"folder", "db", "racers": n, "ahead": seconds the clocks are ahead, "same": bool,
     "together": bool, "rounds": [asked, …] or [[asked of racer 0, asked of racer 1, …], …]}

same: all are one agent in one session. together: wait for all before each round, else before the
first only. The output has a line for each answer, {"racer", "round", "answer"}, and for each
refusal, {"racer", "round", "error": code, "message"}.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from typing import Any

from acts import identity, open_shifted, perform

from counterpoint.kernel.errors import CounterpointError

CONTEXT = multiprocessing.get_context("fork")
PATIENCE = 120


def report(line: dict[str, Any]) -> None:
    """Write one line, whole."""
    os.write(1, json.dumps(line).encode() + b"\n")


def race(race_: dict[str, Any], racer: int, line: Any) -> None:
    """Be one racer."""
    app = open_shifted(race_["folder"], race_["db"], race_["ahead"])
    who = identity("same" if race_["same"] else f"racer{racer}")
    app.core(who).projects.find()
    for round_, asked in enumerate(race_["rounds"]):
        if race_["together"] or round_ == 0:
            line.wait(PATIENCE)
        said: dict[str, Any] = {"racer": racer, "round": round_}
        try:
            said["answer"] = perform(
                app.core(who), asked[racer] if isinstance(asked, list) else asked
            )
        except CounterpointError as refusal:
            said |= {"error": refusal.code, "message": refusal.message}
        report(said)
    app.close()


def main() -> None:
    """Start all, wait for all; the exit code says whether each came through."""
    race_ = json.load(sys.stdin)
    line = CONTEXT.Barrier(race_["racers"])
    started = [
        CONTEXT.Process(target=race, args=(race_, racer, line)) for racer in range(race_["racers"])
    ]
    for one in started:
        one.start()
    for one in started:
        one.join()
    sys.exit(any(one.exitcode for one in started))


if __name__ == "__main__":
    main()

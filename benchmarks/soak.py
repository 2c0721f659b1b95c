"""A server that works for some minutes: what grows of its memory, descriptors, threads and files."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import ExitStack
from pathlib import Path

from _measure import Row, folder, publish
from _pipe import Pipe, end_server, relayed

_AGENTS = 4
_WARM = 0.2
"""The part of the time after which growth counts."""
_MOST_MB = 120


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    seconds: float = parser.parse_args().seconds
    with folder() as place, ExitStack() as held:
        database = place / "ledger.db"
        held.callback(end_server, database)
        agents = [
            held.enter_context(Pipe(relayed(database, f"agent-{number}"), place))
            for number in range(_AGENTS)
        ]
        calls, warm = 0, {}
        begin = time.monotonic()
        while (spent := time.monotonic() - begin) < seconds:
            calls += sum(_work(agent, calls) for agent in agents)
            if not warm and spent > _WARM * seconds:
                warm = {"calls": calls, **_state(database)}
        found = _state(database)
    publish("soak", _rows(seconds, calls, warm, found))


def _work(agent: Pipe, number: int) -> int:
    """Do what an agent does with a task; answer how many calls that took."""
    made = json.loads(agent.call("plan", markdown=f"# Plan {number}\n- [ ] Walnut {number}\n"))
    task = made["result"]["structuredContent"]["items"][-1]["id"]
    started = json.loads(agent.call("start", id=task))["result"]["structuredContent"]
    agent.call("note", kind="finding", text=f"found {number}", id=task)
    agent.call("find", query=f"walnut {number}")
    agent.call("brief")
    agent.call("finish", id=task, token=_token(started), outcome="done", summary="planted")
    return 6


def _token(started: dict[str, object]) -> object:
    claim = started.get("claim")
    return claim["token"] if isinstance(claim, dict) else started["token"]


def _state(database: Path) -> dict[str, float]:
    """Answer what the server holds now."""
    server = json.loads(Path(f"{database}-server.json").read_text())["pid"]
    lines = Path(f"/proc/{server}/status").read_text().splitlines()
    parts = {line.split(":")[0]: line.split()[1] for line in lines if len(line.split()) > 1}
    return {
        "memory": int(parts["VmRSS"]) / 1000,
        "threads": int(parts["Threads"]),
        "descriptors": sum(1 for _ in Path(f"/proc/{server}/fd").iterdir()),
        "ledger": database.stat().st_size / 1e6,
        "wal": Path(f"{database}-wal").stat().st_size / 1e6,
    }


def _rows(seconds: float, calls: int, warm: dict[str, float], found: dict[str, float]) -> list[Row]:
    units = {"memory": "MB", "threads": "", "descriptors": "", "ledger": "MB", "wal": "MB"}
    return [
        Row(what=f"calls of {_AGENTS} agents in {seconds:g} s", figure=calls, unit=""),
        *(
            Row(
                what=f"{name} at the end",
                figure=round(found[name], 3),
                unit=unit,
                floor=warm[name],
                beside=f"after {_WARM:.0%} of the time",
            )
            for name, unit in units.items()
        ),
        Row(
            what="memory at the end, as promised", figure=found["memory"], unit="MB", most=_MOST_MB
        ),
        Row(
            what="ledger for each call",
            figure=round((found["ledger"] - warm["ledger"]) * 1e6 / max(1, calls - warm["calls"])),
            unit="bytes",
        ),
    ]


if __name__ == "__main__":
    main()

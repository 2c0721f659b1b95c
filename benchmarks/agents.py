"""Agents that write at once through one server: total, fairness, the longest wait, what fails.

Each agent is a relay of its own, as a client starts it, with one note under way at any time. One
thread of bare pipes drives all of them, and the echo of the SDK with as many requests under way;
what it costs is a row of its own.
"""

from __future__ import annotations

import json
import os
import select
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from _floors import open_bare, stepping
from _measure import Row, asked, folder, publish
from _pipe import ECHO, Pipe, end_server, relayed

_AGENTS = (16, 64)
_SECONDS = 2.0
_BYTES = 500
"""About as long as the entry of a note."""
_ECHO = {"name": "echo", "arguments": {"text": "x" * 80}}
_NOTE = {"name": "note", "arguments": {"kind": "finding", "text": "x" * 80}}


@dataclass(slots=True, kw_only=True)
class _Run:
    """What the races of one case came to."""

    rates: list[float] = field(default_factory=list[float])
    counts: list[int] = field(default_factory=list[int])
    waits: list[float] = field(default_factory=list[float])
    failed: int = 0
    driver: float = 0.0
    server: float = 0.0
    relays: float = 0.0

    @property
    def rate(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.rates)

    def add(self, counts: list[int]) -> None:
        """Add what each agent has done in a round."""
        before = self.counts or [0] * len(counts)
        self.counts = [old + more for old, more in zip(before, counts, strict=True)]
        self.rates.append(sum(counts) / _SECONDS)


def main() -> None:
    """Measure, print, write; a round is two seconds of each case."""
    wanted = asked(__doc__ or "", rounds=3)
    rows: list[Row] = []
    for many in _AGENTS:
        rows += _measured(many, wanted.rounds)
    publish("agents", rows)


def _measured(many: int, rounds: int) -> list[Row]:
    ours, echo, bare = _Run(), _Run(), _Run()
    with folder() as place, ExitStack() as held:
        database = place / "ledger.db"
        held.callback(end_server, database)
        agents = [
            held.enter_context(Pipe(relayed(database, f"agent-{number}"), place))
            for number in range(many)
        ]
        for agent in agents:
            agent.ask("tools/call", **_NOTE)
        echoes = [held.enter_context(Pipe(ECHO, place))]
        echoes[0].ask("tools/call", **_ECHO)
        known = json.loads((place / "ledger.db-server.json").read_text())
        for _ in range(rounds):
            before = _spent([known["pid"]]), _spent(_numbers(agents))
            _race(agents, _NOTE, 1, ours)
            ours.server += _spent([known["pid"]]) - before[0]
            ours.relays += _spent(_numbers(agents)) - before[1]
            _race(echoes, _ECHO, many, echo)
            _append(place / "bare.db", many, bare)
        memory = max(agent.status()["VmHWM"] for agent in agents)
    return _rows(many, ours, echo, bare, memory)


def _race(pipes: Sequence[Pipe], request: dict[str, object], deep: int, run: _Run) -> None:
    """Keep so many requests under way on each pipe until the time is over; hear the last ones."""
    poll = select.poll()
    places = {pipe.fileno(): place for place, pipe in enumerate(pipes)}
    for descriptor in places:
        poll.register(descriptor, select.POLLIN)
    counts, begun = [0] * len(pipes), [0.0] * len(pipes)
    spent = time.process_time()
    end = time.perf_counter() + _SECONDS
    for place, pipe in enumerate(pipes):
        begun[place] = time.perf_counter()
        for _ in range(deep):
            pipe.send("tools/call", **request)
    under_way = deep * len(pipes)
    while under_way:
        for descriptor, _ in poll.poll():
            place = places[descriptor]
            for line in pipes[place].take():
                now = time.perf_counter()
                run.failed += b'"error":{' in line or b'"isError":true' in line
                run.waits.append(now - begun[place])
                counts[place] += now < end
                under_way -= 1
                if now < end:
                    begun[place] = now
                    pipes[place].send("tools/call", **request)
                    under_way += 1
    run.driver += time.process_time() - spent
    run.add(counts)


def _append(path: Path, many: int, run: _Run) -> None:
    """Append without a pause, so many to a commit."""
    connection = open_bare(path)
    step = stepping(connection, _BYTES)
    count, end = 0, time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        connection.execute("BEGIN IMMEDIATE")
        for _ in range(many):
            step()
        connection.execute("COMMIT")
        count += many
    connection.close()
    run.add([count])


def _numbers(pipes: Sequence[Pipe]) -> list[int]:
    return [pipe.process.pid for pipe in pipes]


def _spent(processes: Sequence[int]) -> float:
    """Answer the seconds of CPU that processes have had (Linux, proc_pid_stat(5))."""
    ticks = 0
    for process in processes:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _rows(many: int, ours: _Run, echo: _Run, bare: _Run, memory: float) -> list[Row]:
    who, middle = f"{many} agents", statistics.fmean(ours.counts)
    worst = max(abs(count - middle) for count in ours.counts) / middle * 100
    low, high = min(ours.rates), max(ours.rates)
    spread = {"figure": ours.rate, "unit": "/s", "low": low, "high": high}
    under_way = f"echoes, {many} under way"
    together = f"bare appends, {many} a commit"
    longest = max(ours.waits) * 1e3
    waits = statistics.quantiles(ours.waits, n=100)
    return [
        Row(what=f"{who}, notes", **spread, floor=echo.rate, beside=under_way, least=0.7),
        Row(what="  the same", **spread, floor=bare.rate, beside=together),
        Row(
            what="  furthest from the mean",
            figure=worst,
            unit="%",
            low=min(ours.counts),
            high=max(ours.counts),
            most=20,
        ),
        Row(what="  longest wait", figure=longest, unit="ms", most=100),
        Row(
            what="  median wait",
            figure=waits[49] * 1e3,
            unit="ms",
            low=waits[0] * 1e3,
            high=waits[98] * 1e3,
        ),
        Row(what=f"  failed, of {len(ours.waits):,}", figure=ours.failed, unit="", most=0),
        Row(what="  CPU of the server a note", figure=_each(ours, ours.server), unit="ms"),
        Row(what="  CPU of the relays a note", figure=_each(ours, ours.relays), unit="ms"),
        Row(what="  CPU of what drives a note", figure=_each(ours, ours.driver), unit="ms"),
        Row(what="  CPU of what drives an echo", figure=_each(echo, echo.driver), unit="ms"),
        Row(what="  memory of the largest relay", figure=memory, unit="MB", most=12),
    ]


def _each(run: _Run, seconds: float) -> float:
    return seconds / len(run.waits) * 1e3


if __name__ == "__main__":
    main()

"""Agents that start and finish tasks at once in one repository, with a look at git each time.

Each agent is a relay of its own with one call under way at any time, a start or the finish of what
it has started; the floor is one program that asks git for its status, again and again.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from select import POLLIN, poll

from _measure import Row, asked, folder, publish
from _pipe import Pipe, end_server, relayed

_AGENTS = (1, 8)
_SECONDS = 2.0
_FILES = 500
_PLAN = 1_000
"""Tasks of a plan."""
_ENVIRON = {
    **os.environ,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}
_SEED = (
    "git init -q --template= .; echo .counterpoint >> .gitignore; git add .; git commit -qm seed"
)
_STATUS = ("git", "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")


def main() -> None:
    """Measure, print, write; a round is two seconds of each case."""
    wanted = asked(__doc__ or "", rounds=3)
    rows: list[Row] = []
    with folder() as tree, ExitStack() as held:
        for number in range(_FILES):
            (tree / f"f{number}.py").write_text(f"number = {number}\n")
        subprocess.run(["sh", "-ec", _SEED], cwd=tree, env=_ENVIRON, check=True)
        database = tree / ".counterpoint" / "ledger.db"
        held.callback(end_server, database)
        agents = [
            held.enter_context(Pipe(relayed(database, f"agent-{number}"), tree))
            for number in range(max(_AGENTS))
        ]
        for many in _AGENTS:
            rows += _measured(agents[:many], tree, wanted.rounds)
    publish("starts", rows)


def _measured(pipes: Sequence[Pipe], tree: Path, rounds: int) -> list[Row]:
    cases: dict[str, list[float]] = {"starts": [], "starts and finishes": []}
    bare: list[float] = []
    for _ in range(rounds):
        for case, rates in cases.items():
            tasks = _tasks(pipes[0])
            agents = [_Agent(pipe=pipe, tasks=tasks, is_finishing="and" in case) for pipe in pipes]
            rates.append(_worked(agents))
        bare.append(_looked(tree))
    return [
        Row(
            what=f"{len(pipes)} {'agent' if len(pipes) == 1 else 'agents'}, {case} in one tree",
            figure=statistics.median(rates),
            unit="/s",
            low=min(rates),
            high=max(rates),
            floor=statistics.median(bare),
            beside="runs of git status, one after the other",
        )
        for case, rates in cases.items()
    ]


def _tasks(agent: Pipe) -> Iterator[str]:
    """Make tasks for one round; answer their ids."""
    plans = [
        agent.call("plan", tree={"title": "p", "items": [{"title": "t"} for _ in range(_PLAN)]})
        for _ in range(2)
    ]
    found = [json.loads(plan)["result"]["structuredContent"] for plan in plans]
    return chain.from_iterable(_below(plan["root"]) for plan in found)


def _below(plan: str) -> Iterator[str]:
    prefix, _, number = plan.rpartition("-")
    for place in range(1, _PLAN + 1):
        yield f"{prefix}-{int(number) + place}"


@dataclass(slots=True, kw_only=True)
class _Agent:
    """An agent at work: what it has begun and not finished yet."""

    pipe: Pipe
    tasks: Iterator[str]
    is_finishing: bool
    task: str = ""
    token: int | None = None

    def go_on(self) -> None:
        """Finish what was begun, or start the next task."""
        if self.token is None:
            self.task = next(self.tasks)
            self.pipe.send("tools/call", name="start", arguments={"id": self.task})
        else:
            ended = {"id": self.task, "token": self.token, "outcome": "done", "summary": "done"}
            self.pipe.send("tools/call", name="finish", arguments=ended)

    def hear(self, line: bytes) -> None:
        """Take an answer."""
        assert b'"isError":false' in line, line
        told = json.loads(line)["result"]["structuredContent"].get("token")
        self.token = told if self.is_finishing else None


def _worked(agents: Sequence[_Agent]) -> float:
    """Answer how many calls a second all agents come to."""
    ready = poll()
    by_number = {agent.pipe.fileno(): agent for agent in agents}
    for number, agent in by_number.items():
        ready.register(number, POLLIN)
        agent.go_on()
    end = time.perf_counter() + _SECONDS
    count, under_way = 0, len(agents)
    while under_way:
        for number, _ in ready.poll():
            agent = by_number[number]
            for line in agent.pipe.take():
                agent.hear(line)
                is_over = time.perf_counter() > end
                count += not is_over
                if is_over and agent.token is None:
                    under_way -= 1
                else:
                    agent.go_on()
    return count / _SECONDS


def _looked(tree: Path) -> float:
    """Answer how many times a second one program learns git's status, and nothing else."""
    count, end = 0, time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        subprocess.run(_STATUS, cwd=tree, env=_ENVIRON, stdout=subprocess.DEVNULL, check=True)
        count += 1
    return count / _SECONDS


if __name__ == "__main__":
    main()

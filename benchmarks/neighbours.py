"""A light caller beside each kind of noisy one: what it waits for its answers, and what it waits alone."""

from __future__ import annotations

import contextlib
import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _measure import Row, asked, caller, graph, opened, publish
from _pipe import Pipe, end_server, relayed

_SECONDS = 4.0
_ITEMS = 5_000
_FRAMES = 10_000
_GATES = 34
_SILENT = 1_040
_PLANNED = 10_000
_PLAN = "# Large\n" + "".join(f"- [ ] task {number}\n" for number in range(_PLANNED))
_UNHEARD = 150
_P99 = 250.0
_READS = ("prove", "list", "show")
_PAUSE = 0.005
"""Between two calls of the light caller, which never has two under way."""


class _Neighbour:
    """An agent in a process of its own, which is heard by a thread so that it can go on sending."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        self.heard = self.refused = 0

    def flood(self, count: int, name: str, **arguments: Any) -> None:
        """Send calls without waiting, hearing their answers beside that."""
        hearing = threading.Thread(target=self._hear, args=(count,))
        hearing.start()
        for _ in range(count):
            self.pipe.send("tools/call", name=name, arguments=arguments)
        hearing.join()

    def again(self, until: Callable[[], bool], name: str, **arguments: Any) -> None:
        """Call one after the other until it is enough."""
        while not until():
            self.flood(1, name, **arguments)

    def _hear(self, count: int) -> None:
        for _ in range(count):
            line = self.pipe.hear()
            self.heard += 1
            self.refused += b'"isError":true' in line


def main() -> None:
    """Measure, print, write; each kind of noise is beside the light caller for some seconds."""
    wanted = asked(__doc__ or "", rounds=1, has_parts=True)
    rows: list[Row] = []
    with opened() as (app,), ExitStack() as held:
        graph(caller(app)(), "random", _ITEMS)
        database, place = Path(app.database), app.folder
        app.close()
        held.callback(end_server, database)
        light = held.enter_context(Pipe(_alone(relayed(database, "light")), place))
        light.call("brief")
        for _ in range(wanted.rounds):
            idle = _beside(light, lambda _over: None)
            rows += _rows("alone", idle, None)
            for what, noise in _Noises(database, place).all().items():
                if wanted.only not in what:
                    continue
                with noise() as begin:
                    rows += _rows(what, _beside(light, begin), idle)
    publish("neighbours", rows)


def _alone(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Answer a command with a parent of its own: agents of one process are one principal, and a shell is none."""
    program = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    return (sys.executable, "-c", program, *argv)


def _beside(light: Pipe, noise: Callable[[Callable[[], bool]], None]) -> list[float]:
    """Answer the seconds of the light caller's calls while somebody else is noisy."""
    end = time.perf_counter() + _SECONDS
    over = threading.Event()
    noisy = threading.Thread(target=noise, args=(over.is_set,))
    noisy.start()
    seconds: list[float] = []
    refused = 0
    while time.perf_counter() < end:
        for name, arguments in (
            ("list", {"ready": True}),
            ("note", {"kind": "finding", "text": "a light one"}),
        ):
            begin = time.perf_counter()
            light.send("tools/call", name=name, arguments=arguments)
            refused += b'"isError":true' in light.hear()
            seconds.append(time.perf_counter() - begin)
            time.sleep(_PAUSE)
    over.set()
    noisy.join()
    if refused:
        print(f"    the light one was refused {refused} times")
    return seconds


@dataclass(frozen=True)
class _Noises:
    """What makes each kind of noise: contexts that give what is to run beside the light caller."""

    database: Path
    place: Path

    @contextmanager
    def agent(
        self, noise: Callable[[_Neighbour, Callable[[], bool]], None], name: str = "noisy"
    ) -> Iterator[Any]:
        """Connect an agent that makes the noise."""
        with Pipe(_alone(relayed(self.database, name)), self.place) as pipe:
            pipe.call("brief")
            neighbour = _Neighbour(pipe)
            yield lambda over: noise(neighbour, over)
            print(
                f"    the noisy one heard {neighbour.heard} answers, {neighbour.refused} refusals"
            )

    @contextmanager
    def planned(self, name: str, **arguments: Any) -> Iterator[Any]:
        """Make a large plan first; in what is called, ROOT stands for it and OTHER for a small one."""
        with Pipe(_alone(relayed(self.database, "noisy")), self.place) as pipe:
            ids = {
                "ROOT": _structured(pipe.call("plan", markdown=_PLAN))["root"],
                "OTHER": _structured(pipe.call("plan", markdown="# Other\n## Phase\n"))["items"][1][
                    "id"
                ],
            }
            given = {key: ids.get(str(value), value) for key, value in arguments.items()}
            neighbour = _Neighbour(pipe)

            def noise(over: Callable[[], bool]) -> None:
                begin = time.perf_counter()
                neighbour.flood(1, name, **given)
                spent = time.perf_counter() - begin
                if name in _READS:
                    neighbour.again(over, name, **given)
                print(
                    f"    {neighbour.heard} answers, {neighbour.refused} refusals, the first"
                    f" after {spent:.2f} s"
                )

            yield noise

    @contextmanager
    def command(self, *words: str) -> Iterator[Any]:
        """Run the command line beside the server, one time after the other."""

        def noise(over: Callable[[], bool]) -> None:
            argv = (sys.executable, "-m", "counterpoint", *words, "--db", str(self.database))
            count = 0
            while not over():
                subprocess.run(argv, cwd=self.place, stdout=subprocess.DEVNULL, check=False)
                count += 1
            print(f"    {count} times")

        yield noise

    @contextmanager
    def silent(self) -> Iterator[Any]:
        """Open connections that say nothing."""
        known = json.loads(Path(f"{self.database}-server.json").read_text())
        with ExitStack() as held:
            for _ in range(_SILENT):
                with contextlib.suppress(OSError):
                    one = held.enter_context(socket.socket(socket.AF_UNIX))
                    one.settimeout(0.05)
                    one.connect(known["socket"])
            yield lambda _over: None

    def all(self) -> dict[str, Callable[[], Any]]:
        """Answer every kind, by its name."""
        agent, planned = self.agent, self.planned

        def speak(one: _Neighbour, _over: Callable[[], bool]) -> None:
            # Fewer bytes than the pipes take, so that sending ends; nothing is ever heard.
            for _ in range(_UNHEARD):
                one.pipe.send("tools/call", name="list", arguments={})

        many = f"{_PLANNED:,} tasks"
        return {
            f"a burst of {_FRAMES:,} calls": lambda: agent(
                lambda one, _: one.flood(_FRAMES, "list", ready=True)
            ),
            f"a plan of {many}": lambda: agent(lambda one, _: one.flood(1, "plan", markdown=_PLAN)),
            f"the cancelling of {many}": lambda: planned("edit", id="ROOT", status="cancelled"),
            f"the moving of {many}": lambda: planned("edit", id="ROOT", parent="OTHER"),
            f"the blocking of {many}": lambda: planned(
                "note", kind="blocker", text="stop", id="ROOT"
            ),
            "audit verify over MCP": lambda: planned("prove", what="verify"),
            "lists of a large plan": lambda: planned("list", root="ROOT", limit=100),
            "a large plan shown whole": lambda: planned(
                "show", id="ROOT", include=["markdown", "children"]
            ),
            "exports at the command line": lambda: self.command("audit", "export"),
            "long texts that are masked": lambda: agent(
                lambda one, over: one.again(
                    over, "plan", markdown="# Long\n" + "secret=abcdefg " * 6_000
                )
            ),
            f"{_GATES} commands that run": lambda: agent(
                lambda one, _: one.flood(_GATES, "verify", command=["sleep", "0.5"])
            ),
            "searches for what is everywhere": lambda: agent(
                lambda one, over: one.again(over, "find", query="task bench light finding")
            ),
            f"{_SILENT:,} silent connections": self.silent,
            "one that reads nothing": lambda: agent(speak, "deaf"),
        }


def _structured(line: bytes) -> Any:
    return json.loads(line)["result"]["structuredContent"]


def _rows(what: str, seconds: list[float], idle: list[float] | None) -> list[Row]:
    found = [statistics.median(seconds) * 1e3, _p99(seconds) * 1e3]
    floor = idle and [statistics.median(idle) * 1e3, _p99(idle) * 1e3]
    return [
        Row(
            what=f"beside {what}, {name}" if idle else f"{what}, {name}",
            figure=round(figure, 3),
            unit="ms",
            low=round(min(seconds) * 1e3, 3),
            high=round(max(seconds) * 1e3, 3),
            floor=None,
            beside=f"alone {floor[place]:.1f}" if floor else "",
            most=_P99 if name == "p99" and idle else None,
        )
        for place, (name, figure) in enumerate(zip(("p50", "p99"), found, strict=True))
    ]


def _p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100, method="inclusive")[-1]


if __name__ == "__main__":
    main()

"""Start and finish a task, durably, among more and more tasks: without git and with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from _floors import appending, open_bare
from _measure import (
    Row,
    Series,
    alternate,
    asked,
    caller,
    folder,
    graph,
    median,
    opened,
    publish,
    row,
)

from counterpoint.app import App
from counterpoint.core.model.filters import Report

_SEED = """
git init -q --template= . && git config user.email a@example.org && git config user.name a
mkdir src && for n in $(seq 40); do seq $n 99 > src/$n.txt; done
git add . && git commit -qm seed
"""
_RECORDER = """#!/bin/sh
{{ printf '%s\\n' "$#"; printf '%s\\n' "$@"; }} >> "{log}"
exec "{git}" "$@"
"""
_ENVIRON = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull}


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=200)
    sizes = [1_000, 10_000, 100_000, *([1_000_000] if wanted.full else [])]
    rounds = min(wanted.rounds, 400)
    rows: list[Row] = []
    with folder() as place, ExitStack() as held:
        plain, tree = place / "plain", place / "tree"
        plain.mkdir()
        tree.mkdir()
        subprocess.run(["sh", "-ec", _SEED], cwd=tree, env=_ENVIRON, check=True)
        needed = _needed(place, tree)
        append = appending(open_bare(place / "bare.db"), 1000)
        cases: dict[str, Callable[[], object]] = {
            "commits": lambda: (append(), append()),
            "git": lambda: _run_bare(needed, tree),
        }
        for size in sizes:
            apps = held.enter_context(opened(plain, tree, environ=_ENVIRON))
            begin = time.perf_counter()
            ready = iter(graph(caller(apps[0])(), "free", size))
            each = (time.perf_counter() - begin) / size * 1e6
            rows.append(Row(what=f"making {size:,} tasks, each", figure=each, unit="us"))
            for app, where in zip(apps, ("no git", "git"), strict=True):
                cases[f"{where}, {size:,}"] = _working(app, ready)
        found = alternate(cases, rounds, warmup=10)
    rows += _present(found, sizes, len(needed))
    publish("tasks", rows)


def _working(app: App, ready: Iterator[str]) -> Callable[[], None]:
    """Answer what starts and finishes the next ready task."""
    core = caller(app)
    report = Report(outcome="done", summary="done")

    def work() -> None:
        one = core()
        started = one.claims.start(next(ready))
        one.tasks.finish(started.item.id, started.claim.token, report)

    return work


def _needed(place: Path, tree: Path) -> list[list[str]]:
    """Answer the git commands that one start and finish run, as a git that writes them down saw."""
    log, programs = place / "runs", place / "programs"
    programs.mkdir()
    recorder = programs / "git"
    recorder.write_text(_RECORDER.format(log=log, git=shutil.which("git")))
    recorder.chmod(0o755)
    environ = {**_ENVIRON, "PATH": f"{programs}:{_ENVIRON['PATH']}"}
    with opened(tree, environ=environ) as (app,):
        work = _working(app, iter(graph(caller(app)(), "free", 10)))
        work()
        log.unlink()
        work()
    lines = iter(log.read_text().split("\n")[:-1])
    return [[next(lines) for _ in range(int(many))] for many in lines]


def _run_bare(needed: list[list[str]], tree: Path) -> None:
    environ = {**_ENVIRON, "GIT_OPTIONAL_LOCKS": "0"}
    for arguments in needed:
        subprocess.run(
            ["git", *arguments], cwd=tree, env=environ, stdout=subprocess.PIPE, check=True
        )


def _present(found: Series, sizes: list[int], runs: int) -> list[Row]:
    commits, git = median(found["commits"]), median(found["git"])
    rows = [
        row("two bare durable commits", found["commits"]),
        row(f"{runs} bare git runs, as start + finish need", found["git"]),
    ]
    least = {"no git": (commits, "commits"), "git": (commits + git, "commits + git")}
    for where, (floor, beside) in least.items():
        for size in sizes:
            name = f"{where}, {size:,}"
            what = f"start + finish among {size:,}, {where}"
            rows.append(row(what, found[name], floor=floor, beside=beside))
        if where == "no git":
            last = rows[-1]
            rows.append(Row(what="  of which the promise", figure=last.figure, unit="ms", most=4))
        first, last = (median(found[f"{where}, {size:,}"]) for size in (sizes[0], sizes[-1]))
        growth = Row(
            what=f"  growth from {sizes[0]:,} to {sizes[-1]:,}, {where}",
            figure=last,
            unit="ms",
            floor=first,
            beside=f"at {sizes[0]:,}",
            most=1.5,
        )
        rows.append(growth)
    return rows


if __name__ == "__main__":
    main()

"""Specs of 5,000 tasks, in 50 phases and in 5, beside one of 100: next, start, complete, prepare, progress, list.

Through the surface in this process, each spec in a database of its own, in turn; half of each spec is done before, each task of
that half after the one before it. Then a start with a completion among 1,000 tasks over stdio, through a relay and without one,
beside two bare commits of as many bytes and two calls that only answer. With FOUNDRY_PYTHON, an interpreter that has the released
foundry-mcp 0.16.0 (`pip install foundry-mcp==0.16.0 'mcp<2' pypdf`), that works at the same spec too.

Then next, prepare, progress and list through the relay, beside the same calls of the released program.

Over stdio each works in blocks of 30 pairs, the blocks in turn, and a figure is the median of the medians of its blocks: as an agent
works that calls again soon. Single pairs in turn are measured as well, and stand in rows of their own: there the released program,
which works for 80 ms, empties the processor's caches before each of our pairs, as whatever an agent runs between two calls does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

from _floors import appending, open_bare
from _measure import (
    Row,
    Series,
    alternate,
    asked,
    caller,
    folder,
    in_blocks,
    median,
    opened,
    publish,
    row,
)
from _pipe import Pipe, end_server, ours, relayed

from counterpoint.app import open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface

SMALL, *LARGE = (5, 20), (50, 100), (5, 1_000)
"""Phases, and tasks in each."""
RELEASED = (10, 100)
READS = ("next", "prepare", "progress", "list")
SPEC = "bench-2026-01-01-001"
GROWTH = 1.5
"""How much longer a call may take in a large spec."""
_SIZED = 20
"""Starts and completions whose commits are measured; few enough that the log is not begun anew."""
_BLOCKS, _MANY = 7, 30
"""Blocks of each case over stdio, and pairs in one; each case has 500 tasks to end in all."""
_SINGLE = 100
"""Single pairs in turn."""
FASTER = 20.0
"""How much faster a start and a completion are to be than those of the released program."""


def main() -> None:
    """Measure, print, write."""
    wanted = asked(__doc__ or "", rounds=150)
    with ExitStack() as held:
        cases: dict[str, Callable[[], object]] = {}
        for shape in (SMALL, *LARGE):
            (app,) = held.enter_context(opened())
            cases |= _cases(shape, caller(app))
        found = alternate(cases, wanted.rounds)
    rows: list[Row] = []
    for action in (*READS, "start", "complete"):
        floor = median(found[f"{action} {_name(SMALL)}"])
        rows.append(row(f"{action}, {_name(SMALL)}", found[f"{action} {_name(SMALL)}"]))
        rows += [
            row(
                f"{action}, {_name(shape)}",
                found[f"{action} {_name(shape)}"],
                floor=floor,
                beside="among 100",
                most=GROWTH,
            )
            for shape in LARGE
        ]
    publish("foundry", [*rows, *_over_stdio(wanted.rounds)])


def _name(shape: tuple[int, int]) -> str:
    return f"{shape[0] * shape[1]:,} tasks in {shape[0]} phases"


def _cases(shape: tuple[int, int], core: Callable[[], Core]) -> dict[str, Callable[[], object]]:
    phases, tasks = shape
    core().plans.create(_draft(phases, tasks))
    ask = _asking(core)
    number, name = count(), [""]

    def start() -> object:
        at = next(number)
        half = tasks // 2
        name[0] = f"task-{1 + at % phases}-{1 + half + (at // phases) % half}"
        return ask("start", task_id=name[0])

    def complete() -> object:
        return ask("complete", task_id=name[0], completion_note="It is there")

    def reopen() -> object:
        return ask("update-status", task_id=name[0], status="pending")

    writes = {"start": start, "complete": complete, "reopen": reopen}
    reads = {action: lambda action=action: ask(action) for action in READS}
    return {f"{action} {_name(shape)}": run for action, run in (reads | writes).items()}


def _draft(phases: int, tasks: int) -> Draft:
    return Draft(
        kind="spec",
        title="Bench",
        lifecycle="declared",
        aliases=(("spec", SPEC),),
        children=tuple(
            Draft(
                kind="phase",
                title=f"Phase {phase}",
                needs=(),
                aliases=(("node", f"{SPEC}/phase-{phase}"),),
                children=tuple(_task(phase, task, tasks) for task in range(1, tasks + 1)),
            )
            for phase in range(1, phases + 1)
        ),
    )


def _task(phase: int, task: int, tasks: int) -> Draft:
    return Draft(
        kind="task",
        title=f"Write part {task} of phase {phase}",
        name=f"{phase}-{task}",
        body="What it is to do, in one sentence of some length.",
        needs=(f"{phase}-{task - 1}",) if 1 < task <= tasks // 2 else (),
        acceptance=("It is there",),
        areas=(f"src/phase{phase}/part{task}.py",),
        aliases=(("node", f"{SPEC}/task-{phase}-{task}"),),
        attributes={"task_category": "implementation", "complexity": "low"},
        done=task <= tasks // 2,
    )


def _asking(core: Callable[[], Core]) -> Callable[..., dict[str, Any]]:
    spoken = surface("foundry")

    def ask(action: str, **arguments: Any) -> dict[str, Any]:
        given = {"action": action, "spec_id": SPEC, **arguments}
        outcome = spoken.invoke(Call(core=core(), secret=lambda: b"benchmark"), "task", given)
        assert not outcome.is_error, outcome.text
        return outcome.answer

    return ask


def _over_stdio(rounds: int) -> list[Row]:
    """Return how long a start with a completion takes over stdio, here and in the released program, and what it cannot go below."""
    with folder() as place, folder() as other, ExitStack() as held:
        tree, database = _planned(place / "alone")
        alone = held.enter_context(Pipe((*ours(database), "--surface", "foundry"), tree))
        work = _working(alone)
        sizes = _sizes(database, work)
        tree, database = _planned(place / "relay")
        held.callback(end_server, database)
        relay = held.enter_context(Pipe((*relayed(database), "--surface", "foundry"), tree))
        bare = open_bare(place / "bare.db")
        commits = [appending(bare, size) for size in sizes]
        cases: dict[str, Callable[[], object]] = {
            "alone": work,
            "relay": _working(relay),
            "calls": lambda: [relay.call("health", action="liveness") for _ in sizes],
            "commits": lambda: [commit() for commit in commits],
        }
        there = None
        if (python := os.environ.get("FOUNDRY_PYTHON")) is not None:
            there = held.enter_context(_released(python, other))
            _greet(there)
            cases["there"] = _working(there)
        many = min(rounds, _MANY)
        blocks = in_blocks(cases, _BLOCKS, many)
        single = alternate(cases, min(rounds, _SINGLE), warmup=3)
        both = {"relay": relay} | ({"there": there} if there else {})
        looks = {
            f"{action} {name}": _looking(pipe, action)
            for action in READS
            for name, pipe in both.items()
        }
        looked = in_blocks(looks, _BLOCKS, many)
        bare.close()
    bytes_each = " and ".join(f"{size // 1000}" for size in sizes)
    return [
        *_compared(blocks, bytes_each, f", blocks of {many}", least=FASTER),
        *_compared(single, bytes_each, ", single pairs in turn"),
        *_reads(looked, f", over stdio, through a relay, blocks of {many}"),
    ]


def _compared(found: Series, bytes_each: str, how: str, least: float | None = None) -> list[Row]:
    """Return the rows of one way to measure pairs over stdio. least: how many times faster this is to be than the released program."""
    what = f"start and complete, {_name(RELEASED)}, over stdio"
    floor = median([a + b for a, b in zip(found["calls"], found["commits"], strict=True)])
    rows = [
        row(f"two bare commits of {bytes_each} kB{how}", found["commits"]),
        row(f"two calls through a relay that only answer{how}", found["calls"]),
        row(f"{what}, in one process{how}", found["alone"]),
        row(
            f"{what}, through a relay{how}", found["relay"], floor=floor, beside="commits and calls"
        ),
    ]
    if "there" not in found:
        return rows
    for name, way in (("relay", "through a relay"), ("alone", "in one process")):
        times = round(median(found["there"]) / median(found[name]), 1)
        rows.append(
            Row(
                what=f"how many times faster, {way}{how}",
                figure=times,
                unit="times",
                least=least if name == "relay" else None,
            )
        )
    return [*rows, row(f"released 0.16.0: {what}{how}", found["there"])]


def _reads(found: Series, how: str) -> list[Row]:
    """Return the rows of what is only asked, each with how many times faster that is than in the released program."""
    rows: list[Row] = []
    for action in READS:
        ours, theirs = found[f"{action} relay"], found.get(f"{action} there")
        rows.append(row(f"{action}, {_name(RELEASED)}{how}", ours))
        if theirs is not None:
            times = round(median(theirs) / median(ours), 1)
            rows.append(
                Row(what=f"how many times faster, {action}{how}", figure=times, unit="times")
            )
            rows.append(row(f"released 0.16.0: {action}{how}", theirs))
    return rows


def _planned(place: Path) -> tuple[Path, Path]:
    """Return a folder to work in, and a database with the spec."""
    tree, database = place / "tree", place / "store" / "ledger.db"
    tree.mkdir(parents=True)
    app = open_app(tree, {}, db=str(database), project="bench", agent="bench")
    app.core(app.agent()).plans.create(_draft(*RELEASED))
    app.close()
    return tree, database


def _released(python: str, place: Path) -> Pipe:
    """Return the released program, with the same spec as a file."""
    (place / "specs" / "active").mkdir(parents=True)
    document = place / "specs" / "active" / f"{SPEC}.json"
    document.write_text(json.dumps(_document(*RELEASED), indent=2))
    environ = {**os.environ, "FOUNDRY_MCP_SPECS_DIR": str(place / "specs")}
    return Pipe((str(Path(python).with_name("foundry-mcp")),), place, environ)


def _sizes(database: Path, work: Callable[[], object]) -> tuple[int, ...]:
    """Return how many bytes a start and a completion add to the log of a database, each half of what both add."""
    log = database.with_name(f"{database.name}-wal")
    for _ in range(5):
        work()
    before = log.stat().st_size
    for _ in range(_SIZED):
        work()
    both = (log.stat().st_size - before) // _SIZED
    return both // 2, both - both // 2


def _greet(pipe: Pipe) -> None:
    pipe.send(
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "bench", "version": "0"},
    )
    pipe.hear()
    assert pipe.process.stdin is not None
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    pipe.process.stdin.write(json.dumps(told).encode() + b"\n")


def _looking(pipe: Pipe, action: str) -> Callable[[], object]:
    """Return what asks about the spec."""
    return lambda: _said(pipe, {"action": action, "spec_id": SPEC})


def _working(pipe: Pipe) -> Callable[[], object]:
    """Return what starts and completes the next task."""
    number = count()
    half = RELEASED[1] // 2

    def work() -> object:
        at = next(number)
        task = f"task-{1 + at % RELEASED[0]}-{1 + half + at // RELEASED[0] % half}"
        for given in (
            {"action": "start"},
            {"action": "complete", "completion_note": "It is there"},
        ):
            _said(pipe, {**given, "spec_id": SPEC, "task_id": task})

    return work


def _said(pipe: Pipe, arguments: dict[str, str]) -> None:
    """Call the tool for tasks, and look at whether it did what it was asked."""
    pipe.send("tools/call", name="task", arguments=arguments)
    answer = json.loads(pipe.hear())["result"]
    text = answer.get("structuredContent") or json.loads(answer["content"][0]["text"])
    assert text.get("success"), text


def _document(phases: int, tasks: int) -> dict[str, Any]:
    """Return the same spec as a file of the released program."""
    nodes: dict[str, Any] = {}
    total, done = phases * tasks, phases * (tasks // 2)
    names = [f"phase-{phase}" for phase in range(1, phases + 1)]
    nodes["spec-root"] = _node("spec", "Bench", "in_progress", None, names, total, done)
    for phase in range(1, phases + 1):
        below = [f"task-{phase}-{task}" for task in range(1, tasks + 1)]
        title = f"Phase {phase}"
        nodes[f"phase-{phase}"] = _node(
            "phase", title, "in_progress", "spec-root", below, tasks, tasks // 2
        )
        for task in range(1, tasks + 1):
            draft = _task(phase, task, tasks)
            status = "completed" if draft.done else "pending"
            node = _node("task", draft.title, status, f"phase-{phase}", [], 1, int(draft.done))
            node["metadata"] = {
                "description": draft.body,
                "acceptance_criteria": list(draft.acceptance),
                "file_path": draft.areas[0],
                **draft.attributes,
            }
            nodes[f"task-{phase}-{task}"] = node
    stamp = "2026-01-01T00:00:00Z"
    return {
        "spec_id": SPEC,
        "title": "Bench",
        "generated": stamp,
        "last_updated": stamp,
        "metadata": {"mission": "To be measured"},
        "status": "in_progress",
        "progress_percentage": 50,
        "current_phase": "phase-1",
        "hierarchy": nodes,
        "journal": [],
    }


def _node(
    kind: str,
    title: str,
    status: str,
    parent: str | None,
    children: list[str],
    total: int,
    done: int,
) -> dict[str, Any]:
    return {
        "type": kind,
        "title": title,
        "status": status,
        "parent": parent,
        "children": children,
        "total_tasks": total,
        "completed_tasks": done,
        "metadata": {},
        "dependencies": {"blocks": [], "blocked_by": [], "depends": []},
    }


if __name__ == "__main__":
    main()

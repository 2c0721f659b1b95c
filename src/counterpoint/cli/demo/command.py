"""The command that shows the product at work in a throwaway repository."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic

import click

from counterpoint.app import open_app
from counterpoint.cli.demo.display import opened_screen
from counterpoint.cli.demo.processes import AgentProcesses
from counterpoint.cli.demo.report import print_all
from counterpoint.cli.demo.repository import MAIN, child_environ, create_repository
from counterpoint.cli.demo.scenario import Scenario
from counterpoint.cli.demo.summary import DemoResult, faults_of, history_of, prove, tree_of
from counterpoint.cli.grouping import examples
from counterpoint.cli.output import Output, output_for
from counterpoint.cli.server.serving import end_server
from counterpoint.core.model.identity import Connection
from counterpoint.core.model.journal import Verdict
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Unavailable

NAME = "quill"
BUNDLE = "ledger.bundle"


@click.command("demo", epilog=examples("counterpoint demo"))
@click.option("--keep", is_flag=True, help="Keep the repository and its ledger.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON, at the end.")
def demo_command(*, keep: bool, as_json: bool) -> int:
    """Watch agents work on one plan in a throwaway repository.

    It ends with the tree of work, the evidence and a verified proof.

    Five agents, each a process with its own MCP connection, write and commit a small library. Exit code 1 if
    anything went wrong.
    """
    out = output_for(json=as_json)
    with _folder(keep=keep) as folder:
        ended = perform(out, folder)
        if out.json:
            out.answer(_shape(ended, folder if keep else None))
        else:
            print_all(out, ended, folder / NAME if keep else None)
    return 1 if ended.faults else 0


@contextmanager
def _folder(*, keep: bool) -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="counterpoint-demo-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def perform(out: Output, folder: Path) -> DemoResult:
    """Scenario, prove, and end every process whatever happens."""
    begun = monotonic()
    environ = child_environ(os.environ)
    for place in ("logs", "desks"):
        (folder / place).mkdir()
    main = create_repository(folder / NAME, environ)
    app = open_app(main.folder, environ)
    # Its ledger is nobody else's: whoever runs it may be an agent of another one.
    app.ports = replace(app.ports, connected=tuple[Connection, ...])
    # Whoever asks for a demonstration lets its two commands be run.
    app.person().projects.trust(read_checking(main.folder), environ.get("PATH", ""))
    agents = AgentProcesses(logs=folder / "logs", environ=environ)
    try:
        with opened_screen(out) as screen:
            play = Scenario(
                app=app, main=main, trees=folder / "desks", agents=agents, screen=screen
            )
            play.perform()
        proved = prove(play, folder / BUNDLE)
        lines, history = tree_of(play.core, play.root), history_of(play.core)
        main.git("reset", "--quiet", "--hard", MAIN)
        return DemoResult(
            verdicts=play.core.overview.rows(Verdict),
            refused=play.refused,
            races=play.races,
            lines=lines,
            proved=proved,
            history=history,
            faults=faults_of(play, lines, proved, history),
            seconds=monotonic() - begun,
            commits=int(main.git("rev-list", "--count", "--no-merges", MAIN)),
        )
    finally:
        agents.close()
        app.close()
        # Nobody is connected any more: it has left, or is about to.
        with suppress(Unavailable):
            end_server(app.database)


def _shape(ended: DemoResult, kept: Path | None) -> Json:
    tasks = [line for line in ended.lines if line.item.kind == "task"]
    counts = ended.history.counts
    return {
        "held": not ended.faults,
        "faults": ended.faults,
        "seconds": round(ended.seconds, 2),
        "clients": ended.history.agents,
        "tasks": {
            "total": len(tasks),
            "done": sum(line.item.category == "done" for line in tasks),
        },
        "checks": {
            "failed": counts["check.failed"],
            "passed": counts["check.passed"],
        },
        "taken_over": counts["task.taken_over"],
        "late_write": ended.refused,
        "lost_races": ended.races,
        "rejected": counts["item.rejected"],
        "approved": counts["item.approved"],
        "commits": ended.commits,
        "actions": dict(sorted(counts.items())),
        "proof": asdict(ended.proved),
        "tree": [line.shape() for line in ended.lines],
        "folder": str(kept) if kept else None,
    }

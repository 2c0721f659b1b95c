"""One run of the demonstration: the repository, the scenario, the proof, and what it comes to."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic

from counterpoint.app import open_app
from counterpoint.cli.demo.display import open_screen
from counterpoint.cli.demo.processes import AgentProcesses
from counterpoint.cli.demo.report import DemoResult, faults_of, history_of, prove, tree_of
from counterpoint.cli.demo.repository import MAIN, child_environ, create_repository
from counterpoint.cli.demo.scenario import Scenario
from counterpoint.cli.output import Output
from counterpoint.cli.server.serving import end_server
from counterpoint.core.model.identity import Connection
from counterpoint.core.model.journal import Verdict
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Unavailable

NAME = "quill"
BUNDLE = "ledger.bundle"


def perform(out: Output, folder: Path) -> DemoResult:
    """Play the scenario, prove it, and end every process whatever happens."""
    begun = monotonic()
    environ = child_environ(os.environ)
    for name in ("logs", "desks"):
        (folder / name).mkdir()
    main = create_repository(folder / NAME, environ)
    app = open_app(main.folder, environ)
    # Its ledger is nobody else's: whoever runs it may be an agent of another one.
    app.ports = replace(app.ports, connected=tuple[Connection, ...])
    # Whoever asks for a demonstration lets its two commands be run.
    app.person().projects.trust(read_checking(main.folder), environ.get("PATH", ""))
    agents = AgentProcesses(logs=folder / "logs", environ=environ)
    try:
        with open_screen(out) as screen:
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


def summarize(ended: DemoResult, repository: Path | None) -> Json:
    """Return the result as JSON; repository: where the repository stays, if it does."""
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
        "folder": str(repository) if repository else None,
    }

"""Runs of agents at the command line: their event streams taken in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.trust import file_arguments
from counterpoint.core.model.runs import NOT_TOLD, Ingested, RunOrder
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.plurals import counted

_MICROS: Final = 1_000_000


@click.group("runs", cls=Group)
def runs_command() -> None:
    """Import event streams of agents' runs."""


@runs_command.command(
    "ingest", epilog=examples("counterpoint runs ingest events.jsonl --run nightly-1")
)
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
@click.option(
    "--run", metavar="ID", help="The run that the events belong to; repeat it to add more."
)
@click.option("--issue", metavar="ID", help="The issue that the run was about.")
@click.option("--profile", metavar="NAME", help="The type of the agent.")
@with_context
def ingest(
    context: CommandContext, file: Path, *, run: str | None, issue: str | None, profile: str | None
) -> None:
    """Import the JSON event stream of Claude Code or Codex, one event a line; `-` reads standard input.

    Anything that looks like a secret is masked. Lines that are not events are reported and skipped.
    """
    item = context.core.use(Issues).named(issue).id if issue else ""
    order = RunOrder(run=run or "", item=item, profile=profile or "")
    with file_arguments.open_file_or_input(file) as lines:
        texts = (line.decode("utf-8", "replace") for line in file_arguments.lines_of(lines))
        done = context.core.runs.ingest(texts, order)
    cost = done.run.cost_micros
    price = "" if cost == NOT_TOLD else f", cost ${cost / _MICROS:.4f}"
    context.out.result(
        _shown(done),
        f"{done.run.id}: {counted(done.kept, 'event')} taken in, {done.run.events:,} in all;"
        f" {done.run.status}{price}.",
    )
    for fault in () if context.out.json else done.faults:
        context.out.aside(fault)


def _shown(done: Ingested) -> dict[str, Json]:
    run = done.run
    return {
        "run": run.id,
        "issue": run.item,
        "status": run.status,
        "kept": done.kept,
        "events": run.events,
        "cost": None if run.cost_micros == NOT_TOLD else run.cost_micros / _MICROS,
        "faults": list(done.faults),
        "fault_count": done.fault_count,
        "is_cut": done.is_cut,
    }

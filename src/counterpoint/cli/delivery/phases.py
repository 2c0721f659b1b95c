"""The step that acts upon claims and verdicts, at the command line."""

from __future__ import annotations

from dataclasses import asdict

import click

from counterpoint.cli.context import CommandContext, reads
from counterpoint.core.rules.identifiers import spoken_of
from counterpoint.dialects.symphony.verbs.phases import Phases


@click.group("phases")
def phases_command() -> None:
    """Bring issues from phase to phase."""


@phases_command.command("advance")
@reads
def advance(seat: CommandContext) -> None:
    """Act upon every phase that was handed over or judged since the last time.

    Several programs may do it at once. The project's gates run here for work that is handed in.
    """
    steps = seat.core.use(Phases).advance(seat.out.aside if seat.out.terminal else None)
    if seat.out.json:
        seat.out.answer([{**asdict(step), "issue": spoken_of(step.item)} for step in steps])
    elif not steps:
        seat.out.aside("Nothing waits.")
    else:
        rows = [
            (spoken_of(step.item), step.fate, " → ".join(step.phases), "; ".join(step.reasons))
            for step in steps
        ]
        seat.out.table(("issue", "what", "phase", "why"), rows)

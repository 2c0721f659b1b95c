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
def advance(context: CommandContext) -> None:
    """Act upon every phase that was handed over or judged since the last time.

    Several programs may do it at once. The project's gates run here for work that is handed in.
    """
    steps = context.core.use(Phases).advance(context.out.aside if context.out.terminal else None)
    if context.out.json:
        context.out.answer([{**asdict(step), "issue": spoken_of(step.item)} for step in steps])
    elif not steps:
        context.out.aside("Nothing waits.")
    else:
        rows = [
            (spoken_of(step.item), step.fate, " → ".join(step.phases), "; ".join(step.reasons))
            for step in steps
        ]
        context.out.table(("issue", "what", "phase", "why"), rows)

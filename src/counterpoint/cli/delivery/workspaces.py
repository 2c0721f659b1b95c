"""The trees that agents work in, at the command line: marked for one issue."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, reads
from counterpoint.dialects.symphony.tools.workspace import MARKER
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces


@click.group("workspace")
def workspace_command() -> None:
    """Mark the working tree you are in."""


@workspace_command.command("open")
@click.argument("issue")
@click.option(
    "--base", metavar="BRANCH", default="", help="Where the work goes back to.  [default: main]"
)
@reads
def open_(context: CommandContext, issue: str, base: str) -> None:
    """Mark this tree, on the branch it is on, as the one for an issue; agents check the marker."""
    item = context.core.use(Issues).named(issue).id
    made = context.core.use(Workspaces).open(item, MARKER, base)
    if context.out.json:
        context.out.answer(
            {"issue": made.identifier, "path": made.path, "branch": made.branch, "base": made.base}
        )
    else:
        context.out.line(f"{made.path} is the worktree of {made.identifier}, on {made.branch}.")

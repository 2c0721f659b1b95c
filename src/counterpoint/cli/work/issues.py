"""Issues of a board at the command line: sizes, phases, and trees for them."""

from __future__ import annotations

from dataclasses import asdict

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.core.model.filters import Edit
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.nouns import MARKER
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces

NONE = "none"
SIZES = ("small", "medium", "large", NONE)


@click.group("issue", cls=Group)
def issue_command() -> None:
    """Set the size of an issue."""


@issue_command.command("size", epilog=examples("counterpoint issue size 4 small"))
@click.argument("issue")
@click.argument("size", type=click.Choice(SIZES))
@with_context
def size_of(context: CommandContext, issue: str, size: str) -> None:
    """Set the size of an issue, which agents read; `none` clears it."""
    item = context.core.use(Issues).named(issue).id
    size_kept = None if size == NONE else size
    context.core.items.edit(item, Edit(attributes={"size": size_kept}))
    name = spoken_of(item)
    context.out.result({"issue": name, "size": size_kept}, f"{name}: {size_kept or 'no size'}")


@click.group("phases", cls=Group)
def phases_command() -> None:
    """Advance issues from phase to phase."""


@phases_command.command("advance", epilog=examples("counterpoint phases advance"))
@with_context
def advance(context: CommandContext) -> None:
    """Advance every phase that was submitted or judged since the last time.

    Several programs may run it at once. It runs the project's gates on submitted work.
    """
    steps = context.core.use(Phases).advance(context.out.aside if context.out.terminal else None)
    context.out.rows(
        [{**asdict(step), "issue": spoken_of(step.item)} for step in steps],
        ("issue", "what", "phase", "why"),
        [
            (spoken_of(step.item), step.fate, " → ".join(step.phases), "; ".join(step.reasons))
            for step in steps
        ],
        aside="Nothing waits.",
    )


@click.group("workspace", cls=Group)
def workspace_command() -> None:
    """Mark the working tree you are in as the one for an issue."""


@workspace_command.command("open", epilog=examples("counterpoint workspace open 4 --base main"))
@click.argument("issue")
@click.option(
    "--base", metavar="BRANCH", default="", help="The branch to merge into.  [default: main]"
)
@with_context
def open_(context: CommandContext, issue: str, base: str) -> None:
    """Mark this tree, on the branch it is on, as the one for an issue; agents check the marker."""
    item = context.core.use(Issues).named(issue).id
    workspace = context.core.use(Workspaces).open(item, MARKER, base)
    context.out.result(
        {
            "issue": workspace.identifier,
            "path": workspace.path,
            "branch": workspace.branch,
            "base": workspace.base,
        },
        f"{workspace.path} is the worktree of {workspace.identifier}, on {workspace.branch}.",
    )

"""Profiles at the command line: which tools a role may call, and its scope file."""

from __future__ import annotations

import click

from counterpoint.cli.context import CommandContext, with_context
from counterpoint.cli.grouping import Group, examples
from counterpoint.cli.output import stdout_errors
from counterpoint.core.model.journal import Profile
from counterpoint.dialects.symphony.scope import effective_tools
from counterpoint.kernel.canonical import Json, dump_any


@click.group("profile", cls=Group)
def profile_command() -> None:
    """Set which tools the agents of a role may call.

    And write their scope file.
    """


@profile_command.command("set", epilog=examples("counterpoint profile set reviewer --deny finish"))
@click.argument("name")
@click.option("--allow", metavar="TOOL", multiple=True, help="Allow only this tool; repeatable.")
@click.option("--deny", metavar="TOOL", multiple=True, help="Deny this tool; repeatable.")
@with_context
def set_(
    context: CommandContext, name: str, *, allow: tuple[str, ...], deny: tuple[str, ...]
) -> None:
    """Set which tools a role may call; without options, allow all of the role's tools."""
    before = context.core.projects.profile(name)
    profile = context.core.projects.put_profile(
        name,
        title=before.title if before else "",
        instructions=before.instructions if before else "",
        allowed_tools=allow,
        denied_tools=deny,
    )
    _print(context, profile.name, profile, as_json=context.out.json)


@profile_command.command(
    "tools", epilog=examples("counterpoint profile tools reviewer > reviewer.json")
)
@click.argument("name")
@with_context
def tools(context: CommandContext, name: str) -> None:
    """Print the tools of a role as the file for `counterpoint mcp --tool-scope-file`.

    Warnings about the profile go to standard error; they stop nobody from working.
    """
    _print(context, name, context.core.projects.profile(name), as_json=True)


def _print(context: CommandContext, name: str, profile: Profile | None, *, as_json: bool) -> None:
    allowed = (profile.allowed_tools or None) if profile else None
    denied = profile.denied_tools if profile else ()
    names, warnings = effective_tools(name, allowed, denied)
    for warning in warnings:
        context.out.aside(f"warning: {warning}")
    listed: list[Json] = list(names)
    if as_json:
        with stdout_errors():
            click.echo(dump_any(listed))
    else:
        context.out.line(", ".join(names) or "no tool")

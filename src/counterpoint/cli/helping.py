"""Help: commands explained, what completes them in a shell, and the version."""

from __future__ import annotations

import platform
from typing import Final

import click

from counterpoint import __version__
from counterpoint.cli.grouping import examples
from counterpoint.cli.output import output_for
from counterpoint.cli.paging import page_output

SHELLS: Final = ("bash", "zsh", "fish")


@click.command("help", epilog=examples("counterpoint help plan", "counterpoint help audit verify"))
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Explain a command.

    Without a name: list all commands. The same as `counterpoint COMMAND --help`.
    """
    context = ctx.find_root()
    for word in words:
        group = context.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"`{context.command_path}` has no commands below it.", context)
        _, command, _ = group.resolve_command(context, [word])
        if command is not None:
            context = click.Context(command, info_name=word, parent=context)
    with page_output():
        output_for().line(context.get_help(), is_exact=True)


@click.command(
    "completion",
    epilog=examples(
        "counterpoint completion bash > ~/.local/share/bash-completion/completions/counterpoint",
        "counterpoint completion zsh > ~/.zfunc/_counterpoint",
        "counterpoint completion fish > ~/.config/fish/completions/counterpoint.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print a completion script for your shell.

    Save the output where your shell looks for completions, and open a new terminal. For zsh, that folder
    must be in `fpath` before `compinit` runs.
    """
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    if completion_class is None:
        raise click.UsageError(f"there is no completion for {shell}", ctx)
    completion = completion_class(
        ctx.find_root().command, {}, "counterpoint", "_COUNTERPOINT_COMPLETE"
    )
    # Asking bash for its version would start it, and says nothing of the bash that will read this.
    output_for().line(completion.source_template % completion.source_vars(), is_exact=True)


@click.command("version", epilog=examples("counterpoint version --json"))
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def version_command(as_json: bool) -> None:
    """Print the version."""
    python, system = platform.python_version(), platform.system()
    output_for(json=as_json).result(
        {"version": __version__, "python": python, "system": system},
        f"counterpoint {__version__} (Python {python} on {system})",
    )

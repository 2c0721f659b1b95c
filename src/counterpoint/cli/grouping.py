"""Groups of commands: their lists, how one is run, and suggestions for typos."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import click

from counterpoint import __version__
from counterpoint.cli.commands import COMMANDS, GROUPS, HIDDEN
from counterpoint.cli.output import stdout_errors
from counterpoint.kernel.errors import InvalidInput

_COMPLETION: Final = "_COUNTERPOINT_COMPLETE"
_START: Final = (
    "Set up:    counterpoint init",
    "Plan:      counterpoint plan PLAN.md",
    "Watch:     counterpoint status",
    "Read on:   counterpoint help COMMAND",
)
"""What somebody does first, in this order; shown above the list of all commands."""


_FEW = 12
"""So many commands below another are named to whoever names one that is not there."""


def examples(*lines: str) -> str:
    """Return lines that a command's help ends with, each as it is typed; a test runs through them."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


class RenamedOption(click.Option):
    """An option whose name of before goes on to work and is not shown."""

    def __init__(self, names: Sequence[str], *, before: str, **settings: Any) -> None:
        """Prepare it under both names; before: the name that is not shown."""
        super().__init__([*names, before], **settings)
        self._before = before

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return what the help shows: the name of now alone."""
        record = super().get_help_record(ctx)
        return record and (record[0].replace(f", {self._before}", ""), record[1])


class Group(click.Group):
    """Commands below a command; a mistyped one is told its neighbour."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named first; UsageError, with the name that is nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as fault:
            from difflib import get_close_matches

            names = [name for name in self.list_commands(ctx) if name not in GROUPS.get(HIDDEN, {})]
            near = get_close_matches(args[0], names, n=1)
            offer = f" Did you mean `{near[0]}`?" if near else ""
            if not near and len(names) <= _FEW:
                offer = f" There are: {', '.join(names)}."
            raise click.UsageError(f"{fault.message}{offer}", fault.ctx) from fault


class Commands(Group):
    """All commands, each imported when it is asked for: most of them need what is slow to load."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named first; InvalidInput, with the line to type, for a word of other tools."""
        if args[0] not in COMMANDS:
            from counterpoint.cli.foreign_commands import translate

            if refusal := translate(args, self):
                raise refusal
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"counterpoint.cli.{COMMANDS[cmd_name].file}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all commands by group; none of them is loaded for it."""
        del ctx
        with formatter.section("First steps"):
            formatter.write_text("\b\n" + "\n".join(_START))
        wide = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            if group == HIDDEN:
                continue
            rows = [(name.ljust(wide), command.summary) for name, command in commands.items()]
            with formatter.section(group):
                formatter.write_dl(rows)


def walk(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Return every command that is not hidden below a group, each with all its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        words = (*path, name)
        yield " ".join(words), command
        if isinstance(command, click.Group):
            yield from walk(command, words)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 the answer is no, 2 wrong usage, 3 something is missing.",
)
@click.version_option(__version__, message="counterpoint %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an unforeseen error.")
def cli(debug: bool) -> None:
    """The shared, provable memory of work for teams of coding agents."""
    if debug:
        import logging

        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)


def invoke(arguments: Sequence[str]) -> int | InvalidInput:
    """Run a command and return its code, or what was typed wrongly, which has been said then; KeyboardInterrupt."""
    if _COMPLETION in os.environ:
        cli.main(list(arguments), prog_name="counterpoint", standalone_mode=False)
        return 0
    try:
        with cli.make_context("counterpoint", list(arguments)) as context:
            answered = cli.invoke(context)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.NoArgsIsHelpError as group:
        # Whoever types a group alone asks what there is, which is no fault.
        with stdout_errors():
            click.echo(group.format_message())
        return 0
    except OSError as fault:
        if not _is_of_parser(fault):
            raise
        with stdout_errors():
            raise
    except click.ClickException as wrong:
        with suppress(OSError):
            wrong.show()
        fault_context = wrong.ctx if isinstance(wrong, click.UsageError) else None
        command = fault_context.command_path if fault_context else "counterpoint"
        hint = f"`{command} --help` says what it takes."
        if fault_context is not None and isinstance(wrong, click.MissingParameter):
            example = f"For example: {_complete_line(arguments, fault_context)}"
            with suppress(OSError):
                click.echo(example, err=True)
            hint = f"{example}\n{hint}"
        return InvalidInput(wrong.format_message(), hint=hint)
    return answered if isinstance(answered, int) else 0


def _is_of_parser(fault: OSError) -> bool:
    """Return whether it came while the parser wrote help or the version, which it does by itself."""
    trace = fault.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code is click.echo.__code__


def _complete_line(arguments: Sequence[str], context: click.Context) -> str:
    """Return what was typed, with the required arguments and options that it lacks.

    context: that of the command; its parameters hold what was read before the first fault.
    """
    import shlex

    options_given = frozenset(word.partition("=")[0] for word in arguments if word.startswith("-"))
    required = [param for param in context.command.params if param.required]
    options = [
        f"{max(param.opts, key=len)} {param.make_metavar(context)}"
        for param in required
        if isinstance(param, click.Option) and options_given.isdisjoint(param.opts)
    ]
    names = [
        param.make_metavar(context)
        for param in required
        if isinstance(param, click.Argument) and not context.params.get(param.name or "")
    ]
    typed = [shlex.quote(word) for word in arguments]
    return " ".join(("counterpoint", *typed, *names, *options))

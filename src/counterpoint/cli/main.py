"""The group of all commands, and the one top where their errors become exit codes.

code   meaning
0      done
1      the answer is no: a broken chain, a closed gate, a conflict, an unknown id
2      wrong usage or input that is not valid
3      something needed is missing, unreachable or broken; also anything unforeseen
130    stopped with Ctrl-C
141    the reader of the output went away

With `--json` whatever ends with 1, 2 or 3 because it was refused answers one object on standard output, with the
fields that a refused tool has (dialects/envelope.py); the words for people stay on standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import click

from counterpoint import __version__
from counterpoint.cli.grouping import Commands
from counterpoint.cli.output import output_for, taken, visible
from counterpoint.cli.phrases import PHRASES
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    Kind,
    Unavailable,
    Unexpected,
)

EXIT_CODES: Final[Mapping[Kind, int]] = {
    "not_found": 1,
    "invalid": 2,
    "conflict": 1,
    "gate": 1,
    "forbidden": 1,
    "integrity": 1,
    "unavailable": 3,
}
UNFORESEEN: Final = 3
STOPPED: Final = 130
PIPE_CLOSED: Final = 141

_COMPLETION = "_COUNTERPOINT_COMPLETE"


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


def run(arguments: Sequence[str]) -> int:
    """Run one command; answer its exit code. What it says on the way goes to the two streams."""
    _replace_closed_streams()
    try:
        code = _run(arguments)
    except BrokenPipeError:
        _leave_output()
        return PIPE_CLOSED
    try:
        sys.stdout.flush()
    except OSError:
        # It was said, or nobody can be told.
        _leave_output()
    return code


def _run(arguments: Sequence[str]) -> int:
    as_json = "--json" in arguments
    try:
        code = _invoke(arguments, as_json=as_json)
        with taken():
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        output_for().aside("Stopped.")
        return STOPPED
    except CounterpointError as refusal:
        return refused(refusal, as_json=as_json)
    except BrokenPipeError:
        raise
    except Exception as fault:  # noqa: BLE001 -- this is the top: it is told, and ends with 3
        if "--debug" in arguments:
            _log(fault)
        return _unforeseen(fault, as_json=as_json)
    return code


def _invoke(arguments: Sequence[str], *, as_json: bool) -> int:
    """Run a command; what click itself has to say it says here."""
    if _COMPLETION in os.environ:
        cli.main(list(arguments), prog_name="counterpoint", standalone_mode=False)
        return 0
    try:
        with cli.make_context("counterpoint", list(arguments)) as context:
            answered = cli.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as wrong:
        with suppress(OSError):
            wrong.show()
        if as_json:
            place = wrong.ctx if isinstance(wrong, click.UsageError) else None
            command = place.command_path if place else "counterpoint"
            hint = f"`{command} --help` says what it takes."
            _answer_refusal(InvalidInput(wrong.format_message(), hint=hint))
        return EXIT_CODES["invalid"]
    return answered if isinstance(answered, int) else 0


def refused(refusal: CounterpointError, *, as_json: bool = False) -> int:
    """Say what was refused and what to do next; answer the exit code of its kind."""
    out = output_for()
    out.aside(f"counterpoint: {refusal.message}", style="red")
    out.aside(refusal.hint_in(PHRASES))
    if as_json:
        _answer_refusal(refusal)
    return EXIT_CODES[refusal.kind]


def _log(fault: Exception) -> None:
    """Show where an error came from; loaded only for that."""
    import logging

    logging.getLogger(__name__).error("the command failed", exc_info=fault)


def _unforeseen(fault: Exception, *, as_json: bool) -> int:
    sort = type(fault).__name__
    refusal = Unexpected(
        f"something went wrong inside ({sort}: {visible(str(fault))[:200]})",
        hint="Run it again as `counterpoint --debug …` and report what it prints.",
    )
    output_for().aside(f"counterpoint: {refusal.message}. Sorry. {refusal.hint}", style="red")
    if as_json:
        _answer_refusal(refusal)
    return UNFORESEEN


def _answer_refusal(refusal: CounterpointError) -> None:
    """Say a refusal as JSON, on one line: it may come after the lines of a stream."""
    from counterpoint.dialects.envelope import plain

    # What the output does not take was said beside it.
    with suppress(Unavailable):
        output_for(json=True).answer_line(plain(refusal, PHRASES))


def _replace_closed_streams() -> None:
    """Open a file for each stream that was closed at the start, so that no other one gets its number.

    Reading finds the end. Writing the answer is an error, as it was; what is said beside it is lost.
    """
    reads, writes = os.O_RDONLY, os.O_WRONLY
    for name, mode, flag in (
        ("stdin", "r", reads),
        ("stdout", "w", reads),
        ("stderr", "w", writes),
    ):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, flag)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _leave_output() -> None:
    """Give the interpreter a place for what is still unwritten, so that its end is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)

"""The group of all commands, and the one place where errors become exit codes.

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

import errno
import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, TypedDict

from counterpoint.cli.output import output_for, stdout_errors, visible
from counterpoint.cli.phrases import PHRASES, name_item_of
from counterpoint.kernel.entrances import entered
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
_UTF_8: Final = frozenset({"utf-8", "utf8"})
_ESCAPED: Final = "counterpoint-escaped"


def run(arguments: Sequence[str]) -> int:
    """Run one command; answer its exit code. What it says on the way goes to the two streams."""
    _replace_closed_streams()
    _write_every_letter()
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
        with stdout_errors():
            sys.stdout.flush()
    except KeyboardInterrupt:
        output_for().aside("Stopped.")
        return STOPPED
    except CounterpointError as refusal:
        return refused(refusal, as_json=as_json)
    except BrokenPipeError:
        raise
    except Exception as fault:  # noqa: BLE001 -- this is the top: it is told, and ends with 3
        if isinstance(fault, OSError) and fault.errno == errno.ENAMETOOLONG:
            refusal = InvalidInput("the name of a file is too long", hint="Name another file.")
            return refused(refusal, as_json=as_json)
        if "--debug" in arguments:
            _log(fault)
        return _unforeseen(fault, as_json=as_json)
    return code


def _invoke(arguments: Sequence[str], *, as_json: bool) -> int:
    """Run a command; one that is spelled plainly without what reads all arguments, which is a third of it."""
    # The words of commands alone: what else is typed may be a text.
    words = arguments[:2] if list(arguments[:1]) == ["audit"] else arguments[:1]
    with entered(f"command {' '.join(words)}"):
        return _invoke_within(arguments, as_json=as_json)


def _invoke_within(arguments: Sequence[str], *, as_json: bool) -> int:
    options = parse_plain_status(arguments)
    if options is not None:
        from counterpoint.cli.context import open_context
        from counterpoint.cli.work.status import show_state

        with open_context(**options, shows_name=as_json) as context:
            show_state(context)
        return 0
    from counterpoint.cli.grouping import invoke

    answered = invoke(arguments)
    if isinstance(answered, int):
        return answered
    if as_json:
        _answer_refusal(answered)
    return EXIT_CODES[answered.kind]


class PlainStatus(TypedDict):
    """What `status` is asked for."""

    as_json: bool
    db: str | None
    project: str | None


def parse_plain_status(arguments: Sequence[str]) -> PlainStatus | None:
    """Return what `status` is asked for where its words are whole and each is known; None where the parser has to look.

    As the parser has it, the last of several counts.
    """
    if list(arguments[:1]) != ["status"]:
        return None
    options, words = PlainStatus(as_json=False, db=None, project=None), iter(arguments[1:])
    for word in words:
        option, equals, value = word.partition("=")
        if word == "--json":
            options["as_json"] = True
            continue
        if not equals:
            value = next(words, "-")
        # A value that looks like an option, or none, is for the parser to judge.
        if value.startswith("-"):
            return None
        if option == "--db":
            options["db"] = value
        elif option == "--project":
            options["project"] = value
        else:
            return None
    return options


def refused(refusal: CounterpointError, *, as_json: bool = False) -> int:
    """Say what was refused and what to do next; answer the exit code of its kind."""
    from counterpoint.cli.local_time import localize

    out = output_for()
    out.aside(localize(f"counterpoint: {refusal.message}"), style="red")
    out.aside(localize(name_item_of(refusal.hint_in(PHRASES), refusal.message)))
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
    from counterpoint.dialects.envelope import refusal_to_json

    # What the output does not take was said beside it.
    with suppress(Unavailable):
        output_for(json=True).answer_line(refusal_to_json(refusal, PHRASES))


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


def _write_every_letter() -> None:
    r"""Have a letter that the output's encoding lacks written as `\u2713`, which JSON reads too, in place of a fault."""
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or stream.encoding.lower() in _UTF_8:
        return
    import codecs

    codecs.register_error(_ESCAPED, _escape)
    stream.reconfigure(errors=_ESCAPED)


def _escape(fault: UnicodeError) -> tuple[str, int]:
    """Return the letters that cannot be written as JSON escapes them, and where to go on."""
    import json

    if not isinstance(fault, UnicodeEncodeError):
        raise fault
    return json.dumps(fault.object[fault.start : fault.end])[1:-1], fault.end


def _leave_output() -> None:
    """Give the interpreter a place for what is still unwritten, so that its end is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)

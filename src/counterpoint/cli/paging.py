"""A pager for answers that are longer than the terminal.

Rules: (1) only where standard output is a terminal, and the answer has more lines than that; (2) the pager is
COUNTERPOINT_PAGER, else PAGER, else `less -FRX`; an empty one, or `cat`, is none; (3) `--no-pager` on the command, and
a pager that cannot be started, print it all; (4) whoever leaves the pager early has seen enough: no error.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, Final, TypeVar

import click

from counterpoint.kernel.starting.programs import find_program, search_path

F = TypeVar("F", bound=Callable[..., Any])

_USUAL: Final = "less -FRX"
_NONE: Final = frozenset({"", "cat"})


class _Kept(io.StringIO):
    """What is kept for the pager; it is shown on a terminal, and so looks like one."""

    def isatty(self) -> bool:
        """Answer that it is one."""
        return True


@contextmanager
def page_output(*, is_wanted: bool = True) -> Generator[None]:
    """Show what is printed during the block through a pager if it is longer than the terminal."""
    terminal = sys.stdout
    if not is_wanted or not terminal.isatty() or not _pager():
        yield
        return
    buffer = _Kept()
    sys.stdout = buffer
    try:
        yield
    finally:
        sys.stdout = terminal
        _show(buffer.getvalue())


def pageable(command: F) -> F:
    """Give a command `--no-pager`, and its answer a pager where one helps."""

    @click.option("--no-pager", is_flag=True, help="Print it all at once.")
    @wraps(command)
    def shown(*args: Any, no_pager: bool, **paged_command: Any) -> Any:
        with page_output(is_wanted=not no_pager):
            return command(*args, **paged_command)

    return shown  # type: ignore[return-value] -- the same parameters and one more, which click gives


def _pager() -> list[str]:
    """Return the command line of the pager; empty for none."""
    environ = os.environ
    command_line = environ.get("COUNTERPOINT_PAGER", environ.get("PAGER", _USUAL)).strip()
    if command_line in _NONE or environ.get("TERM") == "dumb":
        return []
    try:
        words = shlex.split(command_line)
    except ValueError:
        return []
    program = find_program(words[0]) if words else None
    return [program, *words[1:]] if program else []


def _show(text: str) -> None:
    size = shutil.get_terminal_size()
    if text.count("\n") < size.lines:
        print(text, end="", flush=True)
        return
    # As git does for a `less` that nobody has told otherwise: colours, and no pager for what fits.
    environ = {"LESS": "FRX", **os.environ, "PATH": search_path()}
    try:
        pager = subprocess.Popen(_pager(), stdin=subprocess.PIPE, env=environ)  # noqa: S603 the user's own choice
    except OSError:
        print(text, end="", flush=True)
        return
    with suppress(BrokenPipeError):
        pager.communicate(text.encode("utf-8", "replace"))

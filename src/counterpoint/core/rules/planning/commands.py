"""Command lines of plans and templates, read into argument lists.

Commands run without a shell. So what only a shell gives a meaning to is refused, and not handed to a program as a word: a sign
between blanks, such as `|`, a `;` behind a word, backticks, `$(`, and `NAME=value` before the program. Inside of quotation marks, and behind a
backslash, each of these is a letter.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from counterpoint.kernel.matching.expressions import expression

COMMAND_LIMIT: Final = 4_000
"""How many characters the line of a command may have."""
_SHELL: Final = expression(r"(?<!\S)(?:&&|\|\|?|;|2?>>?|<|&|2>&1)(?!\S)")
_QUOTED: Final = expression(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
_VARIABLE: Final = expression(r"\s*([A-Za-z_][A-Za-z0-9_]*)=")
_GLUED: Final = expression(r"\$\(|;(?!\S)")
_MARK: Final = "\0"


def command_of(text: str) -> tuple[tuple[str, ...], str]:
    """Return the argument list of a command line, and what is wrong with it, or nothing."""
    if len(text) > COMMAND_LIMIT:
        return (), f"the command is longer than {COMMAND_LIMIT} characters"
    if _MARK in text:
        return (), "the command has a NUL character"
    try:
        argv = tuple(shlex.split(text))
        # Marked before it is split: what stands in quotation marks is a word, and no sign of a
        # shell.
        marked = shlex.split(_SHELL.sub(lambda sign: _MARK + sign[0], text))
    except ValueError as fault:
        return (), f"the command cannot be read: {str(fault).lower()}"
    if not argv:
        return (), "the command is empty"
    signs = [word.removeprefix(_MARK) for word in marked if word.startswith(_MARK)]
    problem = _of_shell(text, signs)
    return (() if problem else argv), problem


def _of_shell(text: str, signs: Sequence[str]) -> str:
    """Return what only a shell would understand in a command line, with the right form; empty without it."""
    bare = _QUOTED.sub("_", text)
    if shell_signs := [*signs, *_GLUED.findall(bare)]:
        return (
            f"{shell_signs[0]!r} needs a shell, and commands run without one: put it into a script"
        )
    if "`" in bare:
        return f"a command stands without backticks: {text.replace('`', '').strip()}"
    if variable := _VARIABLE.match(bare):
        return f"{variable[1]!r} is no program: to set a variable for one, write env {text.strip()}"
    return ""


def command_line(argv: Sequence[str]) -> str:
    """Return the line of an argument list, which `command_of` reads back to the same."""
    text = shlex.join(argv)
    # What a program is called may look like a variable.
    return f"'{argv[0]}'{text[len(argv[0]) :]}" if _VARIABLE.match(text) else text

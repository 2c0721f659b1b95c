"""Commands of gates: one program and its arguments, or a line for a shell.

Rule 1: a command is read as a POSIX shell would cut it into words, quotes and backslashes included. Rule 2: a
text with an operator (`&&`, `|`, `;`, `>`, …), a variable that is set before the program, a variable or a substitution outside of single quotes, or with a word
of nothing but operators, even in quotes, means something else than its words; so it is run by `sh -c`. Rule 3: what
a project may have run is judged as any command: a person trusts `sh`, `-c` and the text, or lists no such command.
"""

from __future__ import annotations

import re
import shlex

from counterpoint.kernel.errors import InvalidInput

_OPERATORS = frozenset("|&;<>()`\n")
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_HINT = "Write a program with its arguments, or a line for a shell."


def argv_of(command: str) -> tuple[str, ...]:
    """Return the argument list of a command; InvalidInput if it cannot be read, or is empty."""
    reader = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()`\n")
    reader.whitespace = " \t"
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        words = tuple(reader)
    except ValueError as fault:
        raise InvalidInput(f"{command[:200]!r} cannot be read: {fault}", hint=_HINT) from fault
    if not words or not command.strip():
        raise InvalidInput("the command is empty", hint=_HINT)
    is_shells = any(word and set(word) <= _OPERATORS for word in words) or _has_variable(command)
    if is_shells or _ASSIGNS.match(words[0]):
        return "sh", "-c", command
    return words


def _has_variable(command: str) -> bool:
    """Return whether a `$` stands where a shell would replace it."""
    quote, is_escaped = "", False
    for letter in command:
        if is_escaped:
            is_escaped = False
        elif letter == "\\" and quote != "'":
            is_escaped = True
        elif letter in "'\"" and quote in {"", letter}:
            quote = "" if quote else letter
        elif letter == "$" and quote != "'":
            return True
    return False

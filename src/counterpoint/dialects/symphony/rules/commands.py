"""Commands of a project's gates: one program and its arguments.

A command is read as a POSIX shell would cut it into words, quotes and backslashes included. Nothing
else of a shell is done: a text with an operator (`&&`, `|`, `;`, `>`, …), a variable or a substitution
outside of single quotes is refused, since it would mean something else than it says. So is a word of
nothing but operators, even in quotes.
"""

from __future__ import annotations

import shlex

from counterpoint.kernel.errors import InvalidInput

_OPERATORS = frozenset("|&;<>()`\n")
_HINT = "Write one program with its arguments; put more into a script of the repository."


def argv_of(command: str) -> tuple[str, ...]:
    """Return the argument list of a command; InvalidInput if only a shell could run it."""
    reader = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()`\n")
    reader.whitespace = " \t"
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        words = tuple(reader)
    except ValueError as fault:
        raise InvalidInput(f"{command[:200]!r} cannot be read: {fault}", hint=_HINT) from fault
    if not words:
        raise InvalidInput("the command is empty", hint=_HINT)
    if any(word and set(word) <= _OPERATORS for word in words) or _has_variable(command):
        raise InvalidInput(f"{command[:200]!r} needs a shell, and none is used", hint=_HINT)
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

"""What text would be read as more than text in a plan, and how it is written so that it is not.

A backslash before the first letter of a line makes it text; one before `<!--` or before the `{#name}` at the end of a title does the
same there. Each is taken away when the plan is read. Between fences that end nothing is escaped.
"""

from __future__ import annotations

import re
from typing import Final

from counterpoint.core.rules.planning.attributes import spelling_of
from counterpoint.core.rules.planning.markdown import (
    escape_comments,
    is_task_row,
    parse_markdown,
    split_lines,
    task_in,
)
from counterpoint.kernel.matching.expressions import expression

_HEADING: Final = expression(r"\s*#{1,6}(?:\s|$)|\s{0,3}#{2,6}\w")
_BOX: Final = expression(
    r"\s*(?:(?:[-*+]|[0-9]{1,9}[.)])\s+)+\[.[\ufe00-\ufe0f]?\](?:\s|$)", re.DOTALL
)
_FENCE: Final = expression(r"\s*(?:```|~~~)")
_UNDERLINE: Final = expression(r"\s*(?:=+|-+)\s*$")
_HTML: Final = expression(
    r"\s*<(?:[!?](?!--)|(?:script|pre|style|textarea)(?:[\s>]|$))", re.IGNORECASE
)
_BULLET: Final = expression(r"\s*(?:(?:[-*+]|[0-9]{1,9}[.)])\s+)+")
_NAME: Final = expression(r"\{#([^\s{},#`\\<]{1,64})\}")


def name_at(title: str) -> int:
    """Return where the `{#name}` begins that ends a title; -1 if none does."""
    at = title.rfind("{#")
    return at if at >= 0 and _NAME.fullmatch(title, at) else -1


def is_structure(line: str) -> bool:
    """Return whether a line would be read as more than text, were it not for backslashes before it."""
    indent = line[: len(line) - len(line.lstrip())]
    bare = indent + line.lstrip().lstrip("\\")
    bullet = _BULLET.match(bare)
    spelling = spelling_of(bare[bullet.end() :]) if bullet else None
    return bool(
        _HEADING.match(bare)
        or _BOX.match(bare)
        or task_in(bare)[1]
        or is_task_row(bare)
        or _FENCE.match(bare)
        or _UNDERLINE.match(bare)
        or _HTML.match(bare)
        or (spelling and (spelling.word or spelling.near))
    )


def unescape(line: str) -> str:
    """Return a line of text without the backslash that made it text."""
    line = line.replace("\\<!--", "<!--")
    is_escaped = line.lstrip().startswith("\\") and is_structure(line)
    return line.replace("\\", "", 1) if is_escaped else line


def escape(line: str) -> str:
    """Return a line with a backslash where it would be read as more than text; `unescape` reads it back."""
    if is_structure(line):
        indent = line[: len(line) - len(line.lstrip())]
        line = f"{indent}\\{line.lstrip()}"
    return escape_comments(line)


def plain(text: str) -> str:
    """Return text as a document may hold it, with a backslash before what is not to be read."""
    lines = split_lines(text)
    if not any(_FENCE.match(line) for line in lines):
        return "\n".join(map(escape, lines))
    fenced = _fenced(text)
    escaped = [line if number in fenced else escape(line) for number, line in enumerate(lines)]
    # What was escaped may have held a fence together, which then is none.
    if fenced and fenced != _fenced("\n".join(escaped)):
        escaped = [escape(line) for line in lines]
    return "\n".join(escaped)


def _fenced(text: str) -> set[int]:
    """Return the places of the lines in fences; none where a fence or a comment never ends."""
    document = parse_markdown(text)
    if document.unfinished:
        return set()
    return {line.number - 1 for line in document.lines if line.kind == "fence"}

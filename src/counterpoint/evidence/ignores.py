"""The lines of an ignore file, read as git reads them.

A line says something if and only if (1) it is not empty and does not begin with `#`, (2) no backslash ends it and
every `[` in it is closed. `!` before it makes it an exception, `/` behind it asks for a folder. One that has a `/` before its end
is compared with the whole way from its file, any other with the last name. In a name `*` stands for any letters, `?` for one,
`[…]` for one of some; as a name of its own before or after a `/`, `**` stands for any number of names. A backslash takes its meaning from
the sign behind it. The last line that fits decides.

Lines without wildcards are looked up, and the others are held against a name in a time that grows with it (`kernel/matching/wildcards.py`),
whatever the line is like. Of these a file may have `MOST_WILD`; what is beyond them is passed over, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from counterpoint.kernel.matching.wildcards import MANY, ONE, Question, Row, Token

MOST_WILD: Final = 1_000
"""How many lines with wildcards one file may have."""

_CLASSES: Final[dict[str, Callable[[str], bool]]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": " \t".__contains__,
    "cntrl": lambda letter: letter < " " or letter == "\x7f",
    "digit": str.isdecimal,
    "graph": lambda letter: "!" <= letter <= "~",
    "lower": str.islower,
    "print": lambda letter: " " <= letter <= "~",
    "punct": lambda letter: "!" <= letter <= "~" and not letter.isalnum(),
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": "0123456789abcdefABCDEF".__contains__,
}


class _Unreadable(ValueError):
    """A line that is no pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """What one line says of what it fits."""

    number: int
    ignore: bool
    folders_only: bool


@dataclass(slots=True)
class IgnoreFile:
    """The lines of one file."""

    is_whole: bool = True
    """Whether no line was passed over for their number."""
    names: dict[str, list[_Line]] = field(default_factory=dict[str, list[_Line]])
    ways: dict[str, list[_Line]] = field(default_factory=dict[str, list[_Line]])
    wild: list[tuple[_Line, bool, Callable[[str], bool]]] = field(
        default_factory=list[tuple[_Line, bool, Callable[[str], bool]]]
    )

    def judge(self, path: str, *, folder: bool) -> bool | None:
        """Return whether a path below the file is ignored; None if no line says anything about it."""
        name = path.rpartition("/")[2]
        best: _Line | None = None
        for line in (*self.names.get(name, ()), *self.ways.get(path, ())):
            if (folder or not line.folders_only) and (best is None or line.number > best.number):
                best = line
        for line, is_way, fits in reversed(self.wild):
            if best is not None and line.number < best.number:
                break
            if (folder or not line.folders_only) and fits(path if is_way else name):
                return line.ignore
        return None if best is None else best.ignore


def read(text: str) -> IgnoreFile:
    """Return the lines of an ignore file; what is no pattern is passed over."""
    ignore_file = IgnoreFile()
    for number, ended in enumerate(text.removeprefix("\ufeff").split("\n")):
        line = ended.removesuffix("\r")
        # As git reads it: blanks at the end say nothing unless they are quoted.
        line = line if line.endswith("\\ ") else line.rstrip(" ")
        if not line or line.startswith("#"):
            continue
        words = line.removeprefix("!")
        rule = _Line(number=number, ignore=words == line, folders_only=words.endswith("/"))
        try:
            _add_rule(ignore_file, rule, words.removesuffix("/"))
        except _Unreadable:
            continue
    return ignore_file


def _add_rule(ignore_file: IgnoreFile, rule: _Line, words: str) -> None:
    is_way = "/" in words
    parts = words.removeprefix("/").split("/")
    rows = [_letters(part) for part in parts]
    if words and all(isinstance(row, str) for row in rows):
        where = ignore_file.ways if is_way else ignore_file.names
        where.setdefault("/".join(map(str, rows)), []).append(rule)
    elif len(ignore_file.wild) >= MOST_WILD:
        ignore_file.is_whole = False
    elif words:
        fits = _make_path_question(parts, rows) if is_way else _make_question(rows[0])
        ignore_file.wild.append((rule, is_way, fits))


def _make_path_question(
    parts: Sequence[str], rows: Sequence[str | list[Token]]
) -> Callable[[str], bool]:
    """Return what asks of a way from the file whether names fit it."""
    tokens: list[Token] = []
    for index, (part, row) in enumerate(zip(parts, rows, strict=True)):
        if part != "**":
            tokens.append(row if isinstance(row, str) else _make_question(row))
        else:
            # At the end it is all that is in a folder, which the folder itself is not.
            tokens += (ONE, MANY) if index == len(parts) - 1 else (MANY,)
    row = Row(tokens)
    return lambda path: row.fits(path.split("/"))


def _make_question(row: str | list[Token]) -> Question:
    """Return what asks whether a name fits."""
    if isinstance(row, str):
        return row.__eq__
    if row.count(MANY) == 1 and all(token is MANY or isinstance(token, str) for token in row):
        index = row.index(MANY)
        begin, end = "".join(map(str, row[:index])), "".join(map(str, row[index + 1 :]))
        least = len(begin) + len(end)
        return lambda name: len(name) >= least and name.startswith(begin) and name.endswith(end)
    return Row(row).fits


def _letters(part: str) -> str | list[Token]:
    """Return the tokens of a name in a pattern; the name itself if it has no wildcards."""
    tokens: list[Token] = []
    position = 0
    while position < len(part):
        letter = part[position]
        position += 1
        if letter == "\\":
            if position == len(part):
                raise _Unreadable
            tokens.append(part[position])
            position += 1
        elif letter == "[":
            question, position = _one_of(part, position)
            tokens.append(question)
        else:
            tokens.append({"*": MANY, "?": ONE}.get(letter, letter))
    return "".join(map(str, tokens)) if all(isinstance(token, str) for token in tokens) else tokens


def _one_of(part: str, position: int) -> tuple[Question, int]:
    """Return what asks for one of some letters, and where it ends."""
    is_other = part[position : position + 1] in {"!", "^"}
    first = position = position + is_other
    spans: list[tuple[str, str]] = []
    classes: list[Callable[[str], bool]] = []
    while part[position : position + 1] != "]" or position == first:
        if part.startswith("[:", position) and (end := part.find(":]", position)) > 0:
            name = part[position + 2 : end]
            if name not in _CLASSES:
                raise _Unreadable
            classes.append(_CLASSES[name])
            position = end + 2
            continue
        low, position = _letter(part, position)
        high = low
        if part[position : position + 1] == "-" and part[position + 1 : position + 2] not in {
            "",
            "]",
        }:
            high, position = _letter(part, position + 1)
        spans.append((low, high))

    def fits(letter: str) -> bool:
        is_in = any(low <= letter <= high for low, high in spans)
        return (is_in or any(ask(letter) for ask in classes)) != is_other

    return fits, position + 1


def _letter(part: str, position: int) -> tuple[str, int]:
    """Return a letter of a set, which may be quoted, and where the next one is."""
    position += part[position : position + 1] == "\\"
    if position >= len(part):
        raise _Unreadable
    return part[position], position + 1

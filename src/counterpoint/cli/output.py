"""How answers look: plain text, JSON, or tables and colours on a terminal.

Rules: (1) the answer goes to standard output, all else to standard error; (2) `--json` gives one
JSON document and nothing else: words go to standard error then; (3) a table is within the width of the terminal, and elsewhere nothing is cut or
wrapped; (4) colours and moving lines only where the stream is a terminal, colours not with `NO_COLOR`, and everywhere with `FORCE_COLOR`
or `CLICOLOR_FORCE`; each says a state, and nothing else does; (5) what agents wrote is data: characters that would steer a
terminal or hide in it are shown (kernel/visible.py), in JSON by its own escapes; (6) an answer that the
output does not take is a refusal, and what is said beside it is lost in silence.
"""

from __future__ import annotations

import os
import sys
import threading
import unicodedata
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TextIO

from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

if TYPE_CHECKING:
    # The help of all commands prints no answer, and waits for nothing that reads or writes JSON.
    from rich.status import Status
    from rich.text import Text

    from counterpoint.kernel.canonical import Json

AT_ONCE: Final = 1.0
"""Seconds that a command may take before it says how far it is."""

STYLES: Final[Mapping[str, str]] = {
    "active": "cyan",
    "closed": "yellow",
    "done": "green",
    "fail": "red",
    "failed": "red",
    "live": "cyan",
    "met": "green",
    "ok": "green",
    "passed": "green",
    "review": "magenta",
    "expired": "red",
    "warn": "yellow",
    "blocked": "yellow",
    "running out": "yellow",
    "ran out": "red",
    "skipped": "bright_black",
    "cancelled": "bright_black",
    "dropped": "bright_black",
    "added": "green",
    "deleted": "red",
}
"""The words that have a colour wherever they fill a cell."""

_COLOURS: Final = expression("(\x1b\\[[0-9;]*m)")
"""How git sets a colour, and takes it back."""
_WORDS: Final = expression(r"(?:`[^`]*`|\S)+")
"""A command in back-ticks is one word, so that it can be copied."""
_GAP = "  "
_CELL: Final = 12
"""How many columns of a terminal a cell may ask for before its table is one no more."""


def visible(text: str) -> str:
    """Return a text as it is shown: what would steer a terminal, or hide in it, is written out."""
    from counterpoint.kernel.visible import visible as shown

    return shown(text)


def flat(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def one_line(text: str, limit: int = 100) -> str:
    """Return a text on one line: on a terminal the beginning of it, elsewhere all."""
    line = flat(text)
    return line if len(line) <= limit or not sys.stdout.isatty() else f"{line[: limit - 1]}…"


def fit_widths(widths: Sequence[int], columns: int) -> list[int]:
    """Return the widths of columns that together take so much room: the widest give up what is too much."""
    fitted_widths = list(widths)
    while (over := sum(fitted_widths) - columns) > 0:
        widest = max(fitted_widths)
        several = fitted_widths.count(widest)
        next_one = max((each for each in fitted_widths if each < widest), default=0)
        less = min(widest - next_one, -(-over // several))
        fitted_widths = [each - less if each == widest else each for each in fitted_widths]
    return fitted_widths


def wrap_text(text: str, wide: int, *, cuts_words: bool = True) -> list[str]:
    """Return a text as lines of at most so many columns, divided between words where that can be.

    The spaces that it begins with stand before every line, while half of the columns are left for words.
    cuts_words: whether a word that is longer than a line is divided, else it stands whole on a line of its own.
    """
    if width(text) <= wide:
        return [text]
    indent = " " * min(len(text) - len(text.lstrip(" ")), wide // 2)
    inner = wide - len(indent)
    lines, line = list[str](), ""
    for word in _WORDS.findall(text):
        if line and width(line) + 1 + width(word) <= inner:
            line = f"{line} {word}"
            continue
        if line:
            lines.append(line)
        *parts, line = _cut_word(word, inner) if cuts_words else [word]
        lines += parts
    return [f"{indent}{part}" for part in (*lines, *([line] if line else []))]


def _cut_word(word: str, wide: int) -> list[str]:
    """Return a word in parts of at most so many columns."""
    parts = list[str]()
    while width(word) > wide:
        cut = next(n for n in range(len(word), 0, -1) if n == 1 or width(word[:n]) <= wide)
        parts.append(word[:cut])
        word = word[cut:]
    return [*parts, word]


def style_of(cell: str) -> str:
    """Return the colour of a cell, by its first word; empty for none."""
    return STYLES.get(cell.partition(",")[0], "")


@contextmanager
def stdout_errors() -> Generator[None]:
    """Refuse what standard output does not take; Unavailable. A reader that went away is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as fault:
        raise Unavailable(
            f"the output cannot be written: {fault.strerror or fault}",
            hint="Free some space, or send the output elsewhere, and repeat it.",
        ) from fault


@frozen
class Output:
    """Where and how one command says what it found."""

    json: bool = False
    terminal: bool = False
    colour: bool = False

    def line(self, text: str = "", *, style: str = "", is_exact: bool = False) -> None:
        """Say one line (or several) of the answer; with `--json` beside it.

        is_exact: for what is copied, such as a key or a script: no line is divided.
        """
        if self.json:
            self.aside(text, style=style)
            return
        with stdout_errors():
            self._say(text, style, sys.stdout, colour=self.colour, is_exact=is_exact)

    def aside(self, text: str, *, style: str = "") -> None:
        """Say something that is not part of the answer."""
        with suppress(OSError):
            self._say(text, style, sys.stderr, colour=_has_colour(sys.stderr))

    def _say(
        self, text: str, style: str, stream: TextIO, *, colour: bool, is_exact: bool = False
    ) -> None:
        shown_text = visible(text)
        if stream.isatty() and not is_exact:
            shown_text = _folded(shown_text)
        if colour and style:
            import click

            shown_text = click.style(shown_text, bold=True, fg=None if style == "bold" else style)
        print(shown_text, file=stream, flush=True)

    def raw(self, text: str) -> None:
        """Say a text whose colours git has set; what else would steer a terminal is shown."""
        parts = _COLOURS.split(text) if self.colour else [text]
        parts_shown = (part if index % 2 else visible(part) for index, part in enumerate(parts))
        with stdout_errors():
            print("".join(parts_shown), end="" if text.endswith("\n") else "\n", flush=True)

    def document(self, text: str | bytes) -> None:
        """Say a document that programs read too: exact, but on a terminal what would steer it is shown."""
        with stdout_errors():
            if sys.stdout.isatty():
                text = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
                sys.stdout.write(visible(text))
            elif isinstance(text, bytes):
                sys.stdout.buffer.write(text)
            else:
                sys.stdout.write(text)

    def answer(self, value: Json) -> None:
        """Say a JSON document."""
        import orjson

        from counterpoint.kernel.visible import escaped

        with stdout_errors():
            print(escaped(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()))

    def result(self, answer: Json, *lines: str, is_exact: bool = False) -> None:
        """Say an answer as JSON; for a person, lines in its place."""
        if self.json:
            self.answer(answer)
            return
        for line in lines:
            self.line(line, is_exact=is_exact)

    def rows(
        self,
        answer: Json,
        headings: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        nothing: str = "",
        aside: str = "",
    ) -> None:
        """Say a list as JSON; for a person, a table.

        nothing: the answer in place of a table without rows; aside: what is said beside it then.
        """
        if self.json:
            self.answer(answer)
        elif rows or not (nothing or aside):
            self.table(headings, rows)
        elif nothing:
            self.line(nothing)
        else:
            self.aside(aside)

    def answer_line(self, value: Json) -> None:
        """Say one JSON value of a stream, on one line, at once."""
        import orjson

        from counterpoint.kernel.visible import escaped

        with stdout_errors():
            print(escaped(orjson.dumps(value).decode()), flush=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Say rows under headings: on a terminal within its width, else each on one line."""
        visible_rows = [tuple(map(visible, row)) for row in rows]
        cells = [tuple(headings), *visible_rows]
        widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
        if self.terminal:
            columns = terminal_columns() - len(_GAP) * (len(widths) - 1)
            if sum(min(each, _CELL) for each in widths) > columns:
                self._fields(headings, visible_rows)
                return
            widths = fit_widths(widths, columns)
        with stdout_errors():
            for number, row in enumerate(cells):
                style = "bold" if not number else ""
                for line in self._lines(row, widths, style):
                    print(line)

    def _lines(self, row: Sequence[str], widths: Sequence[int], style: str) -> Iterator[str]:
        """Return a row as lines, the cells that are too long for their columns wrapped by words."""
        parts = [wrap_text(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        for index in range(max(map(len, parts))):
            padded: list[str] = []
            for cell, part, wide in zip(row, parts, widths, strict=True):
                text = part[index] if index < len(part) else ""
                blank = " " * (wide - width(text))
                padded.append(self._styled(text, style or style_of(cell)) + blank)
            yield _GAP.join(padded).rstrip()

    def _styled(self, text: str, style: str) -> str:
        if not (self.colour and style and text):
            return text
        import click

        return click.style(text, bold=True) if style == "bold" else click.style(text, fg=style)

    def _fields(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Say rows where a table would have a few letters a line: each field on a line of its own."""
        for number, row in enumerate(rows):
            if number:
                self.line()
            for heading, cell in zip(headings, row, strict=True):
                if cell:
                    self.line(f"{heading}: {cell.lstrip()}", style=style_of(cell))

    @contextmanager
    def counting(self, what: str) -> Generator[Callable[[int], None]]:
        """Show on a terminal how far a command is once it takes long; answers what to tell the count to."""
        if not sys.stderr.isatty():
            yield _silent
            return
        moving = _Moving(what, colour=self.colour)
        try:
            yield moving.count
        finally:
            moving.end()


class _Moving:
    """A line on a terminal that moves while a command works; nobody sees it of one that ends soon."""

    def __init__(self, what: str, *, colour: bool) -> None:
        self._what, self._words, self._colour = what, what, colour
        self._shown: Status | None = None
        self._timer = threading.Timer(AT_ONCE, self._begin)
        self._timer.daemon = True
        self._timer.start()

    def _begin(self) -> None:
        from rich.console import Console

        console = Console(stderr=True, no_color=not self._colour)
        self._shown = console.status(self._text())
        self._shown.start()

    def _text(self) -> Text:
        from rich.text import Text

        # What it says may be the name of a project: no markup.
        return Text(visible(self._words))

    def count(self, number: int) -> None:
        """Say how many there are by now."""
        self._words = f"{self._what}: {number:,}"
        if self._shown is not None:
            self._shown.update(self._text())

    def end(self) -> None:
        """Take the line away."""
        self._timer.cancel()
        self._timer.join()
        if self._shown is not None:
            self._shown.stop()


def terminal_columns() -> int:
    """Return how many columns the terminal has."""
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _folded(text: str) -> str:
    """Return a text for a terminal: lines that are too long are divided between words.

    A word that is longer than a line stays whole, so that a key or an address can be copied.
    """
    wide = terminal_columns()
    return "\n".join(
        part for line in text.split("\n") for part in wrap_text(line, wide, cuts_words=False)
    )


def output_for(*, json: bool = False) -> Output:
    """Return the output that fits the streams, the environment and the flag."""
    return Output(json=json, terminal=sys.stdout.isatty(), colour=_has_colour(sys.stdout))


def _has_colour(stream: TextIO) -> bool:
    """Return whether a stream takes colours: where it is a terminal, or somebody asks for them anyway."""
    environ = os.environ
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") != "0" for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


def _silent(count: int) -> None:
    """Tell nobody."""
    del count


def width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )

"""How answers look: plain text, JSON, or tables and colours on a terminal.

Rules: (1) the answer goes to standard output, all else to standard error; (2) `--json` gives one
JSON document and nothing else: words go to standard error then; (3) colours, borders and moving lines only where the stream is a
terminal, colours only without `NO_COLOR`; (4) what agents wrote is data: characters that would steer a
terminal or hide in it are shown (kernel/visible.py), in JSON by its own escapes; (5) an answer that the
output does not take is a refusal, and what is said beside it is lost in silence.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, TextIO

import click

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.visible import escaped, visible

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
}
"""The words that have a colour wherever they fill a cell."""

_GAP = "  "
_CELL: Final = 12
"""How many columns of a terminal a cell may ask for before its table is one no more."""
_RULED_GAP: Final = 3


def one_line(text: str, limit: int = 100) -> str:
    """Return the beginning of a text on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


@contextmanager
def taken() -> Generator[None]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where and how one command says what it found."""

    json: bool = False
    terminal: bool = False
    colour: bool = False

    def line(self, text: str = "", *, style: str = "") -> None:
        """Say one line (or several) of the answer; with `--json` beside it."""
        if self.json:
            self.aside(text, style=style)
            return
        with taken():
            self._say(text, style, sys.stdout, colour=self.colour)

    def aside(self, text: str, *, style: str = "") -> None:
        """Say something that is not part of the answer."""
        with suppress(OSError):
            self._say(text, style, sys.stderr, colour=_has_colour(sys.stderr))

    def _say(self, text: str, style: str, stream: TextIO, *, colour: bool) -> None:
        shown = visible(text)
        if colour and style:
            shown = click.style(shown, bold=True, fg=None if style == "bold" else style)
        print(shown, file=stream, flush=True)

    def answer(self, value: Json) -> None:
        """Say a JSON document."""
        import orjson

        with taken():
            print(escaped(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()))

    def result(self, answer: Json, *lines: str) -> None:
        """Say an answer as JSON; for a person, lines in its place."""
        if self.json:
            self.answer(answer)
            return
        for line in lines:
            self.line(line)

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

        with taken():
            print(escaped(orjson.dumps(value).decode()), flush=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Say rows under headings."""
        with taken():
            if self.terminal:
                self._rich_table(headings, rows)
            else:
                self._plain_table(headings, rows)

    def _plain_table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        cells = [tuple(headings), *(tuple(visible(cell) for cell in row) for row in rows)]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            padded = (
                cell + " " * (wide - _width(cell)) for cell, wide in zip(row, widths, strict=True)
            )
            print(_GAP.join(padded).rstrip())

    def _rich_table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(no_color=not self.colour, highlight=False)
        columns = zip(headings, *rows, strict=True)
        least = [min(max(map(_width, column)), _CELL) for column in columns]
        if sum(least) + _RULED_GAP * (len(least) - 1) > console.width:
            self._fields(headings, rows)
            return
        table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*(Text(visible(cell), style=STYLES.get(cell, "")) for cell in row))
        console.print(table)

    def _fields(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Say rows where a table would have a few letters a line: each field on a line of its own."""
        for number, row in enumerate(rows):
            if number:
                self.line()
            for heading, cell in zip(headings, row, strict=True):
                if cell:
                    self.line(f"{heading}: {cell}", style=STYLES.get(cell, ""))

    @contextmanager
    def counting(self, what: str) -> Generator[Callable[[int], None]]:
        """Show on a terminal how far a long command is; answers what to tell the count to."""
        if not sys.stderr.isatty():
            yield _silent
            return
        from rich.console import Console

        console = Console(stderr=True, no_color=not self.colour)
        with console.status(what) as shown:
            yield lambda count: shown.update(f"{what}: {count:,}")


def output_for(*, json: bool = False) -> Output:
    """Return the output that fits the streams, the environment and the flag."""
    return Output(json=json, terminal=sys.stdout.isatty(), colour=_has_colour(sys.stdout))


def _has_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _silent(count: int) -> None:
    """Tell nobody."""
    del count


def _width(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )

"""How answers look: plain text, JSON, or tables and colours on a terminal.

Rules: (1) the answer goes to standard output, all else to standard error; (2) `--json` gives one
JSON document and nothing else; (3) colours, borders and moving lines only where the stream is a
terminal, colours only without `NO_COLOR`; (4) what agents wrote is data: control characters, which
could steer a terminal, are shown as `�`.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TextIO

import click

from counterpoint.kernel.canonical import Json

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
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def plain(text: str) -> str:
    """Return a text without characters that steer a terminal; line feeds and tabs stay."""
    return _STEERING.sub("�", text)


def one_line(text: str, limit: int = 100) -> str:
    """Return the beginning of a text on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where and how one command says what it found."""

    json: bool = False
    terminal: bool = False
    colour: bool = False

    def line(self, text: str = "", *, style: str = "") -> None:
        """Say one line (or several) of the answer."""
        self._say(text, style, sys.stdout, colour=self.colour)

    def aside(self, text: str, *, style: str = "") -> None:
        """Say something that is not part of the answer."""
        self._say(text, style, sys.stderr, colour=_has_colour(sys.stderr))

    def _say(self, text: str, style: str, stream: TextIO, *, colour: bool) -> None:
        shown = plain(text)
        if colour and style:
            shown = click.style(shown, bold=True, fg=None if style == "bold" else style)
        print(shown, file=stream, flush=True)

    def answer(self, value: Json) -> None:
        """Say a JSON document."""
        import orjson

        print(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())

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

        print(orjson.dumps(value).decode(), flush=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Say rows under headings."""
        if self.terminal:
            self._rich_table(headings, rows)
            return
        cells = [tuple(headings), *(tuple(plain(cell) for cell in row) for row in rows)]
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

        table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*(Text(plain(cell), style=STYLES.get(cell, "")) for cell in row))
        Console(no_color=not self.colour, highlight=False).print(table)

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

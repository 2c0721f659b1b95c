"""The text of a document, line for line where it stands in the file.

    suffix                         markup     what is done
    md, markdown                   markdown   nothing
    rst                            rst        nothing
    html, htm, xhtml               markdown   tags go; headings get `#`; scripts and styles go
    csv, tsv                       plain      a row becomes `name: value; …` with the first row's names
    anything else that is text     plain      nothing

A file is refused if and only if (1) it has a NUL byte or begins like a PDF, or (2) it is not UTF-8 (or
UTF-16 with its mark). Lines keep their numbers: what goes leaves its line empty.
"""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from html.parser import HTMLParser

from typing_extensions import override

from counterpoint.core.rules.knowledge.chunks import Markup
from counterpoint.kernel.errors import InvalidInput

_MARKUPS: dict[str, Markup] = {
    "md": "markdown",
    "markdown": "markdown",
    "rst": "rst",
    "html": "markdown",
    "htm": "markdown",
    "xhtml": "markdown",
}
_PAGES = frozenset({"html", "htm", "xhtml"})
_TABLES = {"csv": ",", "tsv": "\t"}
_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg"})
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The text of a document, line breaks as in Unix, and how its headings are written."""

    text: str
    markup: Markup


def extract(path: str, content: bytes) -> Extracted:
    """Return the text of a file; InvalidInput if it is not text."""
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    text = _decoded(path, content).replace("\r\n", "\n").replace("\r", "\n")
    if suffix in _PAGES:
        text = _plain_page(text)
    elif suffix in _TABLES:
        text = _plain_table(text, _TABLES[suffix])
    return Extracted(text=text, markup=_MARKUPS.get(suffix, "plain"))


def _decoded(path: str, content: bytes) -> str:
    encoding = "utf-16" if content.startswith(_UTF16) else "utf-8-sig"
    is_binary = b"\0" in content and encoding != "utf-16"
    if not is_binary and not content.startswith(b"%PDF-"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            pass  # said below, in the same words as for every other file that is no text
    raise InvalidInput(
        f"{path} is not text",
        hint="Give a text file in UTF-8: txt, md, rst, code, json, html, csv.",
    )


class _Page(HTMLParser):
    """What is read of a page: the visible text of each line."""

    def __init__(self) -> None:
        """Begin at the first line."""
        super().__init__(convert_charrefs=True)
        self.lines: dict[int, str] = {}
        self._hidden = 0

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Mark a heading, keep cells and points apart, begin what is not seen."""
        self._hidden += tag in _HIDDEN
        if tag[:1] == "h" and tag[1:] in {"1", "2", "3", "4", "5", "6"} and not self._hidden:
            self._add(self.getpos()[0], "#" * int(tag[1:]) + " ")
        elif tag in {"td", "th", "li", "br"} and not self._hidden:
            self._add(self.getpos()[0], " ")

    @override
    def handle_endtag(self, tag: str) -> None:
        """End what is not seen."""
        self._hidden = max(0, self._hidden - (tag in _HIDDEN))

    def _take(self, data: str) -> None:
        """Take visible text, line by line."""
        if not self._hidden:
            for number, part in enumerate(data.split("\n"), self.getpos()[0]):
                self._add(number, part)

    handle_data = _take  # the parser's own name for what it calls

    def _add(self, number: int, text: str) -> None:
        self.lines[number] = self.lines.get(number, "") + text


def _plain_page(text: str) -> str:
    page = _Page()
    page.feed(text)
    page.close()
    count = text.count("\n") + 1
    return "\n".join(" ".join(page.lines.get(number, "").split()) for number in range(1, count + 1))


def _plain_table(text: str, mark: str) -> str:
    """Return rows in words; a table that cannot be read stays as it is.

    Line breaks inside of a cell become blanks.
    """
    rows = csv.reader(io.StringIO(text), delimiter=mark)
    lines = [""] * (text.count("\n") + 1)
    names: list[str] = []
    before = 0
    try:
        for row in rows:
            cells = [" ".join(cell.split()) for cell in row]
            lines[before] = _named(names, cells) if names else "; ".join(cells)
            names = names or cells
            before = rows.line_num
    except csv.Error:
        return text
    return "\n".join(lines)


def _named(names: list[str], cells: list[str]) -> str:
    """Return one row with the names of its columns."""
    titles = [*names, *[""] * (len(cells) - len(names))]
    pairs = zip(titles, cells, strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)

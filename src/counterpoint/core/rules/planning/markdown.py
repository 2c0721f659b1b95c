"""Markdown as lines: what each is in CommonMark, and which list items hold it.

`parse_markdown` is the one reader of Markdown that people and other tools wrote: plans (core/rules/outline.py) and every import
use it. Rules:

1. Blocks are those of CommonMark, by its own parser: fences, indented code, HTML, quotations, headings of both forms, lists.
   Front matter is no part of it and is taken off before. Reference definitions are text.
2. A line ends with LF, CR or CRLF. Any white space of Unicode that begins a line, or stands around a bullet, is a blank.
3. A comment `<!-- … -->` that begins a line is seen by nobody, over any number of lines; what follows its end is text.
4. A box is `[`, one character, `]`, then white space or the end of the line, and it begins a list item.
5. A fence or a comment that never ends is in `unfinished`. All lines up to the end of what holds it belong to it.
6. `Line.is_like_task` is true for what a reader would take for a task and which is none by rule 4 or by where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal

from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LineKind = Literal[
    "blank", "heading", "underline", "item", "text", "rule", "quote", "fence", "code", "comment", "html"
]  # fmt: skip
NESTING_LIMIT: Final = 120
"""Lists within each other that are told apart; what lies deeper is text."""

_NEWLINE: Final = expression(r"\r\n?|\n")
_HEAD: Final = expression(r"[\s>]*(?:(?:[-*+]|[0-9]{1,9}[.)])\s+)*")
_MARKER: Final = expression(r"\s*([-*+]|[0-9]{1,9}[.)])(\s*)")
_BOX: Final = expression(
    r"\[(\s|\S[\u0300-\u036f\u200d\u20d0-\u20ff\ufe00-\ufe0f]{0,4})\](?:\s+(.*))?$", re.DOTALL
)
_SIGNS: Final = expression(r"\s*(#{1,6})(?:\s+(.*))?$", re.DOTALL)
_LIKE_TASK: Final = expression(
    r"[\s\u200b\u2060\ufeff>]*"
    r"(?:"
    # A bullet or a number, and a box that may have blanks or nothing in it.
    r"(?:[-*+•‣◦·–—]|[0-9]{1,9}[.)]|[A-Za-z][.)])[\s\u200b\u2060\ufeff]*"
    r"(?:[\[\uff3b][\s\u200b]{0,3}(?P<mark>\S[\ufe0e\ufe0f]?)?[\s\u200b]{0,3}[\]\uff3d]|(?P<ballot>[☐☑☒]))"
    # The same without a bullet, where it can hardly be anything else.
    r"|\[(?:\s|(?P<bare>[xX]))\]|(?P<sign>[☐☑☒])(?=\s)"
    r")"
    r"(?![\[(:])[\s\u200b]*(?P<words>\S.*)",
    re.DOTALL,
)
_TASK_ROW: Final = expression(
    r"\s*\|(?:[^|]*\|)*?\s*(?:\[[\sxX\u2713\u2714~/-]\]|[☐☑☒✅⬜])\s*(?:\||$)"
)
_LIKE_HEADING: Final = expression(r" {0,3}#{1,6}\s+\S")
_KINDS: Final[Mapping[str, LineKind]] = {"code_block": "code", "hr": "rule"}
_CODE_BLANKS: Final = 4
"""Blanks from which on what follows is indented code."""
_COMMENT: Final = "<!--"
_COMMENT_END: Final = "-->"


@frozen
class Holder:
    """A list item around a line: the number of its first line, and the column in which its text begins."""

    line: int
    column: int


@frozen
class Line:
    """One line of a document.

    number: from 1. text: as it was written, without its end (behind a comment's end: what follows it).
    indent: the column of its first letter. holders: the list items around it, outermost first; an item is the last of its own.
    level, words: of a heading; words: of an item, what stands behind its box, or behind its bullet if it has none.
    marker: the bullet or number of an item. mark: the character in its box; None without a box.
    block: the first line of the fence, code, comment, HTML or quotation that it belongs to. is_unfinished: that block never ends.
    """

    number: int
    text: str
    kind: LineKind
    indent: int = 0
    holders: tuple[Holder, ...] = ()
    level: int = 0
    words: str = ""
    marker: str = ""
    mark: str | None = None
    block: int = 0
    is_unfinished: bool = False

    @property
    def depth(self) -> int:
        """Return how many list items hold it, itself among them."""
        return len(self.holders)

    @property
    def is_box(self) -> bool:
        """Return whether it is a list item that begins with a box."""
        return self.kind == "item" and self.mark is not None

    @property
    def is_like_task(self) -> bool:
        """Return whether it looks like a task and is no box: a wrong form, or a place where none can stand.

        What stands in a fence or a comment that ends is an example, or is seen by nobody.
        """
        if self.is_box or self.kind in {"blank", "heading", "underline", "rule"}:
            return False
        if self.kind in {"fence", "comment"} and not self.is_unfinished:
            return False
        text = f"{self.marker} {self.words}" if self.kind == "item" else self.text
        return _LIKE_TASK.match(text) is not None or is_task_row(text)

    @property
    def is_hidden_heading(self) -> bool:
        """Return whether it looks like a heading within HTML, or within a fence or comment that never ends."""
        is_hidden = self.kind == "html" or self.is_unfinished
        return is_hidden and _LIKE_HEADING.match(self.text) is not None

    def text_from(self, column: int) -> str:
        """Return its text without the indentation of what holds it."""
        return self.text[min(self.indent, column) :]


@frozen
class Unfinished:
    """A fence or a comment that never ends. line: where it begins."""

    line: int
    what: Literal["fence", "comment"]


@frozen
class Markdown:
    """A document: its lines in order, and what in it never ends."""

    lines: tuple[Line, ...]
    unfinished: tuple[Unfinished, ...] = ()

    @property
    def headings(self) -> Iterator[Line]:
        """Return its headings."""
        return (line for line in self.lines if line.kind == "heading")


def parse_markdown(text: str, *, first_line: int = 1) -> Markdown:
    """Return the lines of a document. first_line: the number of its first one, where something was taken off above it."""
    texts = [_without_tabs(line) for line in split_lines(text.removeprefix("\ufeff"))]
    # CommonMark's parser knows blanks alone as indentation; the lines keep the letters that were written.
    sources = [_with_blanks(line) for line in texts]
    reading = _Reading(sources, texts, first_line)
    reading.walk(_parser().parse("\n".join(sources)))
    return Markdown(
        lines=tuple(map(reading.line, range(len(sources)))),
        unfinished=tuple(reading.unfinished),
    )


def split_lines(text: str) -> list[str]:
    """Return the lines of a text as editors count them; a last one without letters is none."""
    lines = _NEWLINE.split(text)
    return lines if lines[-1] else lines[:-1]


def task_in(text: str) -> tuple[str, str]:
    """Return the mark and the title of a line that looks like a task (`Line.is_like_task`); nothing of any other."""
    match = _LIKE_TASK.match(text)
    if match is None:
        return "", ""
    mark = (
        match["mark"]
        or match["bare"]
        or ("x" if {match["ballot"], match["sign"]} & {"☑", "☒"} else "")
    )
    return mark, match["words"]


def is_task_row(text: str) -> bool:
    """Return whether a line looks like the row of a table that has a box for a cell."""
    return _TASK_ROW.match(text) is not None


def without_comments(text: str) -> tuple[str, bool]:
    """Return a line of text without the comments in it, and whether one begins there that does not end there.

    What stands between back-ticks, or has a backslash before it (which is taken away), is no comment.
    """
    if _COMMENT not in text:
        return text, False
    parts: list[str] = []
    done = 0
    while (begin := text.find(_COMMENT, done)) >= 0:
        before = text[done:begin]
        if before.endswith("\\"):
            parts.append(before[:-1] + _COMMENT)
            done = begin + len(_COMMENT)
            continue
        if (code := _code_end(text, done, begin)) > begin:
            parts.append(text[done:code])
            done = code
            continue
        end = text.find(_COMMENT_END, begin)
        if end < 0:
            return "".join((*parts, text[done:])), True
        parts.append(before)
        done = end + len(_COMMENT_END)
    return "".join((*parts, text[done:])), False


def escape_comments(text: str) -> str:
    """Return a text in which no comment begins; `without_comments` reads it back."""
    return text.replace(_COMMENT, f"\\{_COMMENT}")


def _code_end(text: str, start: int, index: int) -> int:
    """Return where the code between back-ticks ends that holds a place; 0 if none does."""
    while 0 <= (opening := text.find("`", start)) < index:
        width = 1
        while text[opening + width : opening + width + 1] == "`":
            width += 1
        closing = text.find("`" * width, opening + width)
        start = opening + width if closing < 0 else closing + width
        if opening < index < start and closing >= 0:
            return start
    return 0


def _without_tabs(line: str) -> str:
    """Return a line without tabs before its words, by CommonMark's columns."""
    end = _head_end(line)
    return line[:end].expandtabs(4) + line[end:]


def _with_blanks(line: str) -> str:
    """Return a line in which all white space before its words is made of blanks; each letter keeps its column."""
    end = _head_end(line)
    return "".join(" " if letter.isspace() else letter for letter in line[:end]) + line[end:]


def _head_end(line: str) -> int:
    """Return the column of the first word of a line, behind its bullets; 0 where there is nothing to replace."""
    if not line[:1].isspace() and "\t" not in line and line.isascii():
        return 0
    head = _HEAD.match(line)
    return head.end() if head else 0


def _parser() -> MarkdownIt:
    """Return CommonMark's parser of blocks; it takes a tenth of a second to load, and most commands read no Markdown."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 2 * NESTING_LIMIT})
    # Definitions are text here. Looking for them takes a time that grows with the square of a paragraph.
    parser.block.ruler.disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


class _Reading:
    """Tells what each line is from the blocks that the parser found; places count from 0."""

    def __init__(self, sources: list[str], texts: list[str], first: int) -> None:
        count = len(sources)
        self.first = first
        self.sources = sources
        self.texts = texts
        self.kinds: list[LineKind] = ["text"] * count
        self.blocks = [0] * count
        self.holders: list[tuple[Holder, ...]] = [()] * count
        self.levels = [0] * count
        self.headings: dict[int, str] = {}
        self.markers: dict[int, str] = {}
        self.torn: set[int] = set()
        self.unfinished: list[Unfinished] = []

    def walk(self, tokens: list[Token]) -> None:
        """Take in all blocks."""
        items: list[Holder] = []
        quotes = 0
        for token in tokens:
            if token.type in {"blockquote_open", "blockquote_close"}:
                if token.nesting > 0 and not quotes:
                    self._mark(token, "quote")
                quotes += token.nesting
            elif quotes or (token.map is None and token.type != "list_item_close"):
                continue
            elif token.type == "list_item_open":
                items.append(self._item(token, items))
                begin, end = _span(token)
                self.holders[begin:end] = [tuple(items)] * (end - begin)
            elif token.type == "list_item_close":
                items.pop()
            else:
                self._block(token, items)

    def _block(self, token: Token, items: list[Holder]) -> None:
        if token.type == "heading_open":
            self._heading(token, is_top=not items)
        elif token.type == "fence":
            self._fence(token, items)
        elif token.type == "html_block":
            self._html(token)
        elif kind := _KINDS.get(token.type):
            self._mark(token, kind)

    def _mark(self, token: Token, kind: LineKind) -> None:
        begin, end = _span(token)
        kinds: list[LineKind] = [kind]
        self.kinds[begin:end] = kinds * (end - begin)
        self.blocks[begin:end] = [begin] * (end - begin)

    def _item(self, token: Token, items: list[Holder]) -> Holder:
        begin, _ = _span(token)
        above = items[-1] if items and items[-1].line == begin + self.first else None
        source = self.sources[begin]
        match = _MARKER.match(source, above.column if above else 0)
        assert match is not None  # noqa: S101 - the parser has found one
        blanks = len(match[2])
        has_text = match.end() < len(source)
        # Five blanks and more begin indented code, one column behind the bullet.
        column = match.end(1) + (blanks if has_text and blanks <= _CODE_BLANKS else 1)
        self.kinds[begin] = "item"
        self.markers[begin] = match[1]
        return Holder(line=begin + self.first, column=column)

    def _heading(self, token: Token, *, is_top: bool) -> None:
        begin, end = _span(token)
        if not is_top:
            return
        self.kinds[begin] = "heading"
        self.levels[begin] = int(token.tag[1])
        if signs := _SIGNS.match(self.sources[begin]) if token.markup.startswith("#") else None:
            self.headings[begin] = _unclosed(signs[2] or "")
        else:
            words = (line.strip() for line in self.sources[begin : end - 1])
            self.headings[begin] = " ".join(words)
            for index in range(begin + 1, end):
                self.kinds[index] = "underline"

    def _fence(self, token: Token, items: list[Holder]) -> None:
        self._mark(token, "fence")
        begin, end = _span(token)
        last = self.sources[end - 1]
        bare = last.strip()
        inside = len(last) - len(last.lstrip()) - (items[-1].column if items else 0)
        is_closed = (
            end - begin > 1
            and inside < _CODE_BLANKS
            and len(bare) >= len(token.markup)
            and not bare.strip(token.markup[0])
        )
        if not is_closed:
            self._tear(begin, end, "fence")

    def _html(self, token: Token) -> None:
        begin, end = _span(token)
        content = token.content.lstrip()
        if not content.startswith(_COMMENT):
            self._mark(token, "html")
            return
        self._mark(token, "comment")
        if _COMMENT_END not in content:
            self._tear(begin, end, "comment")
            return
        # A comment ends with the line that holds its end.
        last = self.sources[end - 1]
        start = last.find(_COMMENT) + len(_COMMENT) if end - begin == 1 else 0
        behind = last[last.find(_COMMENT_END, max(0, start - 2)) + len(_COMMENT_END) :]
        if behind.strip():
            self.kinds[end - 1] = "text"
            self.texts[end - 1] = behind.strip()

    def _tear(self, begin: int, end: int, what: Literal["fence", "comment"]) -> None:
        self.unfinished.append(Unfinished(line=begin + self.first, what=what))
        self.torn.update(range(begin, end))

    def line(self, index: int) -> Line:
        """Return one line."""
        text, kind = self.texts[index], self.kinds[index]
        if kind == "text" and not text.strip():
            kind = "blank"
        holders = self.holders[index]
        words, mark = self.headings.get(index, ""), None
        if kind == "item":
            words = text[holders[-1].column :].strip()
            if box := _BOX.match(words):
                mark, words = (" " if box[1].isspace() else box[1]), (box[2] or "").strip()
        return Line(
            number=index + self.first,
            text=text,
            kind=kind,
            indent=len(text) - len(text.lstrip()),
            holders=holders,
            level=self.levels[index],
            words=words,
            marker=self.markers.get(index, ""),
            mark=mark,
            block=self.blocks[index] + self.first,
            is_unfinished=index in self.torn,
        )


def _span(token: Token) -> tuple[int, int]:
    """Return the places of the first line of a block and of the one behind its last."""
    begin, end = token.map or (0, 0)
    return begin, end


def _unclosed(words: str) -> str:
    """Return the words of a heading without the signs that may close it."""
    title = words.strip()
    before = title.rstrip("#")
    return before.rstrip() if not before or before[-1:].isspace() else title

"""Texts of agents as markup of the board's own making.

1. Of a text only the structure of CommonMark and tables is taken; HTML stays text, and what would steer or hide is made visible after
entities have been read. 2. A link leads to `http`, `https` or `mailto` only, with its target beside it; nothing is fetched, for there
are no pictures. 3. The time is bounded: `MAX_LEVELS` of nesting, tables of `MAX_CELLS`, and `MAX_PAGE_CHARACTERS` for all texts of a
page; what is beyond is shown as it was typed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any, Final, cast

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from counterpoint.board.words import body
from counterpoint.kernel.visible import visible

MAX_PAGE_CHARACTERS: Final = 40_000
MAX_LEVELS: Final = 12
MAX_CELLS: Final = 2_000
_SCHEMES: Final = ("http://", "https://", "mailto:")
_LIST_MARKS: Final = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


def _heading(tokens: Sequence[Token], idx: int, *_more: object) -> str:
    """Return a mark of a heading, two levels lower."""
    token = tokens[idx]
    return f"<{'/' * (token.nesting < 0)}h{min(int(token.tag[1]) + 2, 6)}>"


def _code(tokens: Sequence[Token], idx: int, *_more: object) -> str:
    """Return a block of code; its language is no class of the page."""
    return f"<pre><code>{escape(tokens[idx].content)}</code></pre>\n"


def _link_open(tokens: Sequence[Token], idx: int, *_more: object) -> str:
    """Open a link that leads outside; of others only the words are shown."""
    target = str(tokens[idx].attrs.get("href", ""))
    if not target.startswith(_SCHEMES):
        return "<span>"
    return f'<a href="{escape(target)}" rel="noopener noreferrer nofollow">'


def _link_close(tokens: Sequence[Token], idx: int, *_more: object) -> str:
    """Close a link, and say where it leads."""
    start, words = idx - 1, ""
    while tokens[start].type != "link_open":
        words = tokens[start].content + words
        start -= 1
    target = str(tokens[start].attrs.get("href", ""))
    end = "</a>" if target.startswith(_SCHEMES) else "</span>"
    return end if words == target else f'{end} <span class="target">({escape(target)})</span>'


def _text(tokens: Sequence[Token], idx: int, *_more: object) -> str:
    """Return a text, in which a box of a list is a sign."""
    words = tokens[idx].content
    if idx == 0 and words[:4] in _LIST_MARKS:
        words = _LIST_MARKS[words[:4]] + words[4:]
    return escape(words)


_RULES: Final[Mapping[str, Callable[..., str]]] = {
    "heading_open": _heading,
    "heading_close": _heading,
    "fence": _code,
    "link_open": _link_open,
    "link_close": _link_close,
    # What aligns a cell would be a style.
    "td_open": lambda *_: "<td>",
    "th_open": lambda *_: '<th scope="col">',
    "text": _text,
}


def _parser() -> MarkdownIt:
    options = {"html": False, "linkify": False, "typographer": False, "maxNesting": MAX_LEVELS}
    parser = MarkdownIt("commonmark", options)
    # The library types these as its own methods; it calls whatever stands there.
    cast("dict[str, Any]", cast("RendererHTML", parser.renderer).rules).update(_RULES)
    return parser.enable("strikethrough").disable(["image", "html_block", "html_inline"])


_PLAIN: Final = _parser()
_WITH_TABLES: Final = _parser().enable("table")


class PageProse:
    """The texts of one page, of which only so many characters are parsed."""

    def __init__(self) -> None:
        """Begin with all that a page may have."""
        self._characters = MAX_PAGE_CHARACTERS

    def block(self, text: str) -> Markup:
        """Return a text of several paragraphs."""
        return self._rendered(body(text), is_line=False)

    def line(self, text: str) -> Markup:
        """Return a text that stands in a line of the page's own."""
        return self._rendered(body(text), is_line=True)

    def _rendered(self, text: str, *, is_line: bool) -> Markup:
        if len(text) > self._characters:
            return Markup('<span class="text">{}</span>').format(visible(text))
        self._characters -= len(text)
        return _render(text, is_line)


@lru_cache(maxsize=256)
def _render(text: str, is_line: bool) -> Markup:
    safe = visible(text)
    lines = safe.split("\n")
    widest = max(line.count("|") for line in lines)
    parser = _WITH_TABLES if widest * len(lines) <= MAX_CELLS else _PLAIN
    markup = parser.renderInline(safe) if is_line else parser.render(safe)
    # An entity may have stood for a character that steers.
    return Markup(visible(markup))  # noqa: S704 -- the renderer above escapes every text

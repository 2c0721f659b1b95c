"""The parts of a page that change by themselves: rows of lists, and texts, each by an id.

1. A template puts a row out by `{% call live.row(LIST, KEY) %}<li>…</li>{% endcall %}` inside of the element whose id LIST
is, and any other markup by `{% call live.text(ID) %}…{% endcall %}`.
2. A page is rendered whole for whoever loads it, and apart for those who have it already: its rows and texts, and the frame
without them. Two renderings with the same frame differ by a message; with another one the page is loaded again.
3. What only the clock changes is no difference: browsers count the time in `<time>` themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from markupsafe import Markup, escape

from counterpoint.kernel.canonical import Json

_CLOCK: Final = re.compile(r'(<time [^>]*>)[^<]*(?=</time>)|(name="seen" value=")\d+')
_ITEM: Final = re.compile(r'href="/(?:items|review)/([^"/?#]+)"')


def _without_clock(markup: str) -> str:
    return _CLOCK.sub(r"\1\2", markup)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A page apart. lists: by id, the markup of each row by its key, in order. texts: the markup of each by id."""

    sequence: int
    frame: str
    lists: Mapping[str, Mapping[str, str]]
    texts: Mapping[str, str]

    def items(self) -> frozenset[str]:
        """Return the ids of the items that the page links to."""
        markups = [self.frame, *self.texts.values()]
        markups += [markup for rows in self.lists.values() for markup in rows.values()]
        return frozenset(unquote(name) for markup in markups for name in _ITEM.findall(markup))

    def changes_since(self, before: Rendering) -> dict[str, Json] | None:
        """Return what the lists and texts of a page show anew; empty if nothing, None if the page must be loaded again."""
        if self.frame != before.frame or self.texts.keys() != before.texts.keys():
            return None
        lists: dict[str, Json] = {}
        for name in {**before.lists, **self.lists}:
            old_rows, rows = before.lists.get(name, {}), self.lists.get(name, {})
            changed: dict[str, Json] = {
                key: markup
                for key, markup in rows.items()
                if key not in old_rows or _without_clock(old_rows[key]) != _without_clock(markup)
            }
            if changed or [*old_rows] != [*rows]:
                lists[name] = {"order": [*rows], "html": changed}
        texts: dict[str, Json] = {
            name: markup
            for name, markup in self.texts.items()
            if _without_clock(before.texts[name]) != _without_clock(markup)
        }
        return {"lists": lists, "text": texts} if lists or texts else {}


@dataclass(slots=True, kw_only=True)
class LiveParts:
    """What a template puts rows and texts out with; is_apart: into the lists and texts alone, not into the page."""

    is_apart: bool = False
    sequence: int = -1
    _lists: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    _texts: dict[str, str] = field(default_factory=dict[str, str])

    def row(self, name: str, key: str | int, caller: Callable[[], str]) -> Markup:
        """Return a row of a list; a second one of the same key is left out."""
        rows, key = self._lists.setdefault(name, {}), str(key)
        if key in rows:
            return Markup()
        markup = Markup(str(caller()).strip().replace(">", f' data-key="{escape(key)}">', 1))  # noqa: S704 -- rendered by a template
        rows[key] = markup
        return Markup() if self.is_apart else markup

    def text(self, name: str, tag: str = "div", *, caller: Callable[[], str]) -> Markup:
        """Return an element with a text."""
        self._texts[name] = text = str(caller()).strip()
        if self.is_apart:
            text = ""
        return Markup(f'<{tag} id="{escape(name)}">{text}</{tag}>')  # noqa: S704 -- rendered by a template

    @property
    def stamp(self) -> str:
        """The last entry that the page tells of; empty in a frame, which is the same after many."""
        return "" if self.is_apart else str(self.sequence)

    def rendering(self, frame: str) -> Rendering:
        """Return the page apart, of which a frame was rendered with these parts."""
        return Rendering(
            sequence=self.sequence,
            frame=_without_clock(frame),
            lists=self._lists,
            texts=self._texts,
        )

"""What the format of every provider of searches has: request and results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from counterpoint.core.model.web.searching import Search, Searcher, SearchResult, SourceKind
from counterpoint.kernel.canonical import Json
from counterpoint.providers.format import rows, words

LONGEST: Final = 400
"""Characters of what is looked for: the least that any of them takes."""
_URL: Final = 2_000
_TITLE: Final = 300
_TEXT: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request: what follows the address, its heads, and its body; without one it only gets."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: Mapping[str, Json] | None = None


class Format(Protocol):
    """One format; pure, so that it can be read beside its description."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent. secret: the key; empty without one."""
        ...

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has; TypeError, KeyError for one that is none."""
        ...


def posted(search: Search, secret: str, most: int, **more: Json) -> Request:
    """Return what providers are sent that take JSON at /search with the key as bearer. most: results that it takes at most."""
    body = {"query": looked_for(search), "max_results": min(search.most, most), **more}
    return Request(path="/search", headers={"authorization": f"Bearer {secret}"}, body=body)


def looked_for(search: Search) -> str:
    """Return what is looked for on one line, as long as it may be."""
    return " ".join(search.query.split())[:LONGEST]


def asked_by(path: str, **words_: str | int) -> str:
    """Return a path with what is asked behind it."""
    return f"{path}?{urlencode(words_)}"


def listed(answer: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects of a list that an answer has to have; KeyError, TypeError."""
    return rows(answer[name])


def result(
    url: Any, title: Any, text: Any, date: Any = None, kind: SourceKind = "web"
) -> SearchResult | None:
    """Return a result of what an answer says; None where it has no address of a page. TypeError."""
    where = words(url).strip()
    if not where.lower().startswith(("http://", "https://")) or len(where) > _URL:
        return None
    return SearchResult(
        url=where,
        title=" ".join(words(title).split())[:_TITLE] or where,
        text=words(text).strip()[:_TEXT],
        date=str(date or "")[:40],
        kind=kind,
    )


def drop_missing(*some: SearchResult | None) -> list[SearchResult]:
    """Return those that are results."""
    return [candidate for candidate in some if candidate is not None]

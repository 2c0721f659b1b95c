"""Searches of the web, in the formats of five services.

The format of Google's Custom Search JSON API.
GET /customsearch/v1 with `cx` (the id of a search engine), `q` and `num` (1 to 10); the key is a head, so that no address has it. The answer has
`items` with `title`, `link` and `snippet`, and none of them where nothing was found. A refusal has `error.message`.

The format of Perplexity's search, which answers with pages alone.
POST /search with the key as bearer: `query`, `max_results` (1 to 20), `max_tokens_per_page`. The answer has `results` with `title`, `url`,
`snippet`, `date` and `last_updated`. A refusal has `error.message`.

The format of SearXNG, which asks other search engines.
GET /search with `q` and `format=json`, which its instance has to allow. The answer has `results` with `title`, `url`, `content`, `category` and `publishedDate`: a page of them, however many.
A refusal is a page of HTML: 403 where `json` is not allowed, 429 where it is too many.

The format of Semantic Scholar's Academic Graph, which finds papers.
GET /paper/search with `query`, `limit` (1 to 100) and `fields`; a key, if there is one, is the head `x-api-key`. The answer has `data` with `title`,
`url`, `abstract` and `year`, each of which may be null, and `total`; where that is 0 it may have no `data`. A refusal has `error`, or `message` where it is too many.

The format of Tavily's search.
POST /search with the key as bearer: `query`, `max_results` (0 to 20), `search_depth`. The answer has `results` with `title`, `url`, `content`
(what of the page is about the query), `score` and, of news, `published_date`. A refusal has `detail.error`; 432 and 433: the plan is used up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from counterpoint.core.model.web import (
    Browsing,
    SaidSearcher,
    Search,
    Searcher,
    SearcherKind,
    SearchResult,
    SourceKind,
)
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.providers import is_here
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import ProviderFailed
from counterpoint.providers.format import rows, words
from counterpoint.providers.keys import ENGINE, SEARCHERS, Keys, KnownSearcher, every, pause, reach

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


_GOOGLE_LIMIT: Final = 10


class GoogleCustomSearch:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        path = asked_by(
            "/customsearch/v1",
            cx=searcher.engine,
            q=looked_for(search),
            num=min(search.most, _GOOGLE_LIMIT),
        )
        return Request(path=path, headers={"x-goog-api-key": secret})

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(row.get("link"), row.get("title"), row.get("snippet"))
                for row in rows(answer.get("items"))
            )
        )


_PERPLEXITY_LIMIT: Final = 20
_TOKENS: Final = 1_024


class Perplexity:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        del searcher
        return posted(search, secret, _PERPLEXITY_LIMIT, max_tokens_per_page=_TOKENS)

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(row.get("url"), row.get("title"), row.get("snippet"), row.get("date"))
                for row in listed(answer, "results")
            )
        )


class SearXNG:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        del searcher
        path = asked_by("/search", q=looked_for(search), format="json")
        return Request(path=path, headers={"authorization": f"Bearer {secret}"} if secret else {})

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(
                    row.get("url"),
                    row.get("title"),
                    row.get("content"),
                    row.get("publishedDate"),
                    "academic" if row.get("category") == "science" else "web",
                )
                for row in listed(answer, "results")
            )
        )


_SEMANTIC_SCHOLAR_LIMIT: Final = 100
_FIELDS: Final = "title,abstract,url,year"


class SemanticScholar:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        del searcher
        path = asked_by(
            "/paper/search",
            query=looked_for(search),
            limit=min(search.most, _SEMANTIC_SCHOLAR_LIMIT),
            fields=_FIELDS,
        )
        return Request(path=path, headers={"x-api-key": secret} if secret else {})

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(
                    row.get("url"),
                    row.get("title"),
                    row.get("abstract"),
                    row.get("year"),
                    "academic",
                )
                for row in (listed(answer, "data") if answer["total"] else ())
            )
        )


_TAVILY_LIMIT: Final = 20


class Tavily:
    """That format."""

    def request(self, searcher: Searcher, search: Search, secret: str) -> Request:
        """Return what is sent."""
        del searcher
        return posted(
            search,
            secret,
            _TAVILY_LIMIT,
            search_depth="basic",
            include_answer=False,
            include_raw_content=False,
        )

    def results(self, answer: Mapping[str, Any]) -> list[SearchResult]:
        """Return what an answer has."""
        return drop_missing(
            *(
                result(
                    row.get("url"), row.get("title"), row.get("content"), row.get("published_date")
                )
                for row in listed(answer, "results")
            )
        )


FORMATS: Final[Mapping[SearcherKind, Callable[[], Format]]] = {
    "tavily": Tavily,
    "perplexity": Perplexity,
    "google": GoogleCustomSearch,
    "semantic-scholar": SemanticScholar,
    "searxng": SearXNG,
}
_KEYLESS: Final = frozenset({"semantic-scholar", "searxng"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredSearching:
    """Implements the port. said: answers what the project says of the web."""

    said: Callable[[], Browsing]
    keys: Keys
    sleep: Callable[[float], None] = field(default=time.sleep)

    def searchers(self) -> tuple[Searcher, ...]:
        """Return those that the project names, then the others that are known; MalformedDocument."""
        listed = every(self.said().searchers, SEARCHERS, lambda name: SaidSearcher(name=name))
        return tuple(self._searcher(setting, entry) for setting, entry in listed)

    def _searcher(self, setting: SaidSearcher, entry: KnownSearcher | None) -> Searcher:
        address = setting.address or (entry.address if entry else "")
        kind: SearcherKind = setting.kind or (entry.kind if entry else "searxng")
        engine = setting.engine or (self.keys.environ.get(ENGINE, "") if kind == "google" else "")
        usual = entry.price if entry and not setting.address else 0
        reason, is_set = self._why_not(setting, kind, address, engine)
        return Searcher(
            name=setting.name,
            kind=kind,
            description=entry.description
            if entry and not setting.address
            else f"{kind} at {address}",
            address=address,
            engine=engine,
            price=usual if setting.price is None else setting.price,
            reason=reason,
            is_set=is_set,
        )

    def _why_not(
        self, setting: SaidSearcher, kind: SearcherKind, address: str, engine: str
    ) -> tuple[str, bool]:
        """Return why a provider cannot be asked, and whether anybody has configured it."""
        is_named = bool(setting.address or setting.kind or setting.engine)
        reached = reach(setting, address, self.keys, is_named=is_named, is_open=kind in _KEYLESS)
        if not reached.reason and kind == "google" and not engine:
            return (
                f"neither counterpoint.toml (`engine`) nor the variable {ENGINE} names its search engine",
                True,
            )
        return reached.reason, reached.is_set

    def search(
        self, searcher: Searcher, search: Search, listen: Listen
    ) -> tuple[SearchResult, ...]:
        """Return what one try finds."""
        from counterpoint.providers.wire import Sent, whole_answer

        key = self.keys.find_for(searcher.name, searcher.address)
        secret, spoken = key.secret if key else "", FORMATS[searcher.kind]()
        request = spoken.request(searcher, search, secret)
        sent = Sent(
            provider=searcher.name,
            url=searcher.address + request.path,
            headers={"accept": "application/json", **request.headers},
            body=request.body,
            seconds=search.timeout,
            is_here=is_here(searcher.address),
            secret=secret,
        )
        answer = whole_answer(sent, listen)
        try:
            return tuple(spoken.results(answer)[: search.most])
        except (TypeError, KeyError) as fault:
            raise ProviderFailed(
                f"{searcher.name} answers in another format than it is said to"
            ) from fault

    def pause(self, seconds: float, listen: Listen) -> None:
        """Wait, and let whoever waits go meanwhile."""
        pause(self.sleep, seconds, listen)


def open_searching(
    load_settings: Callable[[], Browsing], environ: Mapping[str, str]
) -> ConfiguredSearching:
    """Return who is asked for searches. environ: the variables of the server, which may have keys and lead to those of its person."""
    return ConfiguredSearching(said=load_settings, keys=Keys(environ=environ))

"""A search on the web, what it found, and who can be asked for one."""

from __future__ import annotations

from typing import Literal

from counterpoint.kernel.frozen import frozen

SearcherKind = Literal["tavily", "perplexity", "google", "semantic-scholar", "searxng"]
"""The format that a provider of searches speaks."""
SourceKind = Literal["web", "academic"]
DEFAULT_SECONDS = 60.0


@frozen
class Searcher:
    """A provider of searches that can be asked, or could.

    reason: why it cannot be asked now; empty if it can. price: what a search costs, in millionths of a dollar. is_set: whether anybody has configured it.
    rests: for how many seconds it is left alone, if it failed several times and nothing else is in the way.
    """

    name: str
    kind: SearcherKind
    description: str
    address: str
    engine: str = ""
    price: int = 0
    reason: str = ""
    is_set: bool = True
    rests: int = 0

    @property
    def is_available(self) -> bool:
        """Whether it can be asked now."""
        return not self.reason


@frozen
class Search:
    """What is looked for. searcher: whom to ask; empty for the first that can be. most: how many results. timeout: seconds for the whole, tries included."""

    query: str
    most: int = 5
    searcher: str = ""
    timeout: float = DEFAULT_SECONDS
    purpose: str = "search"
    item: str = ""
    limit_micros: int | None = None
    """What it may cost at most; None: as much as the project's limits leave."""


@frozen
class SearchResult:
    """One page that a search found. text: what the provider says of it; date: of the page, as the provider tells it."""

    url: str
    title: str
    text: str = ""
    date: str = ""
    kind: SourceKind = "web"


@frozen
class SearchAnswer:
    """What a search found, the best first, and what it cost."""

    searcher: str
    results: tuple[SearchResult, ...]
    cost_micros: int = 0

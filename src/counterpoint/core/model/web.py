"""Pages, searches, and how the web may be used."""

from __future__ import annotations

from typing import Final, Literal

from counterpoint.kernel.frozen import frozen


@frozen
class PageLimits:
    """What fetching a page may take. size: bytes of it, as they are sent and unpacked; pdf_size: of a PDF. redirects: how many are followed.

    seconds: until it is there; whole: until it is read too.
    """

    seconds: float = 20.0
    whole: float = 50.0
    size: int = 2_000_000
    pdf_size: int = 10_000_000
    redirects: int = 5


@frozen
class Page:
    """A page: where it was asked for, where it was in the end, and what it says.

    kind: its content type. size: bytes, unpacked. text: what is read of it; Markdown of a page of HTML. content: what is still to be read, of a PDF.
    """

    url: str
    final_url: str
    kind: str
    title: str
    text: str
    size: int
    content: bytes = b""


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


STUDY_LIMIT_MICROS: Final = 2_000_000
"""What one deep research may cost if nobody says otherwise: two dollars."""


@frozen
class SaidSearcher:
    """A provider of searches as a project says it; what is empty is as the product has it for this name.

    engine: the id of a search engine, for providers that have several. price: what a search costs, in millionths of a dollar; None: as
    the product has it. is_on: whether it is to be asked at all.
    """

    name: str
    kind: SearcherKind | None = None
    address: str = ""
    engine: str = ""
    price: int | None = None
    is_on: bool = True


@frozen
class Browsing:
    """Whom a project asks for searches, and which pages are fetched for it.

    order: names of providers, the first that can be asked is. fetches: whether public pages are fetched at all. hosts: `host:port` from
    which they are fetched too although the address is not public. study_limit: millionths of a dollar for one deep research.
    """

    order: tuple[str, ...] = ()
    searchers: tuple[SaidSearcher, ...] = ()
    fetches: bool = False
    hosts: tuple[str, ...] = ()
    study_limit: int = STUDY_LIMIT_MICROS

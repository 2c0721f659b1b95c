"""What the core asks of models, embedders and the web."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from counterpoint.core.model.models import Answer, Provider, Question, SaidEmbedding
from counterpoint.core.model.web import Page, PageLimits, Search, Searcher, SearchResult
from counterpoint.kernel.errors import NoProvider, PageFailed
from counterpoint.kernel.frozen import frozen

Listen = Callable[[str], None]
"""Is called with each piece of an answer as it comes, and with nothing at least each second while none comes; what it raises ends the call."""


class Models(Protocol):
    """Language models behind providers, each by its name."""

    def providers(self) -> tuple[Provider, ...]:
        """Return every provider that is known, with why it cannot be asked; looks, and asks none of them. MalformedDocument."""
        ...

    def ask(self, provider: Provider, question: Question, listen: Listen) -> Answer:
        """Return what one try answers: ProviderBusy, ProviderTimedOut, ProviderRefused, ProviderFailed.

        provider: one of `providers` that is available. The question names its model.
        """
        ...

    def pause(self, seconds: float, listen: Listen) -> None:
        """Return after some seconds; `listen` is called meanwhile."""
        ...


class NoModels:
    """Nobody who could be asked."""

    def providers(self) -> tuple[Provider, ...]:
        """Return that there is none."""
        return ()

    def ask(self, provider: Provider, question: Question, listen: Listen) -> Answer:
        """Ask nobody; NoProvider."""
        del provider, question, listen
        raise NoProvider

    def pause(self, seconds: float, listen: Listen) -> None:
        """Wait for nobody."""
        del seconds, listen


class Embedder(Protocol):
    """A model that places texts so that those of like meaning are near each other."""

    @property
    def name(self) -> str:
        """Which model it is, with its version: vectors of another name are not compared with its own."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    @property
    def weight(self) -> float:
        """How much nearness counts beside words in a search, from 0 to 1: what was measured best with this model."""
        ...

    @property
    def least(self) -> float:
        """The cosine below which a text is not found by nearness alone."""
        ...

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each text, of length 1, as little-endian float32; empty for a text that says nothing.

        May raise Unavailable, where the model is elsewhere.
        """
        ...


OpenEmbedder = Callable[[], Embedder | None]
"""Answers the model that is set, loaded when it is first asked for; None: texts are found by words alone."""


def no_embedder() -> None:
    """Return nothing: texts are found by words alone."""


@frozen
class Embedded:
    """What a provider made of texts: the vector of each, and how many tokens it counted."""

    vectors: tuple[bytes, ...]
    tokens: int


class Embeddings(Protocol):
    """Models of providers that turn texts into vectors."""

    def said(self) -> SaidEmbedding | None:
        """Return which model the project wants; None: that of this machine. MalformedDocument."""
        ...

    def provider(self, settings: SaidEmbedding) -> Provider:
        """Return who is asked, with why it cannot be asked now; NotFound, MalformedDocument."""
        ...

    def embed(
        self,
        provider: Provider,
        settings: SaidEmbedding,
        texts: Sequence[str],
        seconds: float,
        listen: Listen,
    ) -> Embedded:
        """Return what one try makes of texts that say something: ProviderBusy, ProviderTimedOut, ProviderRefused, ProviderFailed."""
        ...

    def pause(self, seconds: float, listen: Listen) -> None:
        """Return after some seconds; `listen` is called meanwhile."""
        ...


OpenEmbeddings = Callable[[], Embeddings | None]
"""Answers who is asked for vectors; None: the model of this machine is set."""


def no_embeddings() -> None:
    """Return nobody."""


class Fetching(Protocol):
    """Pages of the web, by their addresses."""

    def check(self, url: str, hosts: Collection[str]) -> str:
        """Return `host:port` of an address that may be asked, as far as that is seen without looking its name up.

        hosts: `host:port` that may be asked although they are not public. InvalidInput for what is no address of a page, AddressRefused.
        """
        ...

    def fetch(self, url: str, hosts: Collection[str], limits: PageLimits, listen: Listen) -> Page:
        """Return a page: InvalidInput, AddressRefused, PageFailed, PageTimedOut; and what `listen` raises."""
        ...


class NoFetching:
    """Nobody who fetches."""

    def check(self, url: str, hosts: Collection[str]) -> str:
        """Return nothing: nobody looks."""
        del url, hosts
        return ""

    def fetch(self, url: str, hosts: Collection[str], limits: PageLimits, listen: Listen) -> Page:
        """Fetch nothing; PageFailed."""
        del url, hosts, limits, listen
        raise PageFailed("nobody fetches pages here")


class Searching(Protocol):
    """Providers of searches, each by its name."""

    def searchers(self) -> tuple[Searcher, ...]:
        """Return every provider that is known, with why it cannot be asked; asks none of them. MalformedDocument."""
        ...

    def search(
        self, searcher: Searcher, search: Search, listen: Listen
    ) -> tuple[SearchResult, ...]:
        """Return what one try finds: ProviderBusy, ProviderTimedOut, ProviderRefused, ProviderFailed."""
        ...

    def pause(self, seconds: float, listen: Listen) -> None:
        """Return after some seconds; `listen` is called meanwhile."""
        ...


class NoSearching:
    """Nobody who could be asked for a search."""

    def searchers(self) -> tuple[Searcher, ...]:
        """Return that there is none."""
        return ()

    def search(
        self, searcher: Searcher, search: Search, listen: Listen
    ) -> tuple[SearchResult, ...]:
        """Ask nobody; NoProvider."""
        del searcher, search, listen
        raise NoProvider

    def pause(self, seconds: float, listen: Listen) -> None:
        """Wait for nobody."""
        del seconds, listen

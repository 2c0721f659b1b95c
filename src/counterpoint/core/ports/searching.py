"""What the core asks of whoever searches the web."""

from __future__ import annotations

from typing import Protocol

from counterpoint.core.model.web.searching import Search, Searcher, SearchResult
from counterpoint.core.ports.models import Listen
from counterpoint.kernel.errors import NoProvider


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

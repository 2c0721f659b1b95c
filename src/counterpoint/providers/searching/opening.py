"""Joins providers of searches, keys and formats into the port that the core asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.model.web.configured import Browsing, SaidSearcher
from counterpoint.core.model.web.searching import Search, Searcher, SearcherKind, SearchResult
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.addresses import is_here
from counterpoint.kernel.errors import ProviderFailed
from counterpoint.providers.configured import every, reach
from counterpoint.providers.keys import Keys
from counterpoint.providers.known import ENGINE, SEARCHERS, KnownSearcher
from counterpoint.providers.pausing import pause
from counterpoint.providers.searching.format import Format
from counterpoint.providers.searching.google import GoogleCustomSearch
from counterpoint.providers.searching.perplexity import Perplexity
from counterpoint.providers.searching.searxng import SearXNG
from counterpoint.providers.searching.semantic_scholar import SemanticScholar
from counterpoint.providers.searching.tavily import Tavily

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

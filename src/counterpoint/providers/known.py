"""The providers of models and of searches that the product knows by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from counterpoint.core.model.models.asking import ProviderKind
from counterpoint.core.model.web.searching import SearcherKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A provider by its name. variables: those of the server's own that may hold its key, the first that does counts."""

    name: str
    kind: ProviderKind
    description: str
    address: str = ""
    model: str = ""
    variables: tuple[str, ...] = ()


KNOWN: Final = {
    provider.name: provider
    for provider in (
        Known(
            name="anthropic",
            kind="messages",
            description="Anthropic's Messages API",
            address="https://api.anthropic.com/v1",
            model="claude-sonnet-5-5",
            variables=("ANTHROPIC_API_KEY",),
        ),
        Known(
            name="openai",
            kind="responses",
            description="OpenAI's Responses API",
            address="https://api.openai.com/v1",
            model="gpt-6.1-terra",
            variables=("OPENAI_API_KEY",),
        ),
        Known(
            name="google",
            kind="gemini",
            description="Google's Gemini API",
            address="https://generativelanguage.googleapis.com/v1beta",
            model="gemini-3.8-flash",
            variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
    )
}
"""Those that need nothing but a key, in the order in which they are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSearcher:
    """A provider of searches by its name. price: of one, in millionths of a dollar. has_key: whether it answers nobody without one."""

    name: str
    kind: SearcherKind
    description: str
    address: str
    price: int = 0
    has_key: bool = True
    variables: tuple[str, ...] = ()


SEARCHERS: Final = {
    searcher.name: searcher
    for searcher in (
        KnownSearcher(
            name="tavily",
            kind="tavily",
            description="Tavily's search",
            address="https://api.tavily.com",
            price=8_000,
            variables=("TAVILY_API_KEY",),
        ),
        KnownSearcher(
            name="perplexity",
            kind="perplexity",
            description="Perplexity's search",
            address="https://api.perplexity.ai",
            price=5_000,
            variables=("PERPLEXITY_API_KEY",),
        ),
        KnownSearcher(
            name="google-search",
            kind="google",
            description="Google's Custom Search",
            address="https://customsearch.googleapis.com",
            price=5_000,
            variables=("GOOGLE_SEARCH_API_KEY",),
        ),
        KnownSearcher(
            name="semantic-scholar",
            kind="semantic-scholar",
            description="Semantic Scholar's papers",
            address="https://api.semanticscholar.org/graph/v1",
            has_key=False,
            variables=("SEMANTIC_SCHOLAR_API_KEY",),
        ),
    )
}
"""Those that need a key at most, in the order in which they are asked."""
ENGINE: Final = "GOOGLE_CSE_ID"
"""The variable of the server that may have the id of Google's search engine."""


def variables_of(name: str) -> tuple[str, ...]:
    """Return the variables of the server's own that may hold the key of a provider."""
    provider = KNOWN.get(name) or SEARCHERS.get(name)
    own = f"COUNTERPOINT_{name.upper().replace('-', '_')}_API_KEY"
    return (own, *provider.variables) if provider else (own,)

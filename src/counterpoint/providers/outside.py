"""Everybody outside whom a project may ask, each loaded when it is first asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from counterpoint.core.model.trust.checking import Checking
from counterpoint.providers.embedding.opening import AUTO

if TYPE_CHECKING:
    from counterpoint.core.ports.models import Embedder, Embeddings, Fetching, Models, Searching


@dataclass(frozen=True, kw_only=True)
class Outside:
    """Who is asked. said: answers what the project's configuration says; environ: the variables of the server, which may have keys, never those of whoever calls."""

    said: Callable[[], Checking]
    environ: Mapping[str, str] = field(repr=False)

    @cached_property
    def models(self) -> Models:
        """Who is asked for models."""
        from counterpoint.providers.chat.opening import open_models

        return open_models(lambda: self.said().models, self.environ)

    def embedder(self, setting: str) -> Embedder | None:
        """Return the model inside the product that a setting names; None for none. InvalidInput, Unavailable."""
        from counterpoint.providers.embedding.opening import open_embedder

        return open_embedder(setting)

    def embeddings(self, setting: str) -> Embeddings | None:
        """Return who is asked for vectors, where a setting lets the project say so; else None."""
        return self.embedding if setting == AUTO else None

    @cached_property
    def embedding(self) -> Embeddings:
        """Who is asked for vectors."""
        from counterpoint.providers.embedding.asking import open_embeddings

        return open_embeddings(lambda: self.said().models, self.environ)

    @cached_property
    def searching(self) -> Searching:
        """Who is asked for searches on the web."""
        from counterpoint.providers.web.search import open_searching

        return open_searching(lambda: self.said().web, self.environ)

    @cached_property
    def fetching(self) -> Fetching:
        """Who fetches pages of the web."""
        from counterpoint.providers.web.fetching import PageFetcher

        return PageFetcher()

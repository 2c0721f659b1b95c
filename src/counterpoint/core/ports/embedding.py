"""What the core asks of whatever turns texts into vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from counterpoint.core.model.models.asking import Provider
from counterpoint.core.model.models.configured import SaidEmbedding
from counterpoint.core.ports.models import Listen
from counterpoint.kernel.frozen import frozen


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

"""What the core asks of whatever turns texts into vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


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

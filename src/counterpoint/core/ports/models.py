"""What the core asks of whoever answers for models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from counterpoint.core.model.models.asking import Answer, Provider, Question
from counterpoint.kernel.errors import NoProvider

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

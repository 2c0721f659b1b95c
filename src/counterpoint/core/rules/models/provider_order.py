"""Whom to ask, and when to ask again.

Rule 1: whoever is named is asked, and nobody in his place. Rule 2: else the first that can be asked, in the order that the project says,
then in that in which they are known; one that fails again and again is passed over. Rule 3: what was busy, out of reach or cut off is
asked again, three times in all, after as long as it says, else after 1 s, 2 s and so on with up to a quarter more; what it says is not waited for
beyond the time that the question has. Rule 4: an answer without a text is none, though it is paid for. Rule 5: whatever went wrong counts
against who was asked, over HTTP or as a program, but what it answered: a refusal, or no text. Of a model that only the caller names it counts
where nobody answered: a program ends with an error for one that is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from counterpoint.core.model.models.asking import Answer, Provider, Question
from counterpoint.core.model.web.searching import Searcher
from counterpoint.kernel.errors import (
    AllResting,
    CircuitOpen,
    CounterpointError,
    NoProvider,
    NotFound,
    ProviderAway,
    ProviderBusy,
    ProviderFailed,
    ProviderRefused,
    ProviderTimedOut,
)
from counterpoint.kernel.frozen import frozen

ATTEMPTS: Final = 3


@frozen
class ProviderOrder:
    """Everybody who is known, those first who are asked first; and of them those who can be asked."""

    every: tuple[Provider, ...]
    first: tuple[Provider, ...]

    def named(self, name: str) -> Provider:
        """Return the provider of a name, whether it can be asked or not; NotFound."""
        return _known(name, self.every)


def _known(name: str, providers: Sequence[Provider]) -> Provider:
    provider = next((candidate for candidate in providers if candidate.name == name), None)
    if provider is None:
        names = ", ".join(candidate.name for candidate in providers) or "none"
        raise NotFound(f"there is no provider {name[:60]!r}", hint=f"There are: {names}.")
    return provider


def get_provider(name: str, providers: Sequence[Provider]) -> Provider:
    """Return the provider of a name; NotFound, ProviderAway if it cannot be asked."""
    provider = _known(name, providers)
    if not provider.is_available:
        raise provider_away(provider)
    return provider


def order_providers(providers: Sequence[Provider], order: Sequence[str]) -> ProviderOrder:
    """Return the providers, whom to ask first before the others."""
    places = {name: index for index, name in enumerate(order)}
    every = sorted(providers, key=lambda provider: places.get(provider.name, len(places)))
    return ProviderOrder(
        every=tuple(every), first=tuple(provider for provider in every if provider.is_available)
    )


def first_of(standing: ProviderOrder) -> Provider:
    """Return whom to ask if nobody is named; NoProvider."""
    if not standing.first:
        raise no_provider(standing.every, "no model can be asked")
    return standing.first[0]


def provider_away(asked_party: Provider | Searcher) -> CircuitOpen | ProviderAway:
    """Return the refusal of somebody who was named and cannot be asked: who is left alone for a while will be asked again."""
    words = f"{asked_party.name} cannot be asked: {asked_party.reason}"
    return (
        CircuitOpen(words, retry_after=asked_party.rests)
        if asked_party.rests
        else ProviderAway(words)
    )


def no_provider(
    every: Sequence[Provider] | Sequence[Searcher], words: str, *, none: str = "", hint: str = ""
) -> NoProvider:
    """Return the refusal where nobody can be asked, with why of each who is configured; where some are only left alone, to wait is the next step.

    none: what is said where nobody is configured.
    """
    reasons = (
        "; ".join(
            f"{candidate.name}: {candidate.reason}" for candidate in every if candidate.is_set
        )
        or none
    )
    message = f"{words}: {reasons}" if reasons else ""
    rests = min((candidate.rests for candidate in every if candidate.rests), default=0)
    if rests:
        return AllResting(message, retry_after=rests)
    return NoProvider(message, hint=hint)


def retry_delay(
    fault: CounterpointError, attempt: int, seconds_left: float, chance: float
) -> float | None:
    """Return how many seconds to wait before it is tried again; None: it is not.

    attempt: how often it was tried. seconds_left: seconds that the question has. chance: from 0 to 1, so that not all come back at once.
    """
    if not isinstance(fault, ProviderBusy) or attempt >= ATTEMPTS:
        return None
    retry_after = fault.facts.get("retry_after")
    own = 2.0 ** (attempt - 1) * (1 + chance / 4)
    # A provider that says 0, or no number, is asked no sooner than one that says nothing.
    seconds = max(own, float(retry_after)) if isinstance(retry_after, int | float) else own
    return seconds if seconds < seconds_left else None


def is_against(fault: ProviderFailed, *, is_usual: bool = True) -> bool:
    """Return whether a try that failed so counts against who was asked: who refuses a question is there, and works.

    is_usual: whether one of its own models was asked.
    """
    if isinstance(fault, ProviderBusy | ProviderTimedOut):
        return True
    return is_usual and not isinstance(fault, ProviderRefused)


def is_kept(question: Question) -> bool:
    """Return whether answers to a question are kept: where they are to be the same each time, or the caller says so."""
    if question.caching == "auto":
        return question.temperature == 0
    return question.caching == "always"


def textless(answer: Answer, question: Question) -> ProviderFailed | None:
    """Return why an answer is none, since it has no text; None for one that has."""
    if answer.text.strip():
        return None
    if answer.stop == "length":
        return ProviderFailed(
            f"{answer.provider} used up {question.max_tokens} tokens before it wrote anything",
            hint="Ask again for more tokens, for less at once, or another model.",
        )
    ended = " but with something else, as a call of a tool" if answer.stop == "other" else ""
    return ProviderFailed(f"{answer.provider} answered with no text{ended}")

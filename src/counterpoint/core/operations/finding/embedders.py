"""Which model texts are found by: that of this machine, or a provider's.

Rule 1: a provider is asked as models are: as a person trusted it, behind its breaker, within the limits of cost, again where that helps, and each use is
written down, by the product itself. Rule 2: it is asked for what is to be kept in parts, and for a question once; the last questions are remembered. Rule 3: where it
does not answer, words alone find.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Final

from counterpoint.core.model.access import Actor
from counterpoint.core.model.models import Answer, Modelling, Provider, SaidEmbedding, Tokens
from counterpoint.core.operations.models.spending import (
    AnswerListener,
    Reservation,
    RetryOrder,
    UseDraft,
    ask_with_retries,
    load_trusted,
    pass_breaker,
    record_use,
    set_aside,
)
from counterpoint.core.operations.recording.context import Caller, Context, Ports
from counterpoint.core.ports.models import Embedded, Embedder, Embeddings
from counterpoint.core.rules.models.prices import PRICES
from counterpoint.core.rules.models.providers import BYTES_A_TOKEN, cost, costs_nothing, price_of
from counterpoint.core.rules.trust.commands import models_loosened
from counterpoint.kernel.errors import InvalidInput, ProviderAway

AT_ONCE: Final = 64
"""How many texts one request has at most."""
_CHARACTERS: Final = 8_000
"""The beginning of a text that its vector is made of."""
_SECONDS: Final = 60.0
_QUESTION_SECONDS: Final = 10.0
_REMEMBERED: Final = 64


@dataclass(slots=True)
class QuestionVectors:
    """The vectors of the last questions, by model and question: a page after the first asks nobody."""

    vectors: OrderedDict[tuple[str, str], bytes] = field(
        default_factory=OrderedDict[tuple[str, str], bytes]
    )
    lock: Lock = field(default_factory=Lock, repr=False)

    def find(self, model: str, text: str) -> bytes | None:
        """Return the vector of a question; None if it is not remembered."""
        with self.lock:
            return self.vectors.get((model, text))

    def keep(self, model: str, text: str, vector: bytes) -> None:
        """Remember the vector of a question, and forget the oldest."""
        with self.lock:
            self.vectors[model, text] = vector
            while len(self.vectors) > _REMEMBERED:
                self.vectors.popitem(last=False)


class ProviderEmbedder:
    """A model of a provider. It raises NotTrusted, NotFound, ProviderAway, CircuitOpen, ProviderFailed, BudgetSpent, InvalidInput."""

    def __init__(self, ports: Ports, embeddings: Embeddings, settings: SaidEmbedding) -> None:
        """Ask in the name of the product: no agent's session begins with a search."""
        caller = Caller(actor=Actor(kind="system", name="counterpoint"), root=Path())
        self._context = Context(ports=ports, caller=caller)
        self._embeddings = embeddings
        self._said = settings

    @property
    def name(self) -> str:
        """Which model it is: of which provider, with how many numbers."""
        return f"{self._said.provider}/{self._said.model}/{self._said.dimensions}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; 0: as the model has it."""
        return self._said.dimensions

    @property
    def weight(self) -> float:
        """How much nearness counts beside words."""
        return self._said.weight

    @property
    def least(self) -> float:
        """The cosine below which a text is not found by nearness alone."""
        return self._said.least

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the vector of each text; empty for one that says nothing."""
        telling = [text for text in texts if text.strip()]
        embedded: list[bytes] = []
        for start in range(0, len(telling), AT_ONCE):
            embedded += self._asked(telling[start : start + AT_ONCE], "embedding", _SECONDS)
        vectors = iter(embedded)
        return [next(vectors) if text.strip() else b"" for text in texts]

    def question(self, text: str) -> bytes:
        """Return the vector of a question; the last ones are remembered."""
        cache = self._context.ports.remember(QuestionVectors)
        vector = cache.find(self.name, text)
        if vector is None:
            (vector,) = self._asked([text], "search", _QUESTION_SECONDS)
            cache.keep(self.name, text, vector)
        return vector

    def _asked(self, texts: Sequence[str], purpose: str, seconds: float) -> Sequence[bytes]:
        context, settings = self._context, self._said
        limits = load_trusted(
            context, lambda checking: models_loosened(checking.models) is not None
        ).models
        provider = self._embeddings.provider(settings)
        if not provider.is_available:
            raise ProviderAway(f"{provider.name} cannot be asked: {provider.reason}")
        cut = [text[:_CHARACTERS] for text in texts]
        heard, results = AnswerListener(provider.name, None, None), list[Embedded]()
        most = sum(len(text.encode()) for text in cut) // BYTES_A_TOKEN + len(cut)

        def attempt(seconds_left: float) -> Answer:
            with pass_breaker(context, f"embedding {provider.name}"):
                embedded = self._embeddings.embed(provider, settings, cut, seconds_left, heard)
            results[:] = [embedded]
            return _use(provider, embedded.tokens or most, limits)

        order = RetryOrder(
            asked=UseDraft(
                provider=provider.name,
                model=settings.model,
                purpose=purpose,
                item="",
                status="answered",
                began=context.ports.clock.now(),
            ),
            seconds=seconds,
            attempt=attempt,
            pause=lambda wait: self._embeddings.pause(wait, heard),
            heard=heard,
        )
        with _set_aside(context, limits, provider, most) as reserved:
            order = replace(order, asked=replace(order.asked, reserved=reserved))
            record_use(context, ask_with_retries(context, order))
        return results[0].vectors


def embedder_of(ports: Ports) -> Embedder | None:
    """Return the model that texts are found by; None without one. MalformedDocument."""
    embeddings = ports.embeddings()
    settings = embeddings.said() if embeddings is not None else None
    if embeddings is None or settings is None:
        return ports.embedder()
    return ProviderEmbedder(ports, embeddings, settings)


def _micros(provider: Provider, tokens: int, limits: Modelling) -> int:
    """Return what tokens cost in millionths of a dollar; InvalidInput without a price."""
    if costs_nothing(provider, provider.model, limits.prices):
        return 0
    price = price_of(provider.model, limits.prices, PRICES)
    if price is None:
        raise InvalidInput(
            f"no price of the model {provider.model[:80]!r} is known, so that no limit could be held",
            hint="Have a person write its price into counterpoint.toml and run `counterpoint trust`.",
        )
    return cost(price, Tokens(input=tokens))


def _set_aside(
    context: Context, limits: Modelling, provider: Provider, most: int
) -> AbstractContextManager[Reservation | None]:
    comes_to = _micros(provider, most, limits)
    return set_aside(context, limits, comes_to) if comes_to else nullcontext()


def _use(provider: Provider, tokens: int, limits: Modelling) -> Answer:
    return Answer(
        text="",
        stop="end",
        provider=provider.name,
        model=provider.model,
        tokens=Tokens(input=tokens),
        cost_micros=_micros(provider, tokens, limits),
    )

"""What a project's configuration says of models."""

from __future__ import annotations

from typing import Literal

from counterpoint.core.model.models.asking import ProviderKind
from counterpoint.kernel.frozen import frozen

EmbeddingKind = Literal["embeddings", "gemini", "ollama"]
"""The format of vectors that a provider speaks: OpenAI's, Google's or Ollama's."""
DAY_LIMIT_MICROS = 10_000_000
"""What one project spends in a day at most if nobody says otherwise: ten dollars."""
CACHE_SECONDS = 7 * 86_400
"""For how long an answer is kept."""


@frozen
class SaidProvider:
    """A provider as a project says it; what is empty is as the product has it for this name.

    address: where the format is spoken, such as `http://127.0.0.1:11434/v1`. command: a program with its words. models: others that it has.
    is_on: whether it is to be asked at all.
    """

    name: str
    kind: ProviderKind | None = None
    address: str = ""
    command: tuple[str, ...] = ()
    model: str = ""
    models: tuple[str, ...] = ()
    is_on: bool = True


@frozen
class Price:
    """What a million tokens cost, in millionths of a dollar. model: its name; with a last `*` how names begin."""

    model: str
    input: int
    cached: int
    output: int


@frozen
class SaidEmbedding:
    """Which model of a provider turns texts into vectors, as a project says it.

    provider: its name, whose address and key count. kind: the format that it speaks; empty: the one that goes with the provider's. dimensions: how many numbers
    a vector has; 0: as the model has it. weight, least: how much nearness counts beside words, and from which cosine on it finds alone.
    """

    provider: str
    model: str
    kind: EmbeddingKind | Literal[""] = ""
    dimensions: int = 0
    weight: float = 0.5
    least: float = 0.3


@frozen
class Modelling:
    """Whom a project asks, in which order, and what that may cost.

    order: names of providers, the first that can be asked is; those not named come after. day_limit, limit: millionths of a dollar in a day
    (of UTC), and in all; limit 0: only days are limited. cache_seconds: for how long answers are kept; 0: not at all. embedding: what texts are found by their meaning with;
    None: the model of this machine.
    """

    order: tuple[str, ...] = ()
    providers: tuple[SaidProvider, ...] = ()
    prices: tuple[Price, ...] = ()
    day_limit: int = DAY_LIMIT_MICROS
    limit: int = 0
    cache_seconds: int = CACHE_SECONDS
    embedding: SaidEmbedding | None = None

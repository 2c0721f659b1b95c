"""Joins providers, keys and formats of vectors into the port that the core asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from counterpoint.core.model.models import (
    EmbeddingKind,
    Modelling,
    Provider,
    ProviderKind,
    SaidEmbedding,
)
from counterpoint.core.ports.models import Embedded, Listen
from counterpoint.core.rules.models.providers import is_here
from counterpoint.kernel.errors import NotFound, ProviderFailed
from counterpoint.providers.chat.opening import NO_MODEL, ConfiguredProviders
from counterpoint.providers.keys import Keys, pause

_KINDS: Final[Mapping[ProviderKind, EmbeddingKind]] = {
    "chat": "embeddings",
    "responses": "embeddings",
    "gemini": "gemini",
}
"""The format of vectors that goes with a provider's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingProviders:
    """Implements the port, by the same addresses and keys as models that answer. told: answers what the project says of models."""

    told: Callable[[], Modelling]
    keys: Keys
    sleep: Callable[[float], None] = field(default=time.sleep)

    def said(self) -> SaidEmbedding | None:
        """Return which model the project wants."""
        return self.told().embedding

    def provider(self, settings: SaidEmbedding) -> Provider:
        """Return who is asked, with why it cannot be asked now."""
        providers = ConfiguredProviders(said=self.told, keys=self.keys).providers()
        provider = next(
            (candidate for candidate in providers if candidate.name == settings.provider), None
        )
        if provider is None:
            names = ", ".join(candidate.name for candidate in providers)
            raise NotFound(
                f"there is no provider {settings.provider[:60]!r}", hint=f"There are: {names}."
            )
        reason = "" if provider.reason == NO_MODEL else provider.reason
        if not reason and self._kind(provider, settings) is None:
            reason = "it makes no vectors"
        return replace(provider, model=settings.model, reason=reason)

    def embed(
        self,
        provider: Provider,
        settings: SaidEmbedding,
        texts: Sequence[str],
        seconds: float,
        listen: Listen,
    ) -> Embedded:
        """Return what one try makes of texts."""
        from counterpoint.providers.embedding.formats import FORMATS, unit
        from counterpoint.providers.wire import Sent, whole_answer

        kind = self._kind(provider, settings)
        if kind is None:
            raise ProviderFailed(f"{provider.name} makes no vectors")
        spoken, key = FORMATS[kind], self.keys.find_for(provider.name, provider.address)
        secret = key.secret if key else ""
        answer = whole_answer(
            Sent(
                provider=provider.name,
                url=provider.address + spoken.path(settings),
                headers=spoken.headers(secret),
                body=spoken.body(settings, texts),
                seconds=seconds,
                is_here=is_here(provider.address),
                secret=secret,
            ),
            listen,
        )
        try:
            vectors, tokens = spoken.told(answer)
            units = unit(vectors, len(texts), settings.dimensions)
            return Embedded(vectors=units, tokens=tokens)
        except (KeyError, TypeError, ValueError) as fault:
            raise ProviderFailed(
                f"{provider.name} answers with other than vectors of these texts: {fault}"
            ) from fault

    def pause(self, seconds: float, listen: Listen) -> None:
        """Wait, and let whoever waits go meanwhile."""
        pause(self.sleep, seconds, listen)

    @staticmethod
    def _kind(provider: Provider, setting: SaidEmbedding) -> EmbeddingKind | None:
        return setting.kind or _KINDS.get(provider.kind)


def open_embeddings(
    load_settings: Callable[[], Modelling], environ: Mapping[str, str]
) -> EmbeddingProviders:
    """Return who is asked for vectors. environ: the variables of the server, which may have keys and lead to those of its person."""
    return EmbeddingProviders(told=load_settings, keys=Keys(environ=environ))

"""Which models can be asked, where foundry turns providers off by variables too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from counterpoint.core.model.models.asking import Provider
from counterpoint.core.operations.models.asking import ModelVerbs
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.rules.models.trying import Standing
from counterpoint.kernel.errors import MalformedDocument

_NO: Final = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The variables `FOUNDRY_<NAME>_AVAILABLE_OVERRIDE` of a connection."""

    environ: Mapping[str, str] = field(repr=False)

    def of(self, provider: str) -> str:
        """Return why a provider is turned off; empty if it is not. A variable cannot make a provider available."""
        name = f"FOUNDRY_{provider.upper().replace('-', '_')}_AVAILABLE_OVERRIDE"
        setting = self.environ.get(name, "").strip().lower()
        return f"the variable {name} turns it off" if setting in _NO else ""


class Askable:
    """Verbs for the available providers."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def list_providers(self) -> Standing:
        """Return all providers, and the available ones in order; MalformedDocument."""
        providers = ModelVerbs(self._context).standing()
        overrides = self._context.ports.get(Overrides)

        def apply_override(provider: Provider) -> Provider:
            return replace(provider, reason=provider.reason or overrides.of(provider.name))

        first = tuple(
            provider for provider in map(apply_override, providers.first) if provider.is_available
        )
        return Standing(every=tuple(map(apply_override, providers.every)), first=first)

    def find(self) -> Standing | None:
        """Return the same; None where the configuration cannot be parsed."""
        try:
            return self.list_providers()
        except MalformedDocument:
            return None

"""Who can be asked for models, where foundry turns providers off by variables too."""

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
    """What the variables `FOUNDRY_<NAME>_AVAILABLE_OVERRIDE` of a connection say."""

    environ: Mapping[str, str] = field(repr=False)

    def of(self, provider: str) -> str:
        """Return why a provider is not to be asked; empty if nothing says so. Nobody is there because a variable says it."""
        name = f"FOUNDRY_{provider.upper().replace('-', '_')}_AVAILABLE_OVERRIDE"
        said = self.environ.get(name, "").strip().lower()
        return f"the variable {name} turns it off" if said in _NO else ""


class Askable:
    """Verbs for who can be asked."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def standing(self) -> Standing:
        """Return who there is, and who is asked first; MalformedDocument."""
        found = ModelVerbs(self._context).standing()
        overrides = self._context.ports.get(Overrides)

        def seen(one: Provider) -> Provider:
            return replace(one, reason=one.reason or overrides.of(one.name))

        first = tuple(one for one in map(seen, found.first) if one.is_available)
        return Standing(every=tuple(map(seen, found.every)), first=first)

    def found(self) -> Standing | None:
        """Return the same; None where the configuration cannot be read."""
        try:
            return self.standing()
        except MalformedDocument:
            return None

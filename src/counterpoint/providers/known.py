"""The providers that the product knows by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from counterpoint.core.model.models.asking import ProviderKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A provider by its name. variables: those of the server's own that may hold its key, the first that does counts."""

    name: str
    kind: ProviderKind
    description: str
    address: str = ""
    model: str = ""
    variables: tuple[str, ...] = ()


KNOWN: Final = {
    one.name: one
    for one in (
        Known(
            name="anthropic",
            kind="messages",
            description="Anthropic's Messages API",
            address="https://api.anthropic.com/v1",
            model="claude-sonnet-5-5",
            variables=("ANTHROPIC_API_KEY",),
        ),
        Known(
            name="openai",
            kind="responses",
            description="OpenAI's Responses API",
            address="https://api.openai.com/v1",
            model="gpt-6.1-terra",
            variables=("OPENAI_API_KEY",),
        ),
        Known(
            name="google",
            kind="gemini",
            description="Google's Gemini API",
            address="https://generativelanguage.googleapis.com/v1beta",
            model="gemini-3.8-flash",
            variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
    )
}
"""Those that need nothing but a key, in the order in which they are asked."""


def variables_of(name: str) -> tuple[str, ...]:
    """Return the variables of the server's own that may hold the key of a provider."""
    known = KNOWN.get(name)
    own = f"COUNTERPOINT_{name.upper().replace('-', '_')}_API_KEY"
    return (own, *known.variables) if known else (own,)

"""Asks models for research, under foundry's settings of providers."""

from __future__ import annotations

from dataclasses import dataclass

from counterpoint.core.model.models.asking import Answer, Message, Provider, Question
from counterpoint.core.operations.models.asking import ModelVerbs
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.trying import away, first_of
from counterpoint.dialects.foundry.verbs.asking import Askable

TOKENS = 8_000
"""The default limit of tokens of an answer."""
SECONDS = 360.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """A question of research. provider: as `choose_provider` returns it."""

    messages: tuple[Message, ...]
    provider: str
    purpose: str
    system: str = ""
    model: str = ""
    temperature: float | None = None
    max_tokens: int = TOKENS
    seconds: float = SECONDS
    item: str = ""


def user_message(text: str) -> tuple[Message, ...]:
    """Return a question of one text as messages."""
    return (Message(role="user", text=text),)


def choose_provider(context: Context, name: str = "") -> Provider:
    """Return the named provider, else the first available one; NoProvider, NotFound, ProviderAway."""
    standing = Askable(context).list_providers()
    if not name:
        return first_of(standing)
    provider = standing.named(name)
    if not provider.is_available:
        raise away(provider)
    return provider


def ask(
    context: Context,
    question_draft: ModelQuestion,
    watch: Watch | None = None,
    listen: Listen | None = None,
) -> Answer:
    """Ask a model; raises what `ModelVerbs.ask` does."""
    question = Question(
        messages=question_draft.messages,
        system=question_draft.system,
        provider=question_draft.provider,
        model=question_draft.model,
        max_tokens=question_draft.max_tokens,
        temperature=question_draft.temperature,
        timeout=question_draft.seconds,
        purpose=question_draft.purpose,
        item=question_draft.item,
    )
    return ModelVerbs(context).ask(question, watch, listen)

"""Asks models for research, where foundry says who can be asked."""

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
"""The most tokens of an answer where nobody says otherwise."""
SECONDS = 360.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question of research. provider: as `chosen` returns it."""

    messages: tuple[Message, ...]
    provider: str
    purpose: str
    system: str = ""
    model: str = ""
    temperature: float | None = None
    max_tokens: int = TOKENS
    seconds: float = SECONDS
    item: str = ""


def said(text: str) -> tuple[Message, ...]:
    """Return the messages of a question that is one text."""
    return (Message(role="user", text=text),)


def chosen(context: Context, name: str = "") -> Provider:
    """Return who is asked: the one of a name, else the first that can be; NoProvider, NotFound, ProviderAway."""
    standing = Askable(context).standing()
    if not name:
        return first_of(standing)
    found = standing.named(name)
    if not found.is_available:
        raise away(found)
    return found


def ask(
    context: Context, asked: Asked, watch: Watch | None = None, listen: Listen | None = None
) -> Answer:
    """Return what a model answers; raises what `ModelVerbs.ask` does."""
    question = Question(
        messages=asked.messages,
        system=asked.system,
        provider=asked.provider,
        model=asked.model,
        max_tokens=asked.max_tokens,
        temperature=asked.temperature,
        timeout=asked.seconds,
        purpose=asked.purpose,
        item=asked.item,
    )
    return ModelVerbs(context).ask(question, watch, listen)

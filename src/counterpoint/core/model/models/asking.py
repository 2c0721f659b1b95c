"""A question to a model, its answer, and who can be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.frozen import frozen

Role = Literal["user", "assistant"]
Stop = Literal["end", "length", "refused", "other"]
"""Why an answer ended: by itself, at `max_tokens`, since the model or its provider declined, or otherwise."""
Caching = Literal["auto", "always", "never"]
ProviderKind = Literal["chat", "messages", "responses", "gemini", "command"]
"""The format that a provider speaks, by the names of the documents that describe them, or a command line."""

DEFAULT_TOKENS = 4096
DEFAULT_TIMEOUT = 300.0


@frozen
class Message:
    """One turn of a conversation."""

    role: Role
    text: str


@frozen
class Question:
    """What a model is asked.

    messages: oldest first, the last is the user's. system: what stands above them. provider, model: whom to ask; empty for the first that
    can be asked, and for its usual model. temperature: 0 to 2; None: as the provider has it. schema: the JSON schema that the answer
    follows, as JSON text then. timeout: seconds for the whole, tries included. purpose: a word for what it is asked, by which use is
    counted. item: the item it is about.
    limit_micros: what it may cost at most, in millionths of a dollar; None: as much as the project's limits leave.
    caching: whether an answer that is kept may stand for another one, and this one be kept: `auto`: at temperature 0. sample: tells answers
    to the same question apart that are kept beside each other.
    """

    messages: tuple[Message, ...]
    system: str = ""
    provider: str = ""
    model: str = ""
    max_tokens: int = DEFAULT_TOKENS
    temperature: float | None = None
    schema: Mapping[str, Json] | None = None
    timeout: float = DEFAULT_TIMEOUT
    purpose: str = "ask"
    item: str = ""
    caching: Caching = "auto"
    sample: str = ""
    limit_micros: int | None = None


@frozen
class Tokens:
    """How many tokens a question and its answer took, as the provider counted them; cached: those of the input that were read from its cache."""

    input: int = 0
    cached: int = 0
    output: int = 0


@frozen
class Answer:
    """What a model answered.

    model: as the provider named it. cost_micros: what it cost in millionths of a dollar; of a provider's answer NOT_TOLD unless the provider says it.
    is_kept: whether it was answered before, and nobody was asked now.
    """

    text: str
    stop: Stop
    provider: str
    model: str
    tokens: Tokens
    cost_micros: int
    is_kept: bool = False


@frozen
class Provider:
    """Somebody who can be asked, or could.

    reason: why it cannot be asked now; empty if it can. is_free: whether what it answers costs nothing by the token: a model of this machine, or a
    program that its person has paid for. address: where it is reached; empty for a command. command: the words of one. search_path: the folders that its
    program is found in, as a person trusted it; empty: those of the server. is_set: whether anybody has configured it.
    rests: for how many seconds it is left alone, if it failed several times and nothing else is in the way.
    """

    name: str
    kind: ProviderKind
    description: str
    model: str
    models: tuple[str, ...] = ()
    address: str = ""
    command: tuple[str, ...] = ()
    search_path: str = ""
    reason: str = ""
    is_free: bool = False
    is_set: bool = True
    rests: int = 0

    @property
    def is_available(self) -> bool:
        """Whether it can be asked now."""
        return not self.reason


def make_question(text: str, **more: Any) -> Question:
    """Return a question of one message. more: other fields of the question."""
    messages = more.pop("messages", (Message(role="user", text=text),))
    return Question(messages=messages, **more)

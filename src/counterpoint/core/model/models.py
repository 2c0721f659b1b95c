"""Questions to models, how they may be asked, and what that used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from counterpoint.core.model.rows import (
    Agent,
    Digest,
    InSession,
    Name,
    Noun,
    Number,
    Prose,
    Time,
    Touched,
    Word,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
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


UseStatus = Literal["answered", "kept", "failed", "cancelled"]
"""What came of asking; `kept`: an answer from before was given again, and nobody was asked."""

RESERVED: Final = "reserved"
"""The purpose of a row of `ModelDay` that is no sum of uses, but what a process has reserved for what it asks just now."""


@frozen
class ModelUse(Noun):
    """One time that a model was asked; of what was asked and answered nothing stands here.

    fault: the code of what failed. attempts: how often it was tried.
    """

    table: ClassVar[str] = "model_uses"
    key: ClassVar[tuple[str, ...]] = ("project", "number")
    indexes: ClassVar[tuple[str, ...]] = ("item,number", "session,number", "purpose,number")

    number: Number
    provider: Name
    model: Name
    purpose: Name
    item: Name
    session: InSession
    agent: Agent
    status: UseStatus
    fault: Word
    stop: Word
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_micros: int
    duration_ms: int
    attempts: int
    created_at: Timestamp


@frozen
class ModelDay(Noun):
    """What was asked on a day (of UTC) of one model for one purpose, summed up.

    Of purpose `reserved`: what the process that `provider` names has reserved of it; `model` is empty, and nothing but `cost_micros` is said.
    """

    table: ClassVar[str] = "model_days"
    key: ClassVar[tuple[str, ...]] = ("project", "day", "provider", "model", "purpose")

    day: Word
    provider: Name
    model: Name
    purpose: Name
    requests: int
    kept: int
    failures: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_micros: int
    updated_at: Touched


@frozen
class KeptAnswer(Noun):
    """An answer that stands for another one to the same question until it expires.

    name: what the question comes to under a key of the project, so that nobody finds out by it what was asked.
    """

    table: ClassVar[str] = "model_answers"
    key: ClassVar[tuple[str, ...]] = ("project", "name")
    indexes: ClassVar[tuple[str, ...]] = ("expires_at",)

    name: Digest
    provider: Name
    model: Name
    text: Prose
    stop: Stop
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    created_at: Timestamp
    expires_at: Time

"""What was asked of models, what it came to, and answers that are kept."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from counterpoint.core.model.models.asking import Stop
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
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

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

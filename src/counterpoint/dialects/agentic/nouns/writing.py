"""What models are to write for briefs, and what they wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from counterpoint.core.model.models.asking import Stop
from counterpoint.core.model.rows import (
    Agent,
    Id,
    InSession,
    JsonText,
    Name,
    Noun,
    PlainHash,
    Prose,
    Time,
    Touched,
    Version,
    Word,
)
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

Mode = Literal["draft", "refine", "full"]
Stage = Literal["draft", "refine"]
STAGES: Final[Mapping[str, tuple[Stage, ...]]] = {
    "draft": ("draft",),
    "refine": ("refine",),
    "full": ("draft", "refine"),
}
"""The stages of each mode, in their order."""


@frozen
class WritingOrder(Noun):
    """How the text of a brief is to be written, and who is at it; the state is that of the brief.

    batch: the batch that it is of. task: the task that it tells of. mode, provider, settings (a JSON object): how it is written; empty mode: nobody has
    asked for it yet. round: how often it was asked for; the texts of each round are its own. failures: how often
    it failed in this round. holder, request: whose call asked last, and the
    idempotency key of that, with the digest of what it asked; empty without a key. runner, begun_at: the process that is at it, since when; empty while none is.
    fault: the code of what it failed with.
    """

    table: ClassVar[str] = "writing_orders"
    key: ClassVar[tuple[str, ...]] = ("project", "brief")
    indexes: ClassVar[tuple[str, ...]] = ("batch,brief", "request")

    brief: Id
    batch: Name
    task: Id
    mode: Literal["", "draft", "refine", "full"]
    provider: Name
    settings: JsonText
    round: int
    failures: int
    holder: Id
    request: Name
    asked: PlainHash
    runner: Word
    begun_at: Time
    fault: Word
    session: InSession
    agent: Agent
    version: Version
    created_at: Timestamp
    updated_at: Touched


@frozen
class WrittenText(Noun):
    """What a model wrote for a brief in one stage of a round."""

    table: ClassVar[str] = "written_texts"
    key: ClassVar[tuple[str, ...]] = ("project", "brief", "number")

    brief: Id
    number: int
    round: int
    stage: Stage
    provider: Name
    model: Name
    text: Prose
    stop: Stop
    input_tokens: int
    output_tokens: int
    cost_micros: int
    agent: Agent
    created_at: Timestamp

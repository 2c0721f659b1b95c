"""Plans, briefs and orders to write, as rows and as answers tell of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal, get_args

from counterpoint.core.model.answers import Standing
from counterpoint.core.model.lifecycles import Lifecycle
from counterpoint.core.model.models import Stop
from counterpoint.core.model.rows import (
    Agent,
    Id,
    InSession,
    JsonText,
    Name,
    Names,
    Noun,
    Number,
    PlainHash,
    Prose,
    Searched,
    Time,
    Touched,
    Version,
    Word,
)
from counterpoint.core.model.work import Item
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

ContentType = Literal["help_article", "blog_post", "landing_page", "social_post", "text"]
CONTENT_TYPES: tuple[ContentType, ...] = get_args(ContentType)
"""`text` is that of a brief that was made of a prompt."""
Difficulty = Literal["", "beginner", "intermediate", "advanced"]
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)

BRIEF_PRIORITIES = range(1, 101)
"""100 is the most urgent."""
USUAL_PRIORITY = 50
WORD_COUNTS = range(50, 20_001)
USUAL_WORD_COUNT = 800


BRIEF = Lifecycle(
    name="brief",
    first="pending",
    categories={
        "pending": "open",
        "queued": "open",
        "generating": "active",
        "review": "review",
        "published": "done",
        "failed": "dropped",
    },
    moves={
        "pending": ("queued", "failed"),
        "queued": ("pending", "generating", "failed"),
        "generating": ("queued", "review", "failed"),
        "review": ("queued", "published", "failed"),
        "published": (),
        "failed": ("pending", "queued"),
    },
)
"""A brief: a text that is to be written, from its request to its publication."""


@frozen
class BriefRequest:
    """What somebody asks to have written.

    slug: one is made from the title if it is empty. variables: named values for whoever writes it.
    scheduled_for: an ISO-8601 time before which it is not to be written (UTC without an offset).
    item: the plan it belongs to. batch: the batch that it is of; task: the task that it tells of.
    """

    title: str
    content_type: str
    slug: str = ""
    description: str = ""
    service: str = ""
    keywords: tuple[str, ...] = ()
    category: str = ""
    difficulty: str = ""
    target_word_count: int = USUAL_WORD_COUNT
    variables: Mapping[str, Json] = field(default_factory=dict[str, Json])
    priority: int = USUAL_PRIORITY
    scheduled_for: str = ""
    item: str = ""
    batch: str = ""
    task: str = ""


@frozen
class BriefFilter:
    """Which briefs a list is of; empty fields ask for all."""

    status: str = ""
    content_type: str = ""
    service: str = ""
    category: str = ""
    item: str = ""


@frozen
class Brief(Noun):
    """A commission that is kept, and how far it has come.

    slug: unique in the project. variables: a JSON object as text.
    """

    table: ClassVar[str] = "briefs"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "b"
    indexes: ClassVar[tuple[str, ...]] = ("number", "status,number", "item,number")
    unique: ClassVar[tuple[str, ...]] = ("slug",)
    searched: ClassVar[Searched | None] = Searched(
        title=("title", "keywords"), body="description", about="item"
    )

    id: Id
    number: Number
    slug: Name
    title: Prose
    description: Prose
    content_type: ContentType
    service: Name
    keywords: Names
    category: Name
    difficulty: Difficulty
    target_word_count: int
    variables: JsonText
    priority: int
    scheduled_for: Time
    status: Word
    reason: Prose
    item: Id
    agent: Agent
    version: Version
    created_at: Timestamp
    updated_at: Touched

    def moved(self, status: str, at: Timestamp, reason: str = "") -> Brief:
        """Return this brief in another state; IllegalMove unless its table has the edge."""
        BRIEF.check(self.status, status, self.id)
        return replace(
            self, status=status, reason=Prose(reason), version=self.version + 1, updated_at=at
        )


PlanStanding = Literal["backlog", "active", "paused", "done", "archived"]
"""How a plan stands; backlog is one that was not offered yet."""

SLUG = "slug"
"""The scope of the names of plans."""
ARCHIVED = "archived"
"""The label of a plan that was put away, and the name of the value that says when and why."""
PAUSED = "paused"
"""The label of a plan that was begun and is not offered at the moment."""
PRUNED = "pruned"
"""The label of a plan whose texts were taken away after it had been put away for long."""
NOTES = "notes"
"""The value of a task that was last said of it."""
REASON = "reason"
"""The value of a phase or a task that says why it was left out."""
RETENTION_DAYS = 90
"""How long an archived plan keeps its texts, if nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedStep:
    """A phase or a task after a move, the phase and the plan it belongs to, and what went with it.

    skipped: the titles of what was still open below it and is skipped now.
    """

    item: Item
    standing: Standing
    phase: Item
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """An archived plan whose texts were taken away, or would be. receipt: id of what tells where they are gone."""

    item: Item
    slug: str
    archived_at: Timestamp
    texts: int
    receipt: str = ""


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

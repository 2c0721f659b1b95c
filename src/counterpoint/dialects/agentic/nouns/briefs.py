"""Briefs: requests for texts, with their states and the texts written for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar, Literal, get_args

from counterpoint.core.model.lifecycles import Lifecycle
from counterpoint.core.model.rows import (
    Agent,
    Id,
    JsonText,
    Name,
    Names,
    Noun,
    Number,
    Prose,
    Searched,
    Time,
    Touched,
    Version,
    Word,
)
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

"""What is researched with models over several steps, each as it was answered.

A study is a thread of messages, a question to several models, an investigation or an ideation; its steps are what was said in
it, in their order. What a model answered is a step before the next one is asked.
"""

from __future__ import annotations

from typing import ClassVar, Final, Literal, get_args

from counterpoint.core.model.rows import (
    Agent,
    Id,
    InSession,
    JsonText,
    Name,
    Noun,
    Prose,
    Time,
    Touched,
    Version,
    Word,
)
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

StudyKind = Literal["chat", "consensus", "thinkdeep", "ideate", "deep-research"]
PREFIXES: Final[dict[StudyKind, str]] = {
    "chat": "thread",
    "consensus": "consensus",
    "thinkdeep": "investigation",
    "ideate": "ideation",
    "deep-research": "deepres",
}
"""How the ids of each kind begin."""
ThreadStatus = Literal["active", "completed", "archived"]
Strategy = Literal["all_responses", "synthesize", "majority", "first_valid"]
IdeateAction = Literal["generate", "cluster", "score", "select", "elaborate"]
ResearchMode = Literal["general", "academic", "technical"]
DeepAction = Literal["start", "continue", "resume", "cancel"]
Confidence = Literal["speculation", "low", "medium", "high", "confirmed"]
CONFIDENCES: Final[tuple[Confidence, ...]] = get_args(Confidence)
SURE: Final[frozenset[str]] = frozenset({"high", "confirmed"})
Finding = Literal["completed", "inconclusive", "blocked", "cancelled"]
"""What came of the research of a node."""
RESEARCH: Final = "research"
RESEARCH_TYPE: Final = "research_type"
QUERY: Final = "query"
SESSION_ID: Final = "session_id"
FINDINGS: Final = "findings"
HISTORY: Final = "research_history"
"""The type of a research node, and what is kept with one."""


@frozen
class ResearchStudy(Noun):
    """Something that is researched, over one step or many.

    query: the topic, or what was asked first. system: what stands above every message of a thread. phase: where an ideation is, or a
    run. round, rounds: how deep it is, and may be. settings: what it was begun with, and state: where it is, both JSON objects.
    report: what came of it; fault: why nothing did. item: the research node that it is for. runner, beat_at: the process that is at it,
    and when that was heard of last; empty while none is.
    """

    table: ClassVar[str] = "research_studies"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    indexes: ClassVar[tuple[str, ...]] = ("kind,created_at",)

    id: Id
    kind: StudyKind
    title: Prose
    query: Prose
    system: Prose
    status: Word
    phase: Word
    provider: Name
    model: Name
    round: int
    rounds: int
    steps: int
    tokens: int
    settings: JsonText
    state: JsonText
    report: Prose
    fault: Prose
    item: Id
    runner: Word
    beat_at: Time
    session: InSession
    agent: Agent
    version: Version
    created_at: Timestamp
    updated_at: Touched


@frozen
class ResearchStep(Noun):
    """One thing that was said or found in a study.

    kind: `user` or `assistant` of a message, else what it was for. name: which of several of its kind. details: a JSON object.
    """

    table: ClassVar[str] = "research_steps"
    key: ClassVar[tuple[str, ...]] = ("project", "study", "number")

    study: Id
    number: int
    kind: Word
    name: Name
    provider: Name
    model: Name
    text: Prose
    details: JsonText
    tokens: int
    created_at: Timestamp

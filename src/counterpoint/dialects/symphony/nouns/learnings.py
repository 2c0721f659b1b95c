"""What was learned, asked and answered: learnings, coverage, health of tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from counterpoint.core.model.journal import Record
from counterpoint.kernel.clock import Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningDraft:
    """A learning to be kept; context and kind are None where they were not given."""

    item: str
    pattern: str
    context: str | None = None
    applies_to: tuple[str, ...] = ()
    kind: str | None = None
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """A learning as it stands; quality is from 0 to 100."""

    record: Record
    project: str
    pattern: str
    context: str
    applies_to: tuple[str, ...]
    kind: str
    quality: int
    is_verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLearning:
    """A learning that was kept, and those of other items that say nearly the same."""

    learning: Learning
    near: tuple[Learning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningHit:
    """A learning in its place, with the parts of its score; all from 0 to 1."""

    learning: Learning
    score: float
    relevance: float
    place: float
    quality: float
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningQuery:
    """What is searched for among learnings; `elsewhere`: in the other projects in place of this."""

    query: str
    limit: int = 50
    min_quality: int = 0
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """A file that was looked through with one question in mind."""

    path: str
    concept: str
    status: Literal["covered", "has_issues"]
    item: str = ""
    notes: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A coverage as it stands; `before` is what it was before this time, empty the first time."""

    coverage: Coverage
    agent: str
    at: Timestamp
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """How a run of the tests came out, in numbers; None is what was not told."""

    __test__ = False

    tests: int
    added: int | None = None
    removed: int | None = None
    files: int | None = None
    milliseconds: int | None = None
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestTrend:
    """How the numbers of tests moved: `runs` from the first to the last, and the differences.

    Differences are those of the last run to the one before it, and to the first that is shown.
    """

    __test__ = False

    runs: tuple[TestRun, ...]
    since_last: int
    since_first: int
    slower_ms: int | None

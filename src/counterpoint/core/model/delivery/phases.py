"""Phases that are handed over and judged, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from counterpoint.core.model.rows import Digest, Id, Name, Noun, Prose, Proses, Time, Word
from counterpoint.kernel.clock import Timestamp

Confidence = Literal["high", "medium", "low"]
Decision = Literal["approve", "reject"]
Fate = Literal["passed", "rejected", "stale", "superseded", "waiting", "left"]
"""What became of a claim: `left` if another process took it first, `waiting` for a verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseClaim(Noun):
    """Somebody's word that a phase of an item is finished; all but the last four fields stay.

    path, sha256, size: the text handed over, measured in `tree`; empty where commits are.
    commit: HEAD of the tree. base: the branch that commits go back to. processed: whether it has been acted upon; result: with what fate, and
    reasons why.
    """

    table: ClassVar[str] = "phase_claims"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "p"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number", "processed,number")

    id: Id
    number: int
    item: Id
    phase: Name
    version: int
    path: Name
    sha256: Digest
    size: int
    tree: Name
    branch: Name
    base: Name
    commit: Digest
    summary: Prose
    questions: Proses
    confidence: Name
    promote_to: Name
    next_phase: Name
    run: Name
    session: Id
    agent: Name
    created_at: Timestamp
    processed: bool
    processed_at: Time
    result: Word
    reasons: Proses


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseVerdict(Noun):
    """A reviewer's word about the text of a claim; all but the last three fields stay."""

    table: ClassVar[str] = "phase_verdicts"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "q"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number", "claim,number")

    id: Id
    number: int
    item: Id
    claim: Id
    phase: Name
    sha256: Name
    decision: Decision
    reason: Prose
    fixes: Prose
    run: Name
    session: Id
    agent: Name
    created_at: Timestamp
    processed: bool
    processed_at: Time
    result: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReport:
    """What somebody says when a phase is finished; version 0 and empty texts where commits are.

    sha256: what the caller believes the text to be; the server measures it anew.
    """

    phase: str
    summary: str
    version: int = 0
    path: str = ""
    sha256: str = ""
    questions: tuple[str, ...] = ()
    confidence: Confidence = "medium"
    promote_to: str = ""
    next_phase: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseJudgment:
    """What a reviewer says of the text with a hash; `fixes` only with a rejection."""

    phase: str
    sha256: str
    approves: bool
    reason: str = ""
    fixes: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A claim as it is kept; `again` if the same one was made before.

    stray: paths that differ from the last commit and that the phase was not to write.
    """

    claim: PhaseClaim
    needs_verdict: tuple[str, ...]
    again: bool
    stray: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What became of one claim, verdict or label: words for whoever watches.

    phases: those that the item went through, the one it is in now last.
    """

    item: str
    fate: str
    claim: str = ""
    phases: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """What the marker in a working tree says, and where that lies."""

    path: str
    item: str
    identifier: str
    branch: str
    base: str

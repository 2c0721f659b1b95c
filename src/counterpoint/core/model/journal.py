"""What was written down, measured and judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from counterpoint.core.model.rows import Prose, Proses
from counterpoint.kernel.clock import Timestamp

NoteKind = Literal["decision", "finding", "learning", "blocker", "milestone", "comment", "thought"]
"""What somebody writes down for others to read."""
RecordKind = Literal[
    NoteKind,
    "log",
    "checkpoint",
    "artifact",
    "coverage",
    "test_health",
]
"""The notes, and what a session reports of its work as it goes: a line of its log, a place to go on
from, a file it made, a file it looked through, how the tests stand."""
RECORD_KINDS: tuple[RecordKind, ...] = get_args(RecordKind)
Outcomes = Literal["done", "partial", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One appended line: a decision, a finding, a learning or a blocker.

    status: `open` or `resolved` for a blocker, empty for the others.
    details: a JSON object as text; what a dialect keeps beside the text.
    """

    table: ClassVar[str] = "records"
    key: ClassVar[tuple[str, ...]] = ("project", "id")

    project: str
    id: str
    number: int
    kind: RecordKind
    item: str
    session: str
    agent: str
    title: str
    body: Prose
    tags: tuple[str, ...]
    files: tuple[str, ...]
    details: Prose
    status: str
    resolution: Prose
    resolved_by: str
    created_at: Timestamp
    resolved_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPoint:
    """The tree as it was when a claim began; `files` is a JSON object path → SHA-256."""

    table: ClassVar[str] = "start_points"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "token")

    project: str
    item: str
    token: int
    method: str
    commit: str
    branch: str
    files: Prose
    taken_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one claim of an item ended; `evidence` is the measured comparison as JSON text."""

    table: ClassVar[str] = "outcomes"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "token")

    project: str
    item: str
    token: int
    session: str
    agent: str
    outcome: Outcomes
    summary: Prose
    achievements: Proses
    limitations: Proses
    next_steps: Proses
    evidence: Prose
    remarks: Proses
    ended_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A command that this server ran, signed.

    signature: Ed25519 (hex) over the canonical bytes of every field but `signature`, with each
        prose named by its SHA-256, as in the ledger.
    files: the tree after the command, as in a StartPoint, so that later edits are seen.
    """

    table: ClassVar[str] = "receipts"
    key: ClassVar[tuple[str, ...]] = ("project", "id")

    project: str
    id: str
    number: int
    item: str
    gate: str
    session: str
    agent: str
    argv: tuple[str, ...]
    folder: str
    command_sha256: str
    exit_code: int
    timed_out: bool
    output: Prose
    output_sha256: str
    output_bytes: int
    method: str
    commit: str
    files: Prose
    started_at: Timestamp
    ended_at: Timestamp
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A session's word that an item is finished, with the artifact that shows it."""

    table: ClassVar[str] = "submissions"
    key: ClassVar[tuple[str, ...]] = ("project", "id")

    project: str
    id: str
    number: int
    item: str
    session: str
    agent: str
    path: str
    sha256: str
    size: int
    commit: str
    summary: Prose
    created_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A reviewer's approval or rejection of what has the hash or commit `subject`."""

    table: ClassVar[str] = "verdicts"
    key: ClassVar[tuple[str, ...]] = ("project", "id")

    project: str
    id: str
    number: int
    item: str
    session: str
    agent: str
    decision: Literal["approve", "reject"]
    subject: str
    reason: Prose
    fixes: Proses
    created_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class StateEntry:
    """A remembered value: any JSON, as text, under a scope (`project`, `profile:<name>`, an item).

    category: a word to find the values of one sort by; empty without one.
    """

    table: ClassVar[str] = "state"
    key: ClassVar[tuple[str, ...]] = ("project", "scope", "name")

    project: str
    scope: str
    name: str
    value: Prose
    version: int
    agent: str
    updated_at: Timestamp
    category: str
    description: Prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A role an agent works in: what it is told and which tools it may call."""

    table: ClassVar[str] = "profiles"
    key: ClassVar[tuple[str, ...]] = ("project", "name")

    project: str
    name: str
    title: str
    instructions: Prose
    allowed_tools: tuple[str, ...]
    denied_tools: tuple[str, ...]
    updated_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was answered to a write under an idempotency key, so that a retry gets it again."""

    table: ClassVar[str] = "replies"
    key: ClassVar[tuple[str, ...]] = ("project", "agent", "name")

    project: str
    agent: str
    name: str
    request: str
    answer: Prose
    created_at: Timestamp

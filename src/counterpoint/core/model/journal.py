"""What was written down, measured and judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from counterpoint.core.model.rows import (
    Digest,
    Id,
    JsonText,
    Name,
    Names,
    Noun,
    Prose,
    Proses,
    Searched,
    Time,
    Word,
)
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
class Record(Noun):
    """One appended line: a decision, a finding, a learning or a blocker.

    status: `open` or `resolved` for a blocker, empty for the others.
    details: a JSON object as text; what a dialect keeps beside the text.
    """

    table: ClassVar[str] = "records"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "r"
    indexes: ClassVar[tuple[str, ...]] = (
        "number",
        "item,kind,number",
        "kind,status,number",
        "session,kind,number",
    )
    searched: ClassVar[Searched | None] = Searched(
        title=("title", "tags"), body="body", about="item", kind="kind"
    )

    id: Id
    number: int
    kind: RecordKind
    item: Id
    session: Id
    agent: Name
    title: Name
    body: Prose
    tags: Names
    files: Names
    details: JsonText
    status: Word
    resolution: Prose
    resolved_by: Name
    created_at: Timestamp
    resolved_at: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPoint(Noun):
    """The tree as it was when a claim began; `files` is a JSON object path → SHA-256."""

    table: ClassVar[str] = "start_points"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "token")

    item: Id
    token: int
    method: Word
    commit: Digest
    branch: Name
    files: JsonText
    taken_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Noun):
    """How one claim of an item ended; `evidence` is the measured comparison as JSON text."""

    table: ClassVar[str] = "outcomes"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "token")
    searched: ClassVar[Searched | None] = Searched(body="summary", about="item")

    item: Id
    token: int
    session: Id
    agent: Name
    outcome: Outcomes
    summary: Prose
    achievements: Proses
    limitations: Proses
    next_steps: Proses
    evidence: JsonText
    remarks: Proses
    ended_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(Noun):
    """A command that this server ran, signed.

    signature: Ed25519 (hex) over the canonical bytes of every field but `signature`, with each
        prose named by its SHA-256, as in the ledger.
    files: the tree after the command, as in a StartPoint, so that later edits are seen.
    """

    table: ClassVar[str] = "receipts"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "c"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number")

    id: Id
    number: int
    item: Id
    gate: Name
    session: Id
    agent: Name
    argv: Names
    folder: Name
    command_sha256: Digest
    exit_code: int
    timed_out: bool
    output: Prose
    output_sha256: Digest
    output_bytes: int
    method: Word
    commit: Digest
    files: JsonText
    started_at: Timestamp
    ended_at: Timestamp
    signature: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission(Noun):
    """A session's word that an item is finished, with the artifact that shows it."""

    table: ClassVar[str] = "submissions"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "s"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number")
    searched: ClassVar[Searched | None] = Searched(body="summary", about="item")

    id: Id
    number: int
    item: Id
    session: Id
    agent: Name
    path: Name
    sha256: Digest
    size: int
    commit: Digest
    summary: Prose
    created_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Noun):
    """A reviewer's approval or rejection of what has the hash or commit `subject`."""

    table: ClassVar[str] = "verdicts"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "v"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number")
    searched: ClassVar[Searched | None] = Searched(body="reason", about="item")

    id: Id
    number: int
    item: Id
    session: Id
    agent: Name
    decision: Literal["approve", "reject"]
    subject: Name
    reason: Prose
    fixes: Proses
    created_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class StateEntry(Noun):
    """A remembered value: any JSON, as text, under a scope (`project`, `profile:<name>`, an item).

    category: a word to find the values of one sort by; empty without one.
    """

    table: ClassVar[str] = "state"
    key: ClassVar[tuple[str, ...]] = ("project", "scope", "name")

    scope: Name
    name: Name
    value: JsonText
    version: int
    agent: Name
    updated_at: Timestamp
    category: Name
    description: Prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Noun):
    """A role an agent works in: what it is told and which tools it may call."""

    table: ClassVar[str] = "profiles"
    key: ClassVar[tuple[str, ...]] = ("project", "name")

    name: Name
    title: Name
    instructions: Prose
    allowed_tools: Names
    denied_tools: Names
    updated_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Noun):
    """What was answered to a write under an idempotency key, so that a retry gets it again."""

    table: ClassVar[str] = "replies"
    key: ClassVar[tuple[str, ...]] = ("project", "agent", "name")

    agent: Name
    name: Name
    request: Digest
    answer: JsonText
    created_at: Timestamp

"""Changes that are handed in: what differs, what was run, how risky it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from counterpoint.core.model.rows import Digest, Id, JsonText, Name, Names, Noun, Prose, Word
from counterpoint.kernel.clock import Timestamp

RequestStatus = Literal["open", "approved", "rejected", "superseded"]
DIFF_LIMIT = 5_000_000
"""Bytes that the text of a difference may have."""
GATE_OUTPUT = 4_000
"""Characters of a gate's output that are kept with a request; its receipt has the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest(Noun):
    """A branch as it was handed in: what it differs in from its base, and what was found out.

    source: `git` if the server measured the difference itself, `sent` if somebody gave it.
    tree: where the branch is worked on. head: the commit that was looked at; approval is of this one. gates: a JSON array of results,
    each with `verified`. risk: a JSON object with the parts and the reasons. remarks: in words.
    """

    table: ClassVar[str] = "change_requests"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "m"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number", "status,number")

    id: Id
    number: int
    item: Id
    branch: Name
    base: Name
    tree: Name
    head: Digest
    base_commit: Digest
    source: Literal["git", "sent"]
    diff: Prose
    files: int
    additions: int
    deletions: int
    paths: Names
    gates: JsonText
    risk_level: Word
    risk_score: int
    risk: JsonText
    remarks: Prose
    summary: Prose
    run: Name
    session: Id
    agent: Name
    status: RequestStatus
    reason: Prose
    fixes: Prose
    judge: Name
    created_at: Timestamp
    updated_at: Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedGate:
    """How a command ended, as an agent says."""

    command: str
    label: str
    exit_code: int
    output: str
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change as somebody hands it in; without a diff the server's own must do."""

    item: str
    branch: str = ""
    base: str = ""
    diff: str = ""
    gates: Sequence[ClaimedGate] = ()
    summary: str = ""
    run: str = ""
    tree: str = ""

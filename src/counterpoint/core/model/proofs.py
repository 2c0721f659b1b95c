"""What a thought is chained by, and what a session is sealed with."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import (
    Agent,
    Digest,
    Id,
    InSession,
    Noun,
    Number,
)
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.frozen import frozen

ThoughtType = Literal["plan", "analysis", "decision", "reflection"]
THOUGHT_TYPES: tuple[ThoughtType, ...] = get_args(ThoughtType)


@frozen
class Thought(Noun):
    """One link of the chain of thoughts about a task; the text stands in the record of its id.

    number: that of the record; it rises with every thought of the project.
    sequence: its place in the chain of its task, from 0.
    content: commitment of the text in hex. previous: hash of the thought before in the chain, zeros in
        the first. hash: what the next one names, and its leaf in the tree of its session; see
        core.ledger.thoughts for both.
    """

    table: ClassVar[str] = "thoughts"
    key: ClassVar[tuple[str, ...]] = ("project", "record")
    indexes: ClassVar[tuple[str, ...]] = ("number", "session,number")
    unique: ClassVar[tuple[str, ...]] = ("task,sequence",)

    record: Id
    number: Number
    version: int
    type: ThoughtType
    task: Id
    agent: Agent
    session: InSession
    sequence: int
    created_at: Timestamp
    content: Digest
    previous: Digest
    hash: Digest


@frozen
class Seal(Noun):
    """The end of a session for good: the tree over its thoughts, signed.

    root: of the tree over the thoughts in their order (RFC 6962), in hex; size: how many they are.
    checkpoint: a signed note of both, whose origin names the project and the session.
    """

    table: ClassVar[str] = "seals"
    key: ClassVar[tuple[str, ...]] = ("project", "session")
    indexes: ClassVar[tuple[str, ...]] = ("number",)

    session: Id
    number: int
    root: Digest
    size: int
    checkpoint: Digest
    sealed_at: Timestamp


@frozen
class Thinking:
    """A thought with the record that holds its text."""

    thought: Thought
    record: Record


@frozen
class Examined:
    """What a look at chains of thoughts, or at a seal, found.

    size: how many thoughts were read. broken: ids of the thoughts that something is wrong with, in
        the order found. redacted: how many texts are gone on purpose; the chains hold without them.
    root: of the tree over the thoughts read, in hex; empty if it was not asked for.
    faults: in words; a fault of no single thought (one is missing, the seal is wrong) is only here.
    """

    size: int
    broken: tuple[str, ...]
    redacted: int
    faults: tuple[CounterpointError, ...]
    root: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

"""Chains of thoughts: what is hashed of each, and what follows what.

What an agent thought about a task is a chain inside the project's ledger: each link names the hash
of the link before it. The text itself stands outside, by its commitment (see entry.py), so that a chain
holds when a text is taken away.

Layout. The bytes of a link are canonical JSON (see kernel.canonical), an object of these ten keys:

    agent      who thought it, not empty
    content    commitment of the text: SHA-256(0x02 || salt || UTF-8 bytes), 64 hex digits in lower case
    id         id of the record that holds the text, not empty
    previous   hash of the link before in the chain of the task; 64 zeros in the first
    sequence   place in the chain of the task, from 0
    session    id of the session it was thought in, or ""
    task       id of the item it is about, not empty
    timestamp  UTC, `YYYY-MM-DDTHH:MM:SS.mmmZ`
    type       `plan`, `analysis`, `decision` or `reflection`
    version    1

    hash       SHA-256(0x00 || bytes): so that the hash of a link is also its leaf in a tree (RFC 6962)

A link follows another of the same task if and only if (1) its sequence is one higher, (2) its
`previous` is the hash of the other, (3) its time is not before. Links of a task are a chain if and
only if the first has sequence 0 and GENESIS before it, and each other follows the one before.
The tree of a session has the session's links, of all tasks, as leaves in the order of writing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeGuard

import orjson

from counterpoint.core.ledger.entry import GENESIS, Parsed, is_digest, is_time
from counterpoint.core.model.proofs import THOUGHT_TYPES, Thought, ThoughtType
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import ChainBroken, InvalidInput, MalformedDocument

VERSION: Final = 1
_TEXTS = ("agent", "id", "task")
_TYPES = frozenset[str](THOUGHT_TYPES)
_SEQUENCE_LIMIT = 2**53
_EDITED = (
    "Compare the chain with a backup or an export: a thought was changed, removed, added or moved."
)


class Link(NamedTuple):
    """What is hashed of one thought, in the order of its bytes; see the layout above."""

    agent: str
    content: str
    id: str
    previous: str
    sequence: int
    session: str
    task: str
    timestamp: Timestamp
    type: ThoughtType
    version: int = VERSION

    def to_bytes(self) -> bytes:
        """Return the canonical bytes; InvalidInput for a text that is not Unicode."""
        try:
            return orjson.dumps(dict(zip(_FIELDS, self, strict=True)))
        except TypeError as fault:
            raise InvalidInput("a text is not valid Unicode") from fault

    @property
    def leaf(self) -> bytes:
        """The hash as 32 bytes: the leaf of this link in a tree (RFC 6962, section 2.1)."""
        return sha256(b"\x00" + self.to_bytes()).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> Link:
        """Return the link that the bytes are; MalformedDocument, naming all faults, if none."""
        try:
            value: Parsed = orjson.loads(data)
            # Inside the profile of canonical JSON it is by the types of its fields.
            exact = orjson.dumps(value, option=orjson.OPT_SORT_KEYS) == data
        except (TypeError, ValueError) as fault:
            raise MalformedDocument(f"no valid thought: {fault}") from fault
        if not exact or type(value) is not dict or value.keys() != _KEYS:
            raise MalformedDocument(
                f"a thought is a canonical JSON object with the keys {' '.join(sorted(_KEYS))}"
            )
        return _checked(value)


_FIELDS = Link._fields
_KEYS = frozenset(_FIELDS)


def link_of(thought: Thought) -> Link:
    """Return what is hashed of a thought."""
    return Link(
        id=thought.record,
        type=thought.type,
        task=thought.task,
        agent=thought.agent,
        session=thought.session,
        sequence=thought.sequence,
        timestamp=thought.created_at,
        content=thought.content,
        previous=thought.previous,
        version=thought.version,
    )


def link_of_row(record: str, columns: Mapping[str, Any]) -> Link:
    """Return the link that the row image of a thought holds, empty columns left out.

    MalformedDocument if the image is not that of a thought.
    """
    read = columns.get
    return _checked(
        {
            "agent": read("agent", ""),
            "content": read("content", ""),
            "id": record,
            "previous": read("previous", ""),
            "sequence": read("sequence", 0),
            "session": read("session", ""),
            "task": read("task", ""),
            "timestamp": read("created_at", ""),
            "type": read("type", ""),
            "version": read("version", 0),
        }
    )


class Chains:
    """The ends of the chains of all tasks, as far as links were read.

    gaps: whether links may be missing in between, as in the thoughts of one session.
    """

    def __init__(self, *, gaps: bool = False) -> None:
        """Begin before the first link."""
        self._gaps = gaps
        self._ends: dict[str, tuple[int, str, str]] = {}

    def __len__(self) -> int:
        """Return how many tasks have a chain."""
        return len(self._ends)

    def follow(self, link: Link, digest: str) -> Iterator[ChainBroken]:
        """Return how a link, with its hash in hex, departs from its chain; goes on from it."""
        sequence, before, time = self._ends.get(link.task, (-1, GENESIS, ""))
        # Also where it is wrong, so that one edit is one fault and not one for each later thought.
        self._ends[link.task] = link.sequence, digest, link.timestamp
        skips = self._gaps and link.sequence > sequence + 1
        if link.sequence != sequence + 1 and not skips:
            yield _broken(link, f"is thought {link.sequence} of it instead of {sequence + 1}")
        elif link.previous != before and not skips:
            yield _broken(link, "does not carry the hash of the thought before it")
        elif link.timestamp < time:
            yield _broken(link, "is older than the thought before it")


def _broken(link: Link, how: str) -> ChainBroken:
    return ChainBroken(
        f"thought {link.id} in the chain of {link.task} {how}",
        hint=_EDITED,
        thought=link.id,
        task=link.task,
    )


def _is_type(value: Parsed) -> TypeGuard[ThoughtType]:
    """Return whether a JSON value is one of the sorts of thoughts."""
    return type(value) is str and value in _TYPES


def _checked(value: dict[str, Any]) -> Link:
    """Return the link of an object with just the ten keys, in their order; MalformedDocument."""
    agent, content, name, previous, sequence, session, task, time, sort, version = value.values()
    # One look at what is nearly always right: each thought under check comes through here.
    if not (
        type(agent) is type(name) is type(task) is type(session) is str
        and agent
        and name
        and task
        and type(sequence) is type(version) is int
        and 0 <= sequence < _SEQUENCE_LIMIT
        and version == VERSION
        and is_digest(content)
        and is_digest(previous)
        and _is_type(sort)
        and is_time(time)
    ):
        faults = list(_field_faults(value))
        raise MalformedDocument("no valid thought: " + "; ".join(faults), faults=faults)
    return Link(agent, content, name, previous, sequence, session, task, time, sort, version)


def _field_faults(value: Mapping[str, Any]) -> Iterator[str]:
    """Say in words where the fields of a link depart from the layout."""
    for name in _TEXTS:
        if type(value[name]) is not str or not value[name]:
            yield f"`{name}` is not a text with at least one letter"
    if type(value["session"]) is not str:
        yield "`session` is not a text"
    for name in ("content", "previous"):
        if not is_digest(value[name]):
            yield f"`{name}` is not 64 hex digits in lower case"
    if type(value["sequence"]) is not int or not 0 <= value["sequence"] < _SEQUENCE_LIMIT:
        yield "`sequence` is not an integer from 0 below 2^53"
    if not is_time(value["timestamp"]):
        yield "`timestamp` is not UTC with milliseconds"
    if not _is_type(value["type"]):
        yield f"`type` is not one of {', '.join(THOUGHT_TYPES)}"
    if type(value["version"]) is not int or value["version"] != VERSION:
        yield f"`version` is not {VERSION}"

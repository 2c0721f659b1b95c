"""Entries of every kind, and everything that makes one invalid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from hypothesis import strategies as st

from counterpoint.core.ledger.entry import Entry, RowImage, refer
from counterpoint.core.model.access import Actor, Principal
from counterpoint.kernel.clock import Timestamp

KEYS = st.text(st.characters(codec="ascii"), max_size=8).filter(lambda key: key[:1] != "$")
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1)
TEXTS = st.text(max_size=12)
REFERENCES = st.binary(min_size=32, max_size=32).map(lambda digest: refer(digest.hex()))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | REFERENCES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
COLUMNS = st.dictionaries(KEYS, VALUES, max_size=4)
ROWS = st.builds(
    RowImage,
    table=st.text(min_size=1, max_size=8),
    key=st.dictionaries(KEYS, TEXTS | NUMBERS, max_size=2),
    values=COLUMNS,
    whole=st.booleans(),
)
ENTRIES = st.builds(
    Entry,
    project=st.text(min_size=1, max_size=8),
    sequence=st.integers(0, 2**53 - 1),
    time=st.just(Timestamp("2024-02-29T23:59:59.999Z")),
    actor=st.builds(
        Actor,
        kind=st.sampled_from(["agent", "human", "system"]),
        name=st.text(min_size=1, max_size=8),
        profile=TEXTS,
        session=TEXTS,
        principal=st.none()
        | st.builds(
            Principal,
            strength=st.sampled_from(["person", "credential", "connection"]),
            id=st.text(min_size=1, max_size=8),
        ),
    ),
    action=st.from_regex(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+", fullmatch=True),
    subject=TEXTS,
    facts=COLUMNS,
    rows=st.lists(ROWS, max_size=3).map(tuple),
    previous=st.binary(min_size=32, max_size=32).map(bytes.hex),
)

FAULTS: list[tuple[str, Any]] = [
    ("v", 1),
    ("v", 3),
    ("v", True),
    ("v", 2.0),
    ("v", "2"),
    ("p", ""),
    ("p", 7),
    ("n", -1),
    ("n", "0"),
    ("n", True),
    ("t", 0),
    ("t", "2026-11-20 10:00:00.000Z"),
    ("t", "2026-11-20T10:00:00Z"),
    ("t", "2026-11-20T10:00:00.000+00:00"),
    ("t", "2026-02-30T10:00:00.000Z"),
    ("w", []),
    ("w", {"k": "agent"}),
    ("w", {"k": "agent", "n": ""}),
    ("w", {"k": "robot", "n": "ada"}),
    ("w", {"k": "agent", "n": "ada", "p": None}),
    ("w", {"k": "agent", "n": "ada", "s": ""}),
    ("w", {"k": "agent", "n": "ada", "x": "y"}),
    ("w", {"k": "agent", "n": "ada", "i": "p-1"}),
    ("w", {"k": "agent", "n": "ada", "i": {"i": "p-1"}}),
    ("w", {"k": "agent", "n": "ada", "i": {"i": "", "k": "person"}}),
    ("w", {"k": "agent", "n": "ada", "i": {"i": "p-1", "k": "rumour"}}),
    ("a", "started"),
    ("a", "Task.started"),
    ("a", "task.started\n"),
    ("a", None),
    ("s", None),
    ("s", ""),
    ("f", []),
    ("f", [1]),
    ("f", {}),
    ("r", {}),
    ("r", {"k": 1, "t": 2, "v": 3}),
    ("r", "ktv"),
    ("r", []),
    ("r", {"t": "items"}),
    ("r", [None]),
    ("r", [{"t": "items", "k": {"id": "1"}}]),
    ("r", [{"t": "items", "k": {"id": "1"}, "v": {}, "c": {}}]),
    ("r", [{"t": "", "k": {"id": "1"}, "v": {}}]),
    ("r", [{"t": 1, "k": {"id": "1"}, "v": {}}]),
    ("r", [{"t": "items", "k": [], "v": {}}]),
    ("r", [{"t": "items", "k": {"id": None}, "v": {}}]),
    ("r", [{"t": "items", "k": {"id": True}, "v": {}}]),
    ("r", [{"t": "items", "k": {"id": "1"}, "v": []}]),
    ("r", [{"t": "items", "k": {"id": "1"}, "c": None}]),
    ("h", "0" * 63),
    ("h", "A" * 64),
    ("h", 0),
]

OUTSIDE: list[dict[str, Any]] = [
    {"f": {"share": 0.5}},
    {"f": {"many": 2**53}},
    {"f": {"many": -(2**53)}},
    {"f": {"größe": 1}},
    {"f": {"deep": [[0.5]]}},
    {"n": 2**53},
    {"r": [{"t": "items", "k": {"id": 2**53}, "v": None}]},
    {"r": [{"t": "items", "k": {"id": 1}, "v": {"share": 1.5}}]},
    {"r": [{"t": "items", "k": {"id": 1}, "c": {"share": [1.5]}}]},
]
NO_REFERENCES: list[dict[str, Any]] = [
    {"$text": "A" * 64},
    {"$text": "0" * 62 + " 0"},
    {"$text": "0" * 63},
    {"$text": 0},
    {"$text": None},
    {"$text": {"$text": "0" * 64}},
    {"$text": "0" * 64, "more": 1},
    {"$": 1, "a": 1},
    {"a": 1, "$a": 1},
    {"$salted": "0" * 64},
]
"""Objects with a key that begins with `$` and are no references."""
SPELLINGS: list[Callable[[bytes], bytes]] = [
    lambda data: data + b"\n",
    lambda data: b" " + data,
    lambda data: data.replace(b":", b": ", 1),
    lambda data: data.replace(b'"v":2', b'"v":2,"v":2'),
    lambda data: data.replace(b'"n":0', b'"n":-0'),
    lambda data: data.replace(b"ada", b"\\u0061da"),
    lambda data: orjson.dumps(dict(reversed(orjson.loads(data).items()))),
    lambda data: data.replace(b"ada", b"\xff"),
    lambda _: b"",
    lambda _: b"[" * 500 + b"]" * 500,
]


def dump(value: Any) -> bytes:
    """Answer sorted JSON bytes, also of what no entry may hold."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)

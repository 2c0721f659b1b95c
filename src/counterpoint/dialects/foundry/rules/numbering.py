"""How specs and their nodes are numbered and named, and in which order they stand.

A spec is `{slug}-{YYYY-MM-DD}-{NNN}`; NNN counts the specs of a name on a day. A node's id tells where it was made:
`phase-2`, `task-2-3` in it, `task-2-3-1` below that, `verify-2-1`, `research-2-1`. It keeps its id when it moves.
The next number is one more than the highest there is, so that no number means two things while both can be seen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

SLUG_LIMIT: Final = 80
_APART: Final = re.compile(r"[^a-z0-9]+")
_DIGITS: Final = re.compile(r"([0-9]+)")
_NODE_ID: Final = re.compile(r"(?:phase|task|verify|research)-([0-9]+(?:-[0-9]+)*)")
_SPEC_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]*-\d{4}-\d{2}-\d{2}-\d{3,}", re.ASCII)
_COUNTED: Final = 9
"""Digits that a number may have to be counted on from."""
_PREFIXES: Final = {"verify": "verify", "research": "research"}

SortKey = tuple[tuple[str | tuple[int, str], ...], str]


def natural_key(name: str) -> SortKey:
    """Return a sort key for ids with numbers as numbers: `task-2-2` before `task-2-10`."""
    parts: list[str | tuple[int, str]] = []
    for index, part in enumerate(_DIGITS.split(name)):
        # The length comes first, so that a number of any size is compared without being read.
        digits = part.lstrip("0")
        parts.append((len(digits), digits) if index % 2 else part)
    return tuple(parts), name


def slug_of(name: str) -> str:
    """Return the slug of a name: its letters and digits without accents, joined by `-`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return _APART.sub("-", plain).strip("-")[:SLUG_LIMIT].strip("-") or "spec"


def is_spec_id(text: str) -> bool:
    """Return whether a text has the form of a spec's id."""
    return _SPEC_ID.fullmatch(text) is not None


def spec_id_start(name: str, day: str) -> str:
    """Return the beginning of the ids of specs of a name that are made on a day, YYYY-MM-DD."""
    return f"{slug_of(name)}-{day}-"


def next_spec_id(name: str, day: str, taken: Iterable[str]) -> str:
    """Return the first free id of a spec; taken: existing ids, others may be among them."""
    start = spec_id_start(name, day)
    return f"{start}{_highest(start, taken) + 1:03}"


def phase_id(number: int) -> str:
    """Return the id of a phase."""
    return f"phase-{number}"


def next_phase_number(taken: Iterable[str]) -> int:
    """Return the number of the next phase; taken: the ids of the phases, others may be among them."""
    return _highest("phase-", taken) + 1


def node_start(node_type: str, parent: str) -> str:
    """Return the beginning of the ids of nodes of a type below a parent.

    A parent whose id has no number, because another dialect made it, counts as number 0, which no phase has.
    """
    match = _NODE_ID.fullmatch(parent)
    return f"{_PREFIXES.get(node_type, 'task')}-{match[1] if match else '0'}-"


def next_node_id(node_type: str, parent: str, taken: Iterable[str]) -> str:
    """Return the id of the next node of a type; taken: the ids in its phase, others may be among them."""
    start = node_start(node_type, parent)
    return f"{start}{_highest(start, taken) + 1}"


def depth_in(node_id: str) -> int:
    """Return how deep a node was made, by the hyphens of its id."""
    return node_id.count("-")


def _highest(start: str, taken: Iterable[str]) -> int:
    """Return the highest number that follows a start and ends an id; 0 without one."""
    ends = (name[len(start) :] for name in taken if name.startswith(start))
    return max((int(end) for end in ends if end.isdecimal() and len(end) <= _COUNTED), default=0)

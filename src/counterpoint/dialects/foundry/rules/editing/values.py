"""Values that are given for a node: where each is kept, and which are not given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from counterpoint.dialects.foundry.nouns.nodes import DEPENDS, TYPE
from counterpoint.dialects.foundry.rules.shape import (
    BLOCKING_MODES,
    CATEGORIES,
    COMPLEXITIES,
    RESEARCH_TYPES,
    VERIFICATION_TYPES,
    has_text,
    is_one_of,
    items_of,
    quoted,
    texts_of,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

WORKED_OUT: Final = frozenset(
    (
        *(TYPE, DEPENDS, "status", "parent", "children", "dependencies", "requirements"),
        *("completed_at", "skipped", "blocked_at", "blocker_type"),
        *("blocker_description", "blocker_ticket", "total_tasks", "completed_tasks"),
    )
)
"""What is worked out, or changed by actions of its own."""
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "task_category": CATEGORIES,
    "complexity": COMPLEXITIES,
    "verification_type": VERIFICATION_TYPES,
    "research_type": RESEARCH_TYPES,
    "blocking_mode": BLOCKING_MODES,
}
_HOURS: Final = ("estimated_hours", "actual_hours")
_KEYS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What a node is given, by where it is kept; None: it stays as it is."""

    title: str | None
    body: str | None
    file_path: str | None
    acceptance: tuple[str, ...] | None
    kept: Mapping[str, Json]


def values_of(changes: Mapping[str, Json]) -> Values:
    """Return values for a node by where they are kept; InvalidInput names every fault."""
    faults = [fault for name, value in changes.items() if (fault := _fault(name, value))]
    if len(changes) > _KEYS:
        faults.append(f"there are more than {_KEYS} values")
    if faults:
        raise InvalidInput(
            "; ".join(faults[:20]), hint="Nothing was changed.", faults=[*faults[:50]]
        )

    def text(name: str) -> str | None:
        value = changes.get(name)
        return value if isinstance(value, str) else None

    own = {"title", "description", "file_path", "acceptance_criteria"}
    criteria = changes.get("acceptance_criteria")
    return Values(
        title=text("title"),
        body=text("description"),
        file_path=text("file_path"),
        acceptance=None if criteria is None else tuple(texts_of(criteria)),
        kept={name: value for name, value in changes.items() if name not in own},
    )


def _fault(name: str, value: Json) -> str:
    if name in WORKED_OUT:
        return f"{quoted(name)} is not given: it is worked out, or has an action of its own"
    if name in _WORDS and value is not None and not is_one_of(value, _WORDS[name]):
        return f"{name} is none of: {', '.join(_WORDS[name])}"
    if name in _HOURS and value is not None and not _is_duration(value):
        return f"{name} is no number from 0"
    is_named = name in {"title", "file_path"}
    if (is_named and not has_text(value)) or (name == "description" and not isinstance(value, str)):
        return f"{name} is no text"
    if name == "acceptance_criteria" and not _are_texts(value):
        return f"{name} is no list of texts"
    return "" if 0 < len(name) <= _KEYS else "a name of a value is empty or too long"


def _is_duration(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _are_texts(value: Json) -> bool:
    texts = texts_of(value)
    return isinstance(value, list) and len(texts) == len(items_of(value)) and all(texts)

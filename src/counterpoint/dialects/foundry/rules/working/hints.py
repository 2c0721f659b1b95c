"""What an agent is told beside a task: how hard it may be, and what to commit."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Final, Literal

from counterpoint.dialects.foundry.rules.shape import COMPLEXITIES, text_of
from counterpoint.kernel.canonical import Json

Cadence = Literal["task", "phase", "manual"]
"""After what a commit is suggested."""

ASKING_CATEGORIES: Final = frozenset({"decision", "investigation"})
"""What a person is likely to be asked about."""
_MORE_WORDS: Final = {"simple": "low", "moderate": "medium", "complex": "high"}
_HIGH_HOURS: Final = 2.0
_MEDIUM_HOURS: Final = 0.5
_SUBJECT_LIMIT: Final = 72
"""Letters that the first line of a commit message has at most, by custom."""


def auto_mode_hints(
    metadata: Mapping[str, Json], sibling_types: Collection[str] = ()
) -> dict[str, Json]:
    """Return what helps to decide whether to go on without a person; sibling_types: of the nodes beside it."""
    category = text_of(metadata.get("task_category")).strip().lower()
    return {
        "estimated_complexity": estimated_complexity(metadata),
        "has_sibling_verify": "verify" in sibling_types,
        "may_require_user_input": category in ASKING_CATEGORIES,
    }


def estimated_complexity(metadata: Mapping[str, Json]) -> str:
    """Return low, medium or high: as it is said, else by the hours it is estimated at, else medium."""
    word = text_of(metadata.get("complexity")).strip().lower()
    word = _MORE_WORDS.get(word, word)
    if word in COMPLEXITIES:
        return word
    hours = metadata.get("estimated_hours")
    if isinstance(hours, bool) or not isinstance(hours, int | float) or math.isnan(hours):
        return "medium"
    if hours > _HIGH_HOURS:
        return "high"
    return "medium" if hours > _MEDIUM_HOURS else "low"


def position_label(position: int, total: int) -> str:
    """Return which of its parent's children a node is; position: from 1."""
    return f"{position} of {total}"


def commit_hint(
    cadence: str, task_id: str, task_title: str, phase_id: str = "", phase_title: str = ""
) -> dict[str, Json]:
    """Return whether to commit now that a task is complete, and how to name it.

    cadence: `task`, `phase`, or anything else for never. phase_id: of the phase that is complete with it; empty if
    none is.
    """
    if cadence == "task":
        return _suggested("task", f"{task_id}: {task_title}")
    if cadence == "phase" and phase_id:
        return _suggested("phase", f"{phase_id}: {phase_title}")
    return {"suggest_commit": False, "commit_scope": None, "commit_message_hint": None}


def _suggested(scope: str, message: str) -> dict[str, Json]:
    line = " ".join(message.split())
    if len(line) > _SUBJECT_LIMIT:
        line = f"{line[: _SUBJECT_LIMIT - 1].rstrip()}…"
    return {"suggest_commit": True, "commit_scope": scope, "commit_message_hint": line}

"""What tasks may hold, how they go into batches, and what is told about them.

Choosing tasks that can be worked on at the same time.
Two tasks are independent if neither depends on the other, hard or soft, and if the files they name cannot be the
same. A task that names no file may touch any, so it is worked on alone. The first task is given even if it is
larger than the budget: left out, it would never be given.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

from counterpoint.core.model.answers import Obstacle
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Gate
from counterpoint.core.rules.areas import overlaps
from counterpoint.dialects.foundry.models.specs import DEPENDS, TYPE
from counterpoint.dialects.foundry.nodes.rules.progress import status_of
from counterpoint.dialects.foundry.nodes.rules.shape import (
    BLOCKING_MODES,
    CATEGORIES,
    COMPLEXITIES,
    RESEARCH_TYPES,
    VERIFICATION_TYPES,
    has_text,
    is_one_of,
    items_of,
    quoted,
    text_of,
    texts_of,
)
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.errors import InvalidInput
from counterpoint.kernel.plurals import counted

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


MAX_TASKS: Final = 3
TOKEN_BUDGET: Final = 50_000
_LETTERS_PER_TOKEN: Final = 3
_MARGIN: Final = 1.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A task that could be started now; needs: the ids it depends on; letters: of all its texts."""

    id: str
    file_path: str = ""
    needs: frozenset[str] = frozenset()
    letters: int = 0

    @property
    def tokens(self) -> int:
        """How many tokens its texts take, estimated high."""
        return token_estimate(self.letters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Tasks that were chosen, in their order; why: for each other candidate, why not."""

    chosen: tuple[Candidate, ...]
    why: Mapping[str, str]

    @property
    def tokens(self) -> int:
        """How many tokens all texts together take."""
        return sum(candidate.tokens for candidate in self.chosen)


def token_estimate(letters: int) -> int:
    """Return how many tokens so many letters take, estimated high."""
    return math.ceil(letters / _LETTERS_PER_TOKEN * _MARGIN)


def choose(
    candidates: Iterable[Candidate],
    max_tasks: int = MAX_TASKS,
    token_budget: int = TOKEN_BUDGET,
) -> Batch:
    """Return the first candidates that are independent of each other, within both limits.

    A candidate that does not fit is passed over, and the next one is looked at.
    """
    chosen: list[Candidate] = []
    why: dict[str, str] = {}
    tokens = 0
    for candidate in candidates:
        reason = _reason(candidate, chosen, max_tasks)
        if not reason and chosen and tokens + candidate.tokens > token_budget:
            reason = f"the budget of {token_budget} tokens does not hold it as well"
        if reason:
            why[candidate.id] = reason
        else:
            chosen.append(candidate)
            tokens += candidate.tokens
    return Batch(chosen=tuple(chosen), why=why)


def dependency_graph(
    targets: Sequence[str], nodes: Sequence[Mapping[str, Json]], edges: Iterable[tuple[str, str]]
) -> dict[str, Json]:
    """Return tasks and what they depend on; edges: what comes first and what waits for it.

    targets: the ids of the tasks the graph is about. nodes: with id, title, status and file_path.
    """
    chosen = frozenset(targets)
    nodes_by_id = {str(node["id"]): node for node in nodes}
    return {
        "nodes": [
            {
                "id": name,
                "title": node.get("title", ""),
                "status": node.get("status", ""),
                "file_path": node.get("file_path") or None,
                "is_target": name in chosen,
            }
            for name, node in nodes_by_id.items()
        ],
        "edges": [
            {"from": first, "to": after}
            for first, after in dict.fromkeys(edges)
            if first in nodes_by_id and after in nodes_by_id
        ],
    }


def _reason(candidate: Candidate, chosen: Sequence[Candidate], max_tasks: int) -> str:
    """Return why a candidate is not chosen beside others; empty if it may be."""
    if len(chosen) >= max_tasks:
        return f"the batch has {counted(max_tasks, 'task')}"
    for other in chosen:
        if other.id in candidate.needs or candidate.id in other.needs:
            return f"it and {other.id} depend on each other"
        if not candidate.file_path or not other.file_path:
            alone = candidate if not candidate.file_path else other
            return f"{alone.id} names no file, so it is worked on alone"
        if overlaps(candidate.file_path, other.file_path):
            return f"{candidate.file_path} and {other.file_path} of {other.id} overlap"
    return ""


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


KEPT_BYTES: Final = 60_000
"""How much JSON the entries take together."""
TEXT_BYTES: Final = 28_000
"""The most JSON that each of the two texts of one entry takes."""


def newest(entries: Sequence[Json], most: int) -> list[Json]:
    """Return the last of some entries, as many as fit; the newest is among them in any case."""
    newest_entries = list(entries[-most:])
    while len(newest_entries) > 1 and len(dump_any(newest_entries).encode()) > KEPT_BYTES:
        newest_entries = newest_entries[1:]
    return newest_entries


def fits(text: str) -> bool:
    """Return whether an entry can keep a text beside another."""
    return len(dump_any(text).encode()) <= TEXT_BYTES


def refuse_large(text: str, what: str) -> None:
    """Raise InvalidInput for a text that no entry could keep whole."""
    if not fits(text):
        raise InvalidInput(
            f"the {what} is too long: it has more than {TEXT_BYTES} bytes as JSON",
            hint="Say it in short, and the rest in an entry of the journal.",
        )


_HOUR: Final = 3_600_000
_SHOWN: Final = 200


def waits_text(obstacle: Obstacle, names: Mapping[str, str]) -> str:
    """Return one thing in the way of a node; names: the ids of nodes by item."""
    thing, about = obstacle.thing, names[obstacle.item.id]
    if isinstance(thing, Gate):
        return f"{about} waits for its {thing.name}"
    if isinstance(thing, Record):
        return f"{about} is blocked: {thing.body[:_SHOWN]}"
    if obstacle.kind == "parked":
        return f"{about} is put off"
    return f"{about} waits for {names[thing.id]} ({status_of(thing.category)})"


def hours_between(start: Json, end: str) -> float | None:
    """Return the hours from one time to another; None unless both are times in that order."""
    if isinstance(start, str):
        with suppress(ValueError, TypeError):
            passed = elapsed_ms(Timestamp(start), Timestamp(end))
            return round(passed / _HOUR, 3) if passed >= 0 else None
    return None


def is_stale(since: str, now: Timestamp, hours: float) -> bool:
    """Return whether something was begun longer ago than so many hours; what was never begun is not."""
    return bool(since) and elapsed_ms(Timestamp(since), now) > hours * _HOUR

"""Choosing tasks that can be worked on at the same time.

Two tasks are independent if neither depends on the other, hard or soft, and if the files they name cannot be the
same. A task that names no file may touch any, so it is worked on alone. The first task is given even if it is
larger than the budget: left out, it would never be given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from counterpoint.core.rules.areas import overlaps
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.plurals import counted

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

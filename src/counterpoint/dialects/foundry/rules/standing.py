"""Statuses and types of items in the words of specs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, get_args

from counterpoint.core.model.lifecycles import category_of, tables_of_work
from counterpoint.core.model.work import Item
from counterpoint.dialects.foundry.nouns.nodes import (
    ARCHIVED,
    PENDING,
    REMOVED,
    TYPE,
    Folder,
    NodeType,
    Status,
    Tally,
)
from counterpoint.kernel.canonical import Json

_STATUSES: Final[Mapping[str, Status]] = {
    "open": "pending",
    "active": "in_progress",
    "review": "in_progress",
    "done": "completed",
    "dropped": "blocked",
}
_FOLDERS: Final[Mapping[str, Folder]] = {
    "open": "pending",
    "active": "active",
    "review": "active",
    "done": "completed",
    "dropped": "archived",
}
_TYPES: Final[tuple[NodeType, ...]] = get_args(NodeType)


def status_of(category: str, *, is_blocked: bool = False) -> Status:
    """Return the status of a node in a category; is_blocked: whether it has an open blocker.

    What failed stands as blocked: somebody has to decide what becomes of it.
    """
    status = _STATUSES[category]
    return "blocked" if is_blocked and status != "completed" else status


def state_words() -> dict[str, str]:
    """Return the word for each state of any work."""
    words: dict[str, str] = {
        state: status_of(category)
        for table in tables_of_work()
        for state, category in table.categories.items()
    }
    return {**words, REMOVED: "removed"}


def rolled_up(own: Status, tally: Tally, *, is_begun: bool, is_gated: bool = False) -> Status:
    """Return the status of a node with children.

    is_begun: whether somebody is at one of them. is_gated: whether a closed gate holds its own end back.
    """
    if own == "blocked":
        return own
    if tally.total and tally.completed == tally.total:
        return "in_progress" if is_gated and own != "completed" else "completed"
    return "in_progress" if is_begun or tally.completed or own == "in_progress" else "pending"


def folder_of(category: str, labels: Collection[str] = ()) -> Folder:
    """Return the folder of a spec whose root is in a category and has some labels."""
    if ARCHIVED in labels:
        return "archived"
    folder = _FOLDERS[category]
    return "pending" if folder == "active" and PENDING in labels else folder


def type_of(item: Item, attributes: Mapping[str, Json], *, is_in_task: bool = False) -> NodeType:
    """Return the type of a node; is_in_task: whether its parent is a task."""
    if not item.parent:
        return "spec"
    type_name = attributes.get(TYPE)
    if isinstance(type_name, str) and type_name in _TYPES:
        return type_name
    if not item.is_workable:
        return "phase"
    return "subtask" if is_in_task else "task"


def is_node(item: Item) -> bool:
    """Whether an item is a node of its spec still."""
    return item.status != REMOVED or not item.parent


def count_states(states: Mapping[str, int]) -> Tally:
    """Return the tally of items, given their number in each state."""
    remaining = {status: count for status, count in states.items() if status != REMOVED}
    done = sum(count for status, count in remaining.items() if category_of(status) == "done")
    return Tally(sum(remaining.values()), done)

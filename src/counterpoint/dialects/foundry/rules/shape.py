"""The words and limits of a spec's document, and how untrusted JSON is read.

A document is any JSON: whatever is not of the type that is asked for reads as empty. Nothing here recurses, so
that no document is deep enough to stop the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeGuard, cast, get_args

from counterpoint.dialects.foundry.nouns.nodes import Folder, NodeType, Status
from counterpoint.kernel.canonical import Json, object_of

Document = Mapping[str, Json]
Node = dict[str, Json]
Nodes = Mapping[str, Node]

NODE_TYPES: Final[tuple[NodeType, ...]] = get_args(NodeType)
LEAF_TYPES: Final = frozenset({"task", "subtask", "verify", "research"})
"""What counts as one task if nothing is below it; the others then count as none."""
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
SPEC_STATUSES: Final = (*STATUSES, "archived")
CATEGORIES: Final = ("investigation", "implementation", "refactoring", "decision", "research")
FILE_CATEGORIES: Final = frozenset({"implementation", "refactoring"})
"""Whose tasks need a `file_path`."""
COMPLEXITIES: Final = ("low", "medium", "high")
LEVELS: Final = ("low", "medium", "high")
"""How likely a risk is, and how bad."""
VERIFICATION_TYPES: Final = ("run-tests", "fidelity", "manual")
VERIFICATION_RESULTS: Final = ("PASSED", "FAILED", "PARTIAL")
RESEARCH_TYPES: Final = ("chat", "consensus", "thinkdeep", "ideate", "deep-research")
BLOCKING_MODES: Final = ("none", "soft", "hard")
BLOCKER_TYPES: Final = ("dependency", "technical", "resource", "decision")
REQUIREMENT_TYPES: Final = ("acceptance", "technical", "constraint")
JOURNAL_TYPES: Final = ("status_change", "deviation", "blocker", "decision", "note")
RUN_TYPES: Final = ("session", "step")
"""The types of entries that an unattended run writes, and no caller."""
FOLDERS: Final[tuple[Folder, ...]] = get_args(Folder)
DEPENDENCY_TYPES: Final = ("blocks", "blocked_by", "depends")
TEMPLATES: Final = {"empty": "A spec without phases; add them with `phase-add`."}

TEXT_LIMIT: Final = 100_000
"""Letters that one input may have."""
FIELD_LIMIT: Final = 10_000
"""Letters that a text of a document may have."""
LIST_LIMIT: Final = 1_000
NESTING_LIMIT: Final = 10
KEYS_LIMIT: Final = 100
REQUIREMENT_LIMIT: Final = 50
_QUOTE_LIMIT: Final = 80
_NAME_LIMIT: Final = 200

NODE_FIELDS: Final = (
    *("type", "title", "status", "parent", "children"),
    *("total_tasks", "completed_tasks", "metadata"),
)
"""The fields that every node has."""
SPEC_FIELDS: Final = ("spec_id", "generated", "last_updated", "hierarchy")
"""The fields that every document has."""


def schema() -> dict[str, Json]:
    """Return the words that the format knows, as `spec schema` tells them."""
    return {
        "templates": [
            {"name": name, "description": description} for name, description in TEMPLATES.items()
        ],
        "node_types": list(NODE_TYPES),
        "statuses": list(STATUSES),
        "task_categories": list(CATEGORIES),
        "verification_types": list(VERIFICATION_TYPES),
        "journal_entry_types": list(JOURNAL_TYPES),
        "blocker_types": list(BLOCKER_TYPES),
        "status_folders": list(FOLDERS),
    }


def nodes_of(document: Json) -> Nodes:
    """Return the nodes of a document that are objects, in its order."""
    return {
        name: cast("Node", node)
        for name, node in object_of(object_of(document).get("hierarchy")).items()
        if isinstance(node, dict)
    }


def metadata_of(node: Mapping[str, Json]) -> dict[str, Json]:
    """Return the metadata of a node or a document."""
    return object_of(node.get("metadata"))


def items_of(value: Json) -> list[Json]:
    """Return a value that is a list; an empty one in place of any other."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def texts_of(value: Json) -> list[str]:
    """Return the texts of a list, in its order."""
    return [item for item in items_of(value) if isinstance(item, str)]


def text_of(value: Json) -> str:
    """Return a value that is a text; an empty one in place of any other."""
    return value if isinstance(value, str) else ""


def has_text(value: Json) -> bool:
    """Return whether a value is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def is_one_of(value: Json, words: Iterable[str]) -> bool:
    """Return whether a value is one of some words; it may be of any type."""
    return isinstance(value, str) and value in words


def is_count(value: Json) -> TypeGuard[int]:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def dependencies_of(node: Mapping[str, Json], kind: str) -> list[str]:
    """Return the ids that a node has under one type of dependency."""
    return texts_of(object_of(node.get("dependencies")).get(kind))


def description_of(metadata: Mapping[str, Json]) -> str:
    """Return what describes a node: `description`, or `details` as a text or as lines."""
    for name in ("description", "details"):
        if has_text(text := metadata.get(name)):
            return text_of(text)
    return "\n".join(line for line in texts_of(metadata.get("details")) if line.strip())


def word_of(value: Json) -> str:
    """Return a text as a word of the format would be written: `In Progress` as `in_progress`."""
    return re.sub(r"[\s\-]+", "_", text_of(value).strip().lower())


def quoted(value: Json) -> str:
    """Return a value as a message names it, in a few letters whatever it is."""
    if isinstance(value, str):
        cut = value if len(value) <= _QUOTE_LIMIT else f"{value[: _QUOTE_LIMIT - 1]}…"
        return repr(cut)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return "a number"
    return "an object" if isinstance(value, dict) else "a list"


def place(name: str, *fields: str) -> str:
    """Return where something lies: an id, cut if it is very long, and the fields below it."""
    return ".".join((name[:_NAME_LIMIT], *fields))


def same(first: Json, other: Json) -> bool:
    """Return whether two JSON values are the same; true and 1 are not, 1 and 1.0 are."""
    waiting: list[tuple[Any, Any]] = [(first, other)]
    while waiting:
        one_value, right = waiting.pop()
        if one_value is right:
            continue
        if isinstance(one_value, dict) and isinstance(right, dict):
            own, theirs = cast("Document", one_value), cast("Document", right)
            if own.keys() != theirs.keys():
                return False
            waiting += [(own[name], theirs[name]) for name in own]
        elif isinstance(one_value, list) and isinstance(right, list):
            row, column = cast("Sequence[Json]", one_value), cast("Sequence[Json]", right)
            if len(row) != len(column):
                return False
            waiting += zip(row, column, strict=True)
        elif not _same_scalar(one_value, right):
            return False
    return True


def _same_scalar(first: Json, other: Json) -> bool:
    if isinstance(first, dict | list) or isinstance(other, dict | list):
        return False
    if isinstance(first, bool) != isinstance(other, bool):
        return False
    # What is no number at all is not equal to itself.
    return first == other or (first != first and other != other)  # noqa: PLR0124 # NaN is told by that


def depth_of(value: Json, limit: int) -> int:
    """Return how many lists and objects lie in each other, and one more than a limit if it is more."""
    depth, row = 0, [value]
    while row and depth <= limit:
        inner: list[Json] = []
        for part in row:
            if isinstance(part, dict):
                inner += cast("Document", part).values()
            elif isinstance(part, list):
                inner += cast("list[Json]", part)
        if not any(isinstance(part, dict | list) for part in row):
            break
        depth, row = depth + 1, inner
    return depth

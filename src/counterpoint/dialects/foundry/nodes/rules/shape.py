"""What values of a document look like, and how its numbers, versions and folders are read.

How specs and their nodes are numbered and named, and in which order they stand.
A spec is `{slug}-{YYYY-MM-DD}-{NNN}`; NNN counts the specs of a name on a day. A node's id tells where it was made:
`phase-2`, `task-2-3` in it, `task-2-3-1` below that, `verify-2-1`, `research-2-1`. It keeps its id when it moves.
The next number is one more than the highest there is, so that no number means two things while both can be seen.

The words and limits of a spec's document, and how untrusted JSON is read.
A document is any JSON: whatever is not of the type that is asked for reads as empty. Nothing here recurses, so
that no document is deep enough to stop the server.

A file is refused before it is parsed if it (1) has more than `FILE_LIMIT` bytes or (2) more than `SIGNS_LIMIT` commas,
colons and opening brackets, of which each value but the first has one before it, or more than `FILE_NESTING_LIMIT` levels; and then if (3) it is
no JSON in UTF-8, or (4) an object has a name twice, of which one would be lost without a word.

What names a version of a spec: a position in the ledger, or a time.
A time is ISO 8601, or as backups of foundry were named (`20251227T120000`, `2025-12-27T12-00-00.123456`); without an
offset it is UTC.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeGuard, cast, get_args

from counterpoint.core.rules.wording import few
from counterpoint.dialects.foundry.models.specs import (
    ARCHIVED,
    PENDING,
    Folder,
    NodeType,
    Status,
    Tally,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.clock import Timestamp, stamp
from counterpoint.kernel.errors import Conflict, GateClosed, InvalidInput, MalformedDocument

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


def _highest(start: str, taken: Iterable[str]) -> int:
    """Return the highest number that follows a start and ends an id; 0 without one."""
    ends = (name[len(start) :] for name in taken if name.startswith(start))
    return max((int(end) for end in ends if end.isdecimal() and len(end) <= _COUNTED), default=0)


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
RESEARCH_TYPES: Final = ("chat", "consensus", "thinkdeep", "ideate", "deep-research")
BLOCKING_MODES: Final = ("none", "soft", "hard")
BLOCKER_TYPES: Final = ("dependency", "technical", "resource", "decision")
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


FILE_LIMIT: Final = 10_000_000
"""Bytes that the file of a spec may have."""
SIGNS_LIMIT: Final = 2_000_000
FILE_NESTING_LIMIT: Final = 32
SPEC_ID_LIMIT: Final = 150
NODE_ID_LIMIT: Final = 198
"""Characters of the longest id of a node: beside that of its spec it is one name of an item."""
_PLACE: Final = 200
_SIGNS: Final = (b",", b":", b"[", b"{")
_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


class _Twice(ValueError):
    """An object has a name more than once."""


def parse(data: bytes, name: str = "the file") -> dict[str, Json]:
    """Return the object that a file holds; MalformedDocument says what is wrong with it, and where."""
    if len(data) > FILE_LIMIT:
        raise malformed(
            f"{name} has {len(data)} bytes; {FILE_LIMIT} is the most", ("FILE_TOO_LARGE", name)
        )
    if sum(map(data.count, _SIGNS)) > SIGNS_LIMIT:
        raise malformed(
            f"{name} has more than {SIGNS_LIMIT} commas, colons and opening brackets",
            ("FILE_TOO_LARGE", name),
        )
    try:
        parsed = canonical.load(data.removeprefix(b"\xef\xbb\xbf"))
    except InvalidInput as fault:
        raise malformed(f"{name} is {fault.message}", ("INVALID_JSON", _line_of(fault))) from None
    if not isinstance(parsed, dict):
        raise malformed(f"{name} holds no JSON object", ("INVALID_STRUCTURE", "line 1"))
    if depth_of(parsed, FILE_NESTING_LIMIT) > FILE_NESTING_LIMIT:
        raise malformed(
            f"{name} is nested deeper than {FILE_NESTING_LIMIT} levels",
            ("EXCESSIVE_NESTING", _deep_place(canonical.object_of(parsed))),
        )
    _refuse_twice(data, name)
    return canonical.object_of(parsed)


def _line_of(fault: InvalidInput) -> str:
    cause = fault.__cause__
    return f"line {cause.lineno}" if isinstance(cause, json.JSONDecodeError) else "line 1"


def _deep_place(document: dict[str, Json]) -> str:
    """Return the node, or the field of the document, that lies too deep."""
    for name, value in document.items():
        if depth_of(value, FILE_NESTING_LIMIT) >= FILE_NESTING_LIMIT:
            nodes = canonical.object_of(value).items() if name == "hierarchy" else ()
            deep = (
                node_id
                for node_id, node in nodes
                if depth_of(node, FILE_NESTING_LIMIT) >= FILE_NESTING_LIMIT - 1
            )
            return next(deep, name)[:_PLACE]
    return ""


def malformed(message: str, *faults: tuple[str, str]) -> MalformedDocument:
    """Return the refusal of a document; faults: the code and the location of each, if they all mean the message."""
    return MalformedDocument(
        message,
        hint="Mend the file; it was left as it is, and nothing of it was taken over.",
        faults=[{"code": code, "message": message, "location": at} for code, at in faults],
    )


def is_safe_id(text: Json) -> bool:
    """Return whether a text can be the id of a spec and so the name of a file: no path, nothing hidden."""
    return (
        isinstance(text, str) and len(text) <= SPEC_ID_LIMIT and _SAFE.fullmatch(text) is not None
    )


def _refuse_twice(data: bytes, name: str) -> None:
    def check(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > 1 and len({key for key, _ in pairs}) < len(pairs):
            seen: set[str] = set()
            raise _Twice(next(key for key, _ in pairs if key in seen or seen.add(key)))

    try:
        # What becomes of numbers is of no interest here, and very long ones would be refused in other words.
        json.loads(data, object_pairs_hook=check, parse_int=len, parse_float=len)
    except _Twice as twice:
        repeated = str(twice)
        raise malformed(
            f"{name} has {quoted(repeated)} twice in one object",
            ("DUPLICATE_KEY", repeated[:_PLACE]),
        ) from None


_POSITION: Final = re.compile(r"\d{1,15}", re.ASCII)
_STAMP: Final = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)T(\d\d)[:-]?(\d\d)[:-]?(\d\d)(.*)", re.ASCII)
_END: Final = re.compile(r"(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?", re.ASCII)


def position_of(version: str) -> int | None:
    """Return the position that a version is; None if it is none."""
    return int(version) if _POSITION.fullmatch(version) else None


def moment_of(version: str) -> Timestamp | None:
    """Return the last moment that a time means, which is a second or a part of one; None if it is no time."""
    match = _STAMP.fullmatch(version.strip())
    end = _END.fullmatch(match[7]) if match else None
    if match is None or end is None:
        return None
    year, month, day, hour, minute, second = (match[group] for group in range(1, 7))
    offset = (end[2] or "Z").replace("Z", "+00:00")
    try:
        moment = datetime.fromisoformat(f"{year}-{month}-{day}T{hour}:{minute}:{second}{offset}")
        moment = moment.astimezone(UTC)
        part = int((end[1] or "999")[:3].ljust(3, "0"))
        return stamp(moment + timedelta(milliseconds=part))
    except (ValueError, OverflowError):
        return None


MOVES: Final[Mapping[Folder, tuple[Folder, ...]]] = {
    "pending": ("active", "archived"),
    "active": ("pending", "completed", "archived"),
    "completed": ("active", "archived"),
    "archived": ("pending", "active"),
}
STATES: Final[Mapping[Folder, str]] = {
    "pending": "open",
    "active": "active",
    "completed": "done",
    # Parked, so that nothing of it is offered.
    "archived": "backlog",
}
LABELS: Final[Mapping[Folder, str]] = {"pending": PENDING, "archived": ARCHIVED}
"""The label of a spec in a folder that does not follow from the state of its root alone."""


def refuse_move(spec: str, before: Folder, after: Folder) -> None:
    """Raise Conflict unless a spec may go from one folder to another."""
    if after not in MOVES[before]:
        ways = " or ".join(MOVES[before])
        raise Conflict(
            f"{spec} is {before} and cannot become {after}",
            hint=f"From {before} it may become {ways}.",
            moves=list(MOVES[before]),
        )


def refuse_unfinished(spec: str, tally: Tally) -> None:
    """Raise Conflict while not all of a spec is done."""
    if not is_finished(tally):
        raise Conflict(
            f"{spec} is not finished: {tally.completed} of {tally.total} tasks are completed",
            hint="Finish the rest, or complete it with force, which skips what is open.",
            total_tasks=tally.total,
            completed_tasks=tally.completed,
        )


def refuse_awaiting(names: Sequence[str]) -> None:
    """Raise GateClosed while something of a spec awaits a verdict, or what else its gates ask for."""
    if names:
        raise GateClosed(awaits_text(names), hint=f"{Act.REVIEW}.", nodes=list[Json](names))


def awaits_text(names: Sequence[str]) -> str:
    """Return that nodes are done but for what their gates ask for."""
    return f"All tasks are completed; what awaits a verdict, or its gates: {few(names)}"


def is_finished(tally: Tally) -> bool:
    """Return whether there was something to do, and all of it is done."""
    return 0 < tally.total == tally.completed

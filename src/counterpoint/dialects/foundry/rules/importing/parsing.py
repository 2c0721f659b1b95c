"""Bytes of a file that somebody else wrote, read as JSON within limits.

A file is refused before it is parsed if it (1) has more than `FILE_LIMIT` bytes or (2) more than `SIGNS_LIMIT` commas,
colons and opening brackets, of which each value but the first has one before it, or more than `NESTING_LIMIT` levels; and then if (3) it is
no JSON in UTF-8, or (4) an object has a name twice, of which one would be lost without a word.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from counterpoint.dialects.foundry.rules.shape import depth_of, quoted
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, MalformedDocument

FILE_LIMIT: Final = 10_000_000
"""Bytes that the file of a spec may have."""
SIGNS_LIMIT: Final = 2_000_000
NESTING_LIMIT: Final = 32
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
    if depth_of(parsed, NESTING_LIMIT) > NESTING_LIMIT:
        raise malformed(
            f"{name} is nested deeper than {NESTING_LIMIT} levels",
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
        if depth_of(value, NESTING_LIMIT) >= NESTING_LIMIT:
            nodes = canonical.object_of(value).items() if name == "hierarchy" else ()
            deep = (
                node_id
                for node_id, node in nodes
                if depth_of(node, NESTING_LIMIT) >= NESTING_LIMIT - 1
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

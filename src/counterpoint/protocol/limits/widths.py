"""How much one argument may hold before any of it is looked at.

An argument is refused if (1) an object has more than `MOST_NAMES` names where the tool knows its names, (2) a list has more
entries than its schema says, or `MOST_ENTRIES` where it says nothing, (3) a value of any shape has more than
`MOST_BYTES` of JSON, unless the tool takes a whole tree there and checks it again. Looking at each of many values costs far more
than to count them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, cast

import orjson

from counterpoint.kernel.canonical import Json
from counterpoint.protocol.faults import Fault, Path, fault
from counterpoint.protocol.schema import Schema, branches, part_below

MOST_NAMES: Final = 200
MOST_ENTRIES: Final = 1_000
MOST_BYTES: Final = 100_000
"""More than any such value may have, so that whoever keeps one refuses it in its own words."""


def oversized(schema: Schema, arguments: Json, trees: Collection[str] = ()) -> Iterator[Fault]:
    """Return the faults of what is too long to be looked at.

    trees: the arguments that are bounded by their message alone.
    """
    waiting: list[tuple[Path, Json, Schema]] = [((), arguments, schema)]
    while waiting:
        path, raw, part = waiting.pop()
        if not isinstance(raw, dict | list):
            continue
        value = cast("dict[str, Json] | list[Json]", raw)
        problem = _too_much(value, part, is_tree=bool(path) and path[0] in trees)
        if problem:
            yield fault(path, problem, **({"kind": "unknown"} if not path else {}))
        elif not _is_free(part):
            waiting.extend(
                ((*path, step), inner, below)
                for step, inner in reversed(_inside(value))
                if (below := part_below(part, step)) is not None
            )


def _inside(value: dict[str, Json] | list[Json]) -> list[tuple[str | int, Json]]:
    return [*(value.items() if isinstance(value, dict) else enumerate(value))]


def _too_much(value: dict[str, Json] | list[Json], part: Schema, *, is_tree: bool) -> str:
    """Return why a list or an object is not looked at; empty if it is."""
    if _is_free(part):
        return "" if is_tree else _too_large(value)
    if isinstance(value, list):
        limit: int = max((int(branch.get("maxItems", 0)) for branch in branches(part)), default=0)
        limit = limit or MOST_ENTRIES
        return f"has {len(value)} entries; the limit is {limit}" if len(value) > limit else ""
    return f"has {len(value)} names; the limit is {MOST_NAMES}" if len(value) > MOST_NAMES else ""


def _too_large(value: Json) -> str:
    try:
        size = len(orjson.dumps(value))
    except (TypeError, ValueError):
        return ""  # told with its place by whoever looks at each value
    return f"has {size} bytes of JSON; the limit is {MOST_BYTES}" if size > MOST_BYTES else ""


def _is_free(part: Schema) -> bool:
    """Return whether a part of a schema takes lists or objects of any shape."""
    return not any({"items", "properties"} & branch.keys() for branch in branches(part))

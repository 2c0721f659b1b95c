"""The forms of reviews by models, and what is wrong with an answer of another.

Rule 1: an answer is one JSON object and nothing beside it; a fence around all of it is no part of it. So nothing that a model quotes
from what it reviews is ever taken for its verdict. Rule 2: it has every part of its form, no other and none twice, and no word that the form does
not have. Rule 3: what is too long is cut: that is no fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput

Form = Mapping[str, Any]
"""A JSON schema of objects, arrays, strings with or without an `enum`, integers and booleans."""
ReviewType = Literal["full", "quick", "security", "feasibility"]
Alignment = Literal["aligned", "deviation", "incomplete"]
ALIGNMENTS: Final[tuple[Alignment, ...]] = ("aligned", "deviation", "incomplete")
"""What is said of a spec beside its plan, the mildest first."""
JUDGMENTS: Final = ("pass", "warn", "fail", "unknown")
"""What is said of work beside its spec, the mildest first: who cannot say has not seen that it is right."""
SEVERITIES: Final = ("critical", "high", "medium", "low")

_LONGEST: Final = 2_000
_MOST: Final = 50
_FAULTS: Final = 10
_COUNTED: Final = 1_000_000
_FENCE: Final = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)


def _text() -> Form:
    return {"type": "string"}


def _word(*allowed: str) -> Form:
    return {"type": "string", "enum": list(allowed)}


def _list(of: Form) -> Form:
    return {"type": "array", "items": dict(of)}


def _object(**parts: Form) -> Form:
    return {
        "type": "object",
        "properties": {name: dict(part) for name, part in parts.items()},
        "required": list(parts),
        "additionalProperties": False,
    }


_COUNT: Final[Form] = {"type": "integer"}
_KEPT: Final = _word("aligned", "partial", "missing")
_POINT: Final = _object(
    category=_text(), title=_text(), description=_text(), impact=_text(), fix=_text()
)

FEEDBACK: Final = _object(
    summary=_text(),
    critical_blockers=_list(_POINT),
    major_suggestions=_list(_POINT),
    minor_suggestions=_list(_POINT),
    questions=_list(_object(category=_text(), question=_text(), context=_text(), needed=_text())),
    praise=_list(_object(category=_text(), title=_text(), why=_text())),
)
"""What a reviewer says of a plan, or of a spec without one."""
BESIDE_PLAN: Final = _object(
    verdict=_word(*ALIGNMENTS),
    summary=_text(),
    coverage=_object(
        plan_phases_covered=_COUNT,
        plan_phases_total=_COUNT,
        plan_tasks_covered=_COUNT,
        plan_tasks_total=_COUNT,
        missing_items=_list(_text()),
    ),
    fidelity=_object(
        status=_word("aligned", "diluted", "diverged"),
        issues=_list(_object(plan_item=_text(), spec_item=_text(), concern=_text())),
    ),
    metadata_alignment=_object(
        success_criteria=_KEPT, constraints=_KEPT, risks=_KEPT, open_questions=_KEPT
    ),
    undocumented_additions=_list(
        _object(spec_item=_text(), justification_needed={"type": "boolean"})
    ),
    issues=_list(_text()),
    recommendations=_list(_text()),
)
"""What a reviewer says of a spec beside its plan: seven dimensions, and a verdict."""
FIDELITY: Final = _object(
    verdict=_word(*JUDGMENTS),
    summary=_text(),
    deviations=_list(
        _object(node=_text(), description=_text(), severity=_word(*SEVERITIES), evidence=_text())
    ),
    recommendations=_list(_text()),
)
"""What a reviewer says of work beside its spec."""


def read(text: str, form: Form) -> tuple[dict[str, Json], list[str]]:
    """Return the object of an answer, cut, with what is wrong with it; of an answer with faults an empty object."""
    stripped = text.strip()
    fenced = _FENCE.fullmatch(stripped)
    inner = fenced.group(1) if fenced else stripped
    try:
        parsed = canonical.load(inner)
    except InvalidInput:
        return {}, ["it is not one JSON object and nothing beside it"]
    if twice := _twice(inner):
        return {}, [f"{twice[:40]} is there twice in one object"]
    faults = _faults(parsed, form, "")
    return ({}, faults[:_FAULTS]) if faults else (object_of(_cut(parsed)), [])


def _twice(text: str) -> str:
    """Return a name that an object of a JSON text has twice: some read the first of them, and some the last; empty without one."""
    repeated: list[str] = []

    def pairs(parts: list[tuple[str, Json]]) -> None:
        seen: set[str] = set()
        for name, _ in parts:
            if name in seen and not repeated:
                repeated.append(name)
            seen.add(name)

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (RecursionError, ValueError):
        # Deeper than any form, or a number longer than any.
        return "something"
    return repeated[0] if repeated else ""


def fitted(fields: Mapping[str, Json], max_bytes: int) -> tuple[dict[str, Json], bool]:
    """Return an object of a form that has no more bytes than there is room, and whether anything was left out for that."""
    whole = dict(fields)
    if _size(whole) <= max_bytes:
        return whole, False
    for most, longest in ((20, 500), (10, 300), (5, 200), (2, 150), (1, 80), (0, 40)):
        part = object_of(_cut(whole, most, longest))
        if _size(part) <= max_bytes:
            return part, True
    return {}, True


def _size(value: Json) -> int:
    return len(canonical.dump_any(value).encode())


def _faults(value: Json, form: Form, location: str) -> list[str]:
    """Return what is wrong with a value, each with where it stands."""
    if form["type"] == "object":
        return _of_object(value, form, location)
    if form["type"] == "array" and isinstance(value, list):
        parts = enumerate(cast("list[Json]", value))
        return [
            fault for n, part in parts for fault in _faults(part, form["items"], f"{location}[{n}]")
        ]
    wrong = _wrong(value, form)
    return [f"{location} must be {wrong}"] if wrong else []


def _wrong(value: Json, form: Form) -> str:
    """Return what a value has to be that is no object, and is not; empty if nothing is wrong with it."""
    allowed: Sequence[str] = form.get("enum", ())
    if form["type"] == "string":
        is_right = isinstance(value, str) and (not allowed or value in allowed)
        return "" if is_right else f"one of: {', '.join(allowed)}" if allowed else "text"
    if form["type"] == "boolean":
        return "" if isinstance(value, bool) else "true or false"
    if form["type"] == "array":
        return "an array"
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _COUNTED
    return "" if is_count else f"a whole number from 0 to {_COUNTED}"


def _of_object(value: Json, form: Form, location: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{location or 'the answer'} must be an object"]
    parts = cast("dict[str, Json]", value)
    properties: Mapping[str, Form] = form["properties"]
    lead = f"{location}." if location else ""
    faults = [f"{lead}{name} is missing" for name in properties if name not in parts]
    faults += [f"{lead}{name[:40]} has no place there" for name in parts if name not in properties]
    for name, part in properties.items():
        if name in parts:
            faults += _faults(parts[name], part, f"{lead}{name}")
    return faults


def _cut(value: Json, most: int = _MOST, longest: int = _LONGEST) -> Json:
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[: longest - 1].rstrip()}…"
    if isinstance(value, list):
        return [_cut(part, most, longest) for part in cast("list[Json]", value)[:most]]
    if isinstance(value, dict):
        parts = cast("dict[str, Json]", value)
        return {name: _cut(part, most, longest) for name, part in parts.items()}
    return value

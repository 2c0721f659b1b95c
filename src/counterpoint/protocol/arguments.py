"""Checking the arguments of a call: strict, and every fault at once.

Arguments are valid if and only if (1) they can be written as JSON: finite numbers within 64 bits,
valid Unicode, at most 64 levels deep, (2) each name is one of the tool's, or an alias of one that is
not given too, (3) nothing required is missing, (4) each value has the type its parameter declares,
without conversion ("1" is no number, true is no number), and lies within the declared bounds.
Nothing is clamped and nothing unknown is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson
from pydantic_core import ValidationError

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, UnknownArgument
from counterpoint.protocol.faults import Fault, Path, fault, present, unknown
from counterpoint.protocol.parameters import KEY, Parameters

DEPTH = 64
"""How deep an argument may be nested."""

# What orjson writes; a larger number would end the call without a word about which it was.
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1
_NAMED = 5
_LISTED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Valid arguments: what the function gets, what the caller gave, and the key."""

    values: dict[str, Any]
    given: dict[str, Json]
    key: str | None


def check(parameters: Parameters, arguments: Mapping[str, Json]) -> Checked:
    """Return the valid arguments of a call; InvalidInput or UnknownArgument with all faults."""
    if not arguments and not parameters.required:
        # The first call of an agent is often one: it need not wait until a validator is built.
        return Checked(values={}, given={}, key=None)
    unwritable = _unwritable(arguments)
    if unwritable:
        raise refusal(unwritable)
    given, faults = _renamed(parameters, arguments)
    try:
        # As JSON: there strict means what JSON can say, and a list may become a tuple.
        values = parameters.validator.validate_json(orjson.dumps(given), strict=True)
    except ValidationError as error:
        errors = cast(
            "list[Mapping[str, Any]]",
            error.errors(include_url=False, include_input=False),
        )
        faults += present(errors, given, parameters.whole)
        raise refusal([_shown_only(parameters, one) for one in faults]) from None
    if faults:
        raise refusal(faults)
    given.pop(KEY, None)
    key = cast("str | None", values.pop(KEY, None))
    return Checked(values=values, given=given, key=key)


def refusal(faults: list[Fault]) -> InvalidInput:
    """Return the error that carries these faults."""
    only_unknown = all(one.get("kind") == "unknown" for one in faults)
    named = [
        f"{one['path']}: {one['problem']}" if one["path"] else str(one["problem"]) for one in faults
    ]
    rest = len(named) - _NAMED
    message = "; ".join(named[:_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
    listed = [{key: part for key, part in one.items() if key != "kind"} for one in faults]
    error = UnknownArgument if only_unknown else InvalidInput
    return error(
        message,
        hint="Correct the arguments named in the message and call again; nothing was changed.",
        faults=listed[:_LISTED],
    )


def _renamed(
    parameters: Parameters, arguments: Mapping[str, Json]
) -> tuple[dict[str, Json], list[Fault]]:
    """Put every alias under its own name; a name given twice is a fault."""
    given: dict[str, Json] = {}
    origin: dict[str, str] = {}
    faults: list[Fault] = []
    for spelling, value in arguments.items():
        name = parameters.aliases.get(spelling, spelling)
        if name in given:
            twice = f"is given twice, as {origin[name]} and as {spelling}; give it once"
            faults.append(fault((name,), twice))
        given[name] = value
        origin[name] = spelling
    return given, faults


def _shown_only(parameters: Parameters, one: Fault) -> Fault:
    """Offer, for an unknown name, only the names that the tool shows."""
    path = cast("str", one["path"])
    if one.get("kind") != "unknown" or "." in path or "[" in path:
        return one
    return unknown((path.strip("'"),), parameters.names)


def _unwritable(arguments: Mapping[str, Json]) -> list[Fault]:
    """Find what JSON text cannot carry, without recursion, so that depth is no way to crash."""
    faults: list[Fault] = []
    waiting: list[tuple[Path, Json]] = [((), arguments)]
    while waiting:
        path, value = waiting.pop()
        problem = _problem(value)
        if problem:
            faults.append(fault(path, problem))
        elif len(path) > DEPTH:
            return [fault(path[:1], f"is nested deeper than {DEPTH} levels")]
        elif isinstance(value, Mapping):
            inside = cast("Mapping[Any, Json]", value)
            for name in inside:
                if not isinstance(name, str) or _problem(name):
                    return [fault(path, "has a name that is not valid Unicode text")]
            waiting.extend(((*path, name), part) for name, part in inside.items())
        elif isinstance(value, list):
            entries = cast("list[Json]", value)
            waiting.extend(((*path, place), part) for place, part in enumerate(entries))
    # The stack gave the last ones first.
    return faults[::-1]


def _problem(value: Json) -> str:
    """Return why a single value is no JSON; empty if it is."""
    if isinstance(value, str):
        # Only text with a lone surrogate cannot be encoded.
        return "" if value.isascii() or _encodes(value) else "is not valid Unicode text"
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int):
        return "" if _LOWEST <= value <= _HIGHEST else "is too large a number"
    if isinstance(value, float):
        return "" if math.isfinite(value) else "must be a finite number"
    return "" if isinstance(value, list | Mapping) else "is no JSON value"


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

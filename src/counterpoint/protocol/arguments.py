"""Checking the arguments of a call: strict, and every fault at once.

Arguments are valid if and only if (1) they can be written as JSON: finite numbers within 64 bits,
valid Unicode, at most 64 levels deep, (2) each name is one of the tool's, or an alias of one that is
not given too, (3) nothing required is missing, (4) each value has the type its parameter declares,
without conversion ("1" is no number, true is no number), and lies within the declared bounds.
Nothing is clamped and nothing unknown is ignored, but for what is plainly meant (`leniency.py`). What is too long to be looked at is refused before all that
(`limits/widths.py`), and of many faults only the first are put into words: each costs time, and nobody reads a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson
from pydantic_core import ValidationError

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, UnknownArgument
from counterpoint.protocol.faults import Fault, Path, fault, present
from counterpoint.protocol.leniency import drop_client_arguments, repair
from counterpoint.protocol.limits.widths import oversized
from counterpoint.protocol.parameters import KEY, Parameters
from counterpoint.protocol.tools import Elsewhere, nowhere

DEPTH = 64
"""How deep an argument may be nested."""

# What orjson writes; a larger number would end the call without a word about which it was.
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1
_NAMED = 5
_LISTED = 50
_SMALL = 1_000
"""Bytes of JSON in which no list has more entries, and no object more names, than are looked at."""
_MOST_ERRORS = 5_000
"""Beyond so many faults none is looked at."""
_REPAIRS = 6
"""How often arguments are repaired and looked at again."""
Errors = list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Valid arguments: what the function gets, what the caller gave, and the key.

    given: under their own names, with those that are taken beside the function's.
    """

    values: dict[str, Any]
    given: dict[str, Json]
    key: str | None


def check(
    parameters: Parameters, arguments: Mapping[str, Json], elsewhere: Elsewhere = nowhere
) -> Checked:
    """Return the valid arguments of a call; InvalidInput or UnknownArgument with all faults.

    elsewhere: says of an argument that is not taken what beside takes it.
    """
    if not arguments and not parameters.required:
        # The first call of an agent is often one: it need not wait until a validator is built.
        return Checked(values={}, given={}, key=None)
    received, faults = _renamed(parameters, arguments)
    drop_client_arguments(received, parameters.accepted)
    faults += _misplaced(parameters, received, elsewhere)
    if not _is_writable(arguments):
        raise refusal(_unwritable(arguments))
    errors: Errors = []
    # What was unpacked may hold what is to be unpacked; whoever packs deeper is refused.
    for _ in range(_REPAIRS):
        text = _measured(parameters, received)
        try:
            # As JSON: there strict means what JSON can say, and a list may become a tuple.
            values = parameters.validator.validate_json(text, strict=True)
        except ValidationError as error:
            errors = _errors_of(error)
        else:
            return _accepted(parameters, values, received, faults)
        # A copy, because what the caller gave is not ours to change.
        copy = cast("dict[str, Json]", orjson.loads(text))
        if not repair(parameters, copy, errors):
            break
        received = copy
    listed_faults, unlisted = present(
        errors, received, parameters.whole, parameters.described_at, most=_LISTED
    )
    raise refusal(faults + listed_faults, unlisted)


def _measured(parameters: Parameters, received: dict[str, Json]) -> bytes:
    """Return the JSON of arguments; InvalidInput if they have none, or are too long to be looked at."""
    text = _written(received)
    # A schema is built for what can have too many entries or names, and not for a first small call.
    if len(text or " " * _SMALL) >= _SMALL:
        oversize = list(oversized(parameters.whole, received, parameters.trees))
        if oversize:
            raise refusal(oversize)
    if text is None or not _is_writable(received):
        raise refusal(_unwritable(received))
    return text


def _errors_of(error: ValidationError) -> Errors:
    """Return what pydantic found wrong; InvalidInput if that is too much to be told."""
    if error.error_count() > _MOST_ERRORS:
        count = error.error_count()
        words = f"the arguments are wrong in {count} places, too many to name; try a part of them"
        raise refusal([fault((), words)]) from None
    return cast("Errors", error.errors(include_url=False, include_input=False))


def _accepted(
    parameters: Parameters, values: dict[str, Any], received: dict[str, Json], faults: list[Fault]
) -> Checked:
    """Return the arguments that the validator took; InvalidInput for the faults found before."""
    if faults:
        raise refusal(faults)
    received.pop(KEY, None)
    key = cast("str | None", values.pop(KEY, None))
    for name in parameters.beside:
        values.pop(name, None)
    return Checked(values=values, given=received, key=key)


def refusal(faults: list[Fault], unsaid: int = 0) -> InvalidInput:
    """Return the error that carries these faults; unsaid: how many more there are."""
    only_unknown = all(entry.get("kind") == "unknown" for entry in faults)
    messages = [
        f"{entry['path']}: {entry['problem']}" if entry["path"] else str(entry["problem"])
        for entry in faults
    ]
    unnamed = len(messages) + unsaid - _NAMED
    message = "; ".join(messages[:_NAMED]) + (f"; and {unnamed} more" if unnamed > 0 else "")
    listed = [{key: part for key, part in entry.items() if key != "kind"} for entry in faults]
    error = UnknownArgument if only_unknown else InvalidInput
    refused = error(
        message,
        hint="Correct the arguments named in the message and call again; nothing was changed.",
        faults=listed[:_LISTED],
    )
    refused.kinds = tuple(str(entry.get("kind", "")) for entry in faults[:_LISTED])
    return refused


def _renamed(
    parameters: Parameters, arguments: Mapping[str, Json]
) -> tuple[dict[str, Json], list[Fault]]:
    """Put every alias under its own name; a name given twice is a fault."""
    received: dict[str, Json] = {}
    origin: dict[str, str] = {}
    faults: list[Fault] = []
    for spelling, value in arguments.items():
        name = parameters.aliases.get(spelling, spelling)
        if name in received and value is None:
            continue
        if received.get(name) is not None:
            twice = f"is given twice, as {origin[name]} and as {spelling}; give it once"
            faults.append(fault((name,), twice))
        received[name] = value
        origin[name] = spelling
    return received, faults


def _misplaced(
    parameters: Parameters, received: dict[str, Json], elsewhere: Elsewhere
) -> list[Fault]:
    """Take out what something beside takes; each such argument is a fault."""
    faults: list[Fault] = []
    for name in received.keys() - parameters.accepted if elsewhere is not nowhere else ():
        words = elsewhere(name)
        if words:
            del received[name]
            taken: list[Json] = list(parameters.names)
            faults.append(fault((name,), words, kind="unknown", valid=taken))
    return sorted(faults, key=lambda entry: str(entry["path"]))


def _written(received: dict[str, Json]) -> bytes | None:
    """Return the JSON of arguments; None if they have none."""
    try:
        return orjson.dumps(received)
    except (TypeError, ValueError):
        return None


def _is_writable(arguments: Mapping[str, Json]) -> bool:
    """Whether JSON text can carry the arguments; told without a place, because places of many values are costly."""
    level: list[Json] = [arguments]
    for _ in range(DEPTH + 1):
        below: list[Json] = []
        for value in level:
            if isinstance(value, Mapping):
                inside = cast("Mapping[Any, Json]", value)
                if not _are_writable(inside):
                    return False
                below.extend(inside.values())
            elif isinstance(value, list):
                below.extend(cast("list[Json]", value))
            elif _problem(value):
                return False
        if not below:
            return True
        level = below
    return False


def _are_writable(names: Iterable[Any]) -> bool:
    try:
        return not _problem("".join(names))
    except TypeError:
        return False  # one that is no text


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
            waiting.extend(((*path, index), part) for index, part in enumerate(entries))
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

"""Reads the arguments of calls: leniently where the meaning is clear, and bounded in width.

Repair of arguments whose meaning is plain, although they are not what the schema says.
Only a value that the validator refused is looked at, so that a null or a text that the schema admits keeps its
meaning. (1) A null for an optional argument counts as absent. (2) A text that is JSON of the declared list or object
is unpacked where the schema allows no text: some clients send lists and objects that way. (3) A float without fraction
is an integer. (4) What a known client adds to every call is dropped. The advertised schema does not change by it.

How much one argument may hold before any of it is looked at.
An argument is refused if (1) an object has more than `MOST_NAMES` names where the tool knows its names, (2) a list has more
entries than its schema says, or `MOST_ENTRIES` where it says nothing, (3) a value of any shape has more than
`MOST_BYTES` of JSON, unless the tool takes a whole tree there and checks it again. Looking at each of many values costs far more
than to count them.

Checking the arguments of a call: strict, and every fault at once.
Arguments are valid if and only if (1) they can be written as JSON: finite numbers within 64 bits,
valid Unicode, at most 64 levels deep, (2) each name is one of the tool's, or an alias of one that is
not given too, (3) nothing required is missing, (4) each value has the type its parameter declares,
without conversion ("1" is no number, true is no number), and lies within the declared bounds.
Nothing is clamped and nothing unknown is ignored, but for what is plainly meant (the first part). What is too long to be looked at is refused before all that
(the second part), and of many faults only the first are put into words: each costs time, and nobody reads a thousand.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, UnknownArgument
from counterpoint.protocol.faults import KINDS, Fault, Path, fault, place_of, present, value_at
from counterpoint.protocol.parameters import KEY, Parameters
from counterpoint.protocol.schema import Schema, branches, part_at, part_below
from counterpoint.protocol.tools import Elsewhere, nowhere

if TYPE_CHECKING:
    from pydantic_core import ValidationError

CLIENTS_BY_ARGUMENT: Final[Mapping[str, str]] = MappingProxyType(
    {"task_progress": "Cline", "wait_for_previous": "Gemini CLI"}
)
"""Arguments that a client adds to the calls of every tool, and which client that is."""
_INTEGERS: Final = frozenset({"int_type", "int_from_float", "literal_error", "enum"})
_TYPES_BY_WORD: Final = MappingProxyType({"a list": list, "an object": dict})


def drop_client_arguments(received: dict[str, Json], accepted: Collection[str]) -> None:
    """Take out what a known client adds to every call, unless the tool has an argument of that name."""
    for name in CLIENTS_BY_ARGUMENT.keys() - accepted:
        received.pop(name, None)


def repair(
    parameters: Parameters, received: dict[str, Json], errors: Iterable[Mapping[str, Any]]
) -> bool:
    """Change refused values to what is plainly meant, in place; return whether any was changed."""
    errors_by_place: dict[Path, set[str]] = {}
    for error in errors:
        errors_by_place.setdefault(place_of(error, received), set()).add(str(error["type"]))
    changes = [
        _repair_value(parameters, received, *part) for part in errors_by_place.items() if part[0]
    ]
    return any(changes)


def _repair_value(
    parameters: Parameters, received: dict[str, Json], path: Path, kinds: set[str]
) -> bool:
    if kinds & {"extra_forbidden", "missing"}:
        return False
    container: Any = value_at(received, path[:-1])
    name = path[-1]
    value = value_at(received, path)
    if value is None:
        return _drop_null(parameters, path, container)
    if isinstance(value, float) and value.is_integer() and kinds & _INTEGERS:
        container[name] = int(value)
        return True
    if isinstance(value, str) and (unpacked := _unpack(value, kinds)) is not None:
        container[name] = unpacked
        return True
    return False


def _drop_null(parameters: Parameters, path: Path, container: Any) -> bool:
    """Take a null out of its object, unless it is required there; return whether that was done."""
    name = path[-1]
    if not isinstance(container, dict) or name not in container:
        return False
    if name in _required_at(parameters, path[:-1]):
        return False
    del container[name]
    return True


def _required_at(parameters: Parameters, path: Path) -> Collection[str | int]:
    if not path:
        return parameters.required
    return cast("list[str]", part_at(parameters.whole, path).get("required", []))


def _unpack(text: str, kinds: set[str]) -> Json:
    """Return the list or object that a text is JSON of; None if it is none that the schema admits."""
    # Any other fault comes from a branch that takes text, and refused this one for what it says.
    if not kinds <= KINDS.keys():
        return None
    types = tuple(_TYPES_BY_WORD[KINDS[kind]] for kind in kinds if KINDS[kind] in _TYPES_BY_WORD)
    try:
        value = orjson.loads(text) if types else None
    except ValueError:
        return None
    return cast("Json", value) if isinstance(value, types) else None


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
    from pydantic_core import ValidationError

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

"""Repair of arguments whose meaning is plain, although they are not what the schema says.

Only a value that the validator refused is looked at, so that a null or a text that the schema admits keeps its
meaning. (1) A null for an optional argument counts as absent. (2) A text that is JSON of the declared list or object
is unpacked where the schema allows no text: some clients send lists and objects that way. (3) A float without fraction
is an integer. (4) What a known client adds to every call is dropped. The advertised schema does not change by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

import orjson

from counterpoint.kernel.canonical import Json
from counterpoint.protocol.faults import KINDS, Path, place_of, value_at
from counterpoint.protocol.parameters import Parameters
from counterpoint.protocol.schema import part_at

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

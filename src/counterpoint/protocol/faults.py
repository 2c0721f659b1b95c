"""What is wrong with an argument, said in the caller's terms.

A fault is `{path, problem, ...}`: where in the arguments, what in words, and the numbers or names
that a program can act on (`lowest`, `highest`, `limit`, `allowed`, `valid`, `nearest`). Its `kind` is taken off before it is
told: `unknown`, or the sort that pydantic gives it, for a face that has codes of its own. Pydantic finds
the faults; its words and the names of its union branches never leave this module, and a value
is repeated only where it is short.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import orjson

from counterpoint.kernel.canonical import Json
from counterpoint.protocol.schema import Schema, part_at

Path = tuple[str | int, ...]
Fault = dict[str, Json]
Wording = Callable[[Json, Mapping[str, Any]], str]
Names = Callable[[Path], Mapping[str, str]]

MISSING = "is required"
"""What is wrong with an argument that is not given: a face may have a code of its own for it."""
_SHORT = 40
_NAME = 60

KINDS: Mapping[str, str] = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "none_required": "null",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dataclass_type": "an object",
    "date_type": "a date such as 2026-11-20",
    "datetime_type": "a time such as 2026-11-20T12:00:00Z",
}
"""What pydantic wanted instead of a value of another type, by the type of its error."""

_LOWEST = ("minimum", "exclusiveMinimum")
_HIGHEST = ("maximum", "exclusiveMaximum")


def fault(path: Path, problem: str, **facts: Json) -> Fault:
    """Return one fault at a place."""
    return {"path": spell(path), "problem": problem, **facts}


def spell(path: Path) -> str:
    """Return a path as a person writes it: `plan.phases[0].title`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{_named(step)}" if text else _named(step)
    return text


def show(value: Json) -> str:
    """Return a value if it is short, else only what sort of value it is."""
    try:
        text = orjson.dumps(value).decode()
    except (TypeError, ValueError):
        return sort_of(value)
    return text if len(text) <= _SHORT else sort_of(value)


def sort_of(value: Json) -> str:
    """Return what sort of JSON value this is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    for kind, name in ((str, "text"), (int, "a number"), (float, "a number"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return "an object"


def unknown(path: Path, valid: Mapping[str, str]) -> Fault:
    """Return the fault of a name that does not exist, with the one that is meant; valid: what each that does is for."""
    near = meant(str(path[-1])[:_NAME], valid)
    offer = f"; did you mean {near}?" if near else ""
    # Of an object that may have any names none can be told.
    none = "" if path[1:] else " None is taken here."
    valid_names = f" Valid: {', '.join(valid)}." if valid else none
    problem = f"there is no such argument{offer or '.'}{valid_names}"
    facts: Fault = {"valid": list(valid)}
    if near:
        facts["nearest"] = near
    return fault(path, problem, kind="unknown", **facts)


def meant(name: str, valid: Mapping[str, str]) -> str:
    """Return which of some names somebody means who gave another one; empty if that cannot be told. valid: what each is for.

    A name of what a tool is about means the argument that is one too, and else none, whatever is near in letters. Of other names the
    first that holds: it is written nearly so; it has the same words but for those that say that it is an id; its description alone has
    the words; it is the nearest in letters.
    """
    words = _words(name)
    same = [
        candidate for candidate in valid if words - _ID and _words(candidate) - _ID == words - _ID
    ]
    if words <= _THING:
        things = [candidate for candidate in valid if _words(candidate) <= _THING]
        return next(iter((*same, *things)), "")
    # Cut by whoever calls, because comparing takes time in proportion to the square of the length.
    written = difflib.get_close_matches(name, valid, n=1, cutoff=_NEARLY)
    described = [
        candidate
        for candidate, text in valid.items()
        if words - _ID and words - _ID <= _words(text)
    ]
    by_letters = difflib.get_close_matches(name, valid, n=1)
    matches = (written, same, described if len(described) == 1 else [], by_letters)
    return next((some[0] for some in matches if some), "")


_NEARLY = 0.8
_ID = frozenset({"id", "ids", "identifier"})
"""Words that say of a name only that it names something."""
_THING = _ID | {"item", "task", "issue", "ticket"}
"""Words by which callers of whatever dialect name the one thing that a tool is about."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def _words(text: str) -> frozenset[str]:
    """Return the words of a name, however it joins them, or of a description."""
    return frozenset(word.lower() for word in _WORD.findall(text))


def present(
    errors: Iterable[Mapping[str, Any]], received: Json, schema: Schema, names: Names, *, most: int
) -> tuple[list[Fault], int]:
    """Return the faults that pydantic's errors stand for, one for each place, and how many more there are than the most.

    names: answers what may stand at a place, which is offered for an unknown name, each with its description.
    """
    # Pydantic tells one error for each branch of a union; a caller made one mistake.
    places: dict[Path, list[Mapping[str, Any]]] = {}
    for error in errors:
        places.setdefault(place_of(error, received), []).append(error)
    above = _above(places)
    listed = [
        path
        for path, path_errors in places.items()
        if path not in above or not _is_sort(path_errors)
    ]
    faults = [_make_fault(path, places[path], received, schema, names) for path in listed[:most]]
    return faults, len(listed) - len(faults)


def _above(places: Iterable[Path]) -> set[Path]:
    """Return every place that another one is inside of."""
    above: set[Path] = set()
    for path in places:
        for length in range(len(path) - 1, -1, -1):
            # Those above one that is known are known too: each is met once.
            if path[:length] in above:
                break
            above.add(path[:length])
    return above


def _is_sort(errors: list[Mapping[str, Any]]) -> bool:
    """Whether a union's other branch, where it went deeper, has the fault to tell."""
    return all(error["type"] in KINDS for error in errors)


def _make_fault(
    path: Path, errors: list[Mapping[str, Any]], received: Json, schema: Schema, names: Names
) -> Fault:
    """Return the fault of one place; a union that failed speaks for all its branches."""
    expected = dict.fromkeys(KINDS[error["type"]] for error in errors if error["type"] in KINDS)
    others = [error for error in errors if error["type"] not in KINDS]
    if others:
        if others[0]["type"] == "extra_forbidden":
            return unknown(path, names(path[:-1]))
        # A branch that took the type and refused the value knows best what is wrong.
        return _refused(path, others[0], value_at(received, path), schema)
    value = value_at(received, path)
    kind = str(errors[0]["type"])
    return fault(path, f"must be {' or '.join(expected)}, not {show(value)}", kind=kind)


def _refused(path: Path, error: Mapping[str, Any], value: Json, schema: Schema) -> Fault:
    kind, context = cast("str", error["type"]), cast("dict[str, Any]", error.get("ctx", {}))
    if kind == "missing":
        return fault(path, MISSING, kind="missing")
    if kind in {"literal_error", "enum"}:
        return _not_among(path, value, schema, context)
    if kind in _BOUNDS:
        return _out_of_range(path, value, kind, context, part_at(schema, path))
    wording = _WORDINGS.get(kind)
    return fault(path, wording(value, context) if wording else "is not valid", kind=kind)


def _not_among(path: Path, value: Json, schema: Schema, context: Mapping[str, Any]) -> Fault:
    part = part_at(schema, path)
    allowed = cast("list[Json]", part.get("enum", [part["const"]] if "const" in part else []))
    words = [str(choice) for choice in allowed]
    listing = ", ".join(words) if words else str(context.get("expected", ""))
    near = difflib.get_close_matches(value[:_NAME], words, n=1) if isinstance(value, str) else []
    offer = f"; did you mean {near[0]}?" if near else ""
    facts: Fault = {"allowed": allowed} if allowed else {}
    return fault(path, f"{show(value)} is not one of: {listing}{offer}", kind=_CHOICE, **facts)


def _out_of_range(
    path: Path, value: Json, kind: str, context: Mapping[str, Any], part: Schema
) -> Fault:
    words, name = _BOUNDS[kind]
    facts: Fault = {}
    for key, names in (("lowest", _LOWEST), ("highest", _HIGHEST)):
        bound = next((part[name] for name in names if name in part), None)
        if bound is not None:
            facts[key] = bound
    return fault(path, f"{show(value)} is {words} {context[name]}", kind=kind, **facts)


_CHOICE = "literal_error"
_BOUNDS: dict[str, tuple[str, str]] = {
    "greater_than_equal": ("below the lowest allowed,", "ge"),
    "less_than_equal": ("above the highest allowed,", "le"),
    "greater_than": ("too low; it must be above", "gt"),
    "less_than": ("too high; it must be below", "lt"),
}


def _too_long(value: Json, context: Mapping[str, Any]) -> str:
    limit = context.get("max_length")
    if isinstance(value, str):
        return f"is {len(value)} characters long; the limit is {limit}"
    return f"has {len(value)} entries; the limit is {limit}"


def _too_short(value: Json, context: Mapping[str, Any]) -> str:
    least = context.get("min_length")
    if not value:
        return "must not be empty"
    noun = "characters" if isinstance(value, str) else "entries"
    return f"has too few {noun}; at least {least} are needed"


def _formless(_value: Json, context: Mapping[str, Any]) -> str:
    return f"must have the form {context['pattern']}"


def _no_multiple(value: Json, context: Mapping[str, Any]) -> str:
    return f"{show(value)} is no multiple of {context['multiple_of']}"


def _fixed(words: str) -> Wording:
    def wording(_value: Json, _context: Mapping[str, Any]) -> str:
        return words

    return wording


def _own_words(_value: Json, context: Mapping[str, Any]) -> str:
    return str(context.get("error", "is not valid"))


_WORDINGS: dict[str, Wording] = {
    "string_too_long": _too_long,
    "too_long": _too_long,
    "string_too_short": _too_short,
    "too_short": _too_short,
    "value_error": _own_words,
    "assertion_error": _own_words,
    "multiple_of": _no_multiple,
    "string_pattern_mismatch": _formless,
    "int_parsing_size": _fixed("is too large a number"),
    "finite_number": _fixed("must be a finite number"),
    "date_from_datetime_parsing": _fixed("must be a date such as 2026-11-20"),
    "date_parsing": _fixed("must be a date such as 2026-11-20"),
    "datetime_from_date_parsing": _fixed("must be a time such as 2026-11-20T12:00:00Z"),
    "datetime_parsing": _fixed("must be a time such as 2026-11-20T12:00:00Z"),
}


def place_of(error: Mapping[str, Any], received: Json) -> Path:
    """Return where in the arguments an error is, without the names of union branches."""
    path: list[str | int] = []
    value = received
    steps = cast("tuple[str | int, ...]", error["loc"])
    for number, step in enumerate(steps):
        if isinstance(step, str) and isinstance(value, dict):
            inside = cast("dict[str, Json]", value)
            if step in inside:
                path.append(step)
                value = inside[step]
            elif error["type"] == "missing" and number == len(steps) - 1:
                path.append(step)
        elif isinstance(step, int) and isinstance(value, list):
            entries = cast("list[Json]", value)
            if step < len(entries):
                path.append(step)
                value = entries[step]
    return tuple(path)


def value_at(received: Json, path: Path) -> Json:
    """Return the value at a place in the arguments; None if there is none."""
    value = received
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _named(step: str) -> str:
    """Return a name, cut and quoted where a caller made it long or odd."""
    if step.isidentifier() and len(step) <= _NAME:
        return step
    cut = step if len(step) <= _NAME else f"{step[:_NAME]}…"
    return ascii(cut) if not cut.isprintable() else f"'{cut}'"

"""Lean JSON Schema: what a model needs to fill in the arguments, and nothing more.

A schema is lean if and only if (1) no object has a generated `title`, (2) no `$ref` is left: each
is replaced by what it names, and a shape inside itself ends as a plain object, (3) an optional
property that may be null is shown as its other type, (4) a default stands only where it tells
something: not null, false or empty, (5) no empty `description` and no `additionalProperties: true`.
Keys keep their order; properties keep the order of the signature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import cast

from counterpoint.kernel.canonical import Json

Schema = dict[str, Json]

_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NULL = {"type": "null"}


def lean(schema: Schema, *, defaults: Mapping[str, Json] | None = None) -> Schema:
    """Return the lean form of a schema; `defaults` are those of the root's properties."""
    shapes = cast("dict[str, Schema]", schema.get("$defs", {}))
    root = {key: part for key, part in schema.items() if key not in {"$defs", "description"}}
    slim = _slim(root, shapes, ())
    slim.setdefault("properties", {})
    properties = cast("dict[str, Schema]", slim["properties"])
    for name, value in (defaults or {}).items():
        plain = value.value if isinstance(value, Enum) else value
        if name in properties and _tells(plain):
            properties[name]["default"] = (
                list(cast("tuple[Json, ...]", plain)) if isinstance(plain, tuple) else plain
            )
    first = {"type": "object", "properties": properties}
    return {**first, **{key: part for key, part in slim.items() if key not in first}}


def part_at(schema: Schema, path: tuple[str | int, ...]) -> Schema:
    """Return the part of a lean schema that describes a place in a value; empty if none does."""
    current = schema
    for step in path:
        below = part_below(current, step)
        if below is None:
            return {}
        current = below
    return current


def described_at(schema: Schema, path: tuple[str | int, ...]) -> dict[str, str]:
    """Return the properties known at a place in a value, each with its description."""
    part = part_at(schema, path)
    return {
        name: str(shape.get("description", ""))
        for branch in branches(part)
        for name, shape in cast("dict[str, Schema]", branch.get("properties", {})).items()
    }


_SAID = frozenset({"description", "default"})
"""What a schema says beside the values that it admits."""


def widest(parts: Sequence[Schema]) -> Schema:
    """Return one schema that admits what any of several does, with the first description.

    A default stands only where all have it. A union is shown only where no one of them contains the others.
    """
    shapes: list[Schema] = []
    for part in parts:
        _widen(shapes, _shape(part))
    first = parts[0]
    outer = {key: first[key] for key in ("description",) if key in first}
    if "default" in first and all(part.get("default") == first["default"] for part in parts):
        outer["default"] = first["default"]
    return {**shapes[0], **outer} if len(shapes) == 1 else {"anyOf": list(shapes), **outer}


def _shape(part: Schema) -> Schema:
    return {key: value for key, value in part.items() if key not in _SAID}


def _widen(shapes: list[Schema], part: Schema) -> None:
    """Add a shape to those of a union: to the one that it can be joined with, if there is one."""
    for index, shape in enumerate(shapes):
        joined = _joined(shape, part)
        if joined is not None:
            shapes[index] = joined
            return
    shapes.append(part)


def _joined(shape: Schema, other: Schema) -> Schema | None:
    """Return the shape that admits what either does; None if only a union would."""
    if shape == other:
        return shape
    for narrow, wide in ((shape, other), (other, shape)):
        if not wide or (narrow.get("type") == "integer" and wide == {"type": "number"}):
            return wide
    if (
        shape.get("type") != other.get("type")
        or "type" not in shape
        or "properties" in {*shape, *other}
    ):
        return None
    return {key: value for key in shape if (value := _loosest(key, shape, other)) is not None}


def _loosest(key: str, shape: Schema, other: Schema) -> Json:
    """Return what holds of the values of both shapes, which are of one type; None for nothing."""
    if key not in other or shape[key] == other[key]:
        return shape[key] if key in other else None
    if key == "enum":
        return list(dict.fromkeys((*shape[key], *other[key])))
    if key == "items":
        return widest((shape[key], other[key]))
    loosest = min if key in _LOW else max if key in _HIGH else None
    return loosest(shape[key], other[key]) if loosest else None


_LOW = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems"})
_HIGH = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems"})


def part_below(part: Schema, step: str | int) -> Schema | None:
    """Return the part that describes what is one step inside of another; None if none does."""
    for branch in branches(part):
        if isinstance(step, int):
            inner = branch.get("items")
        else:
            properties = cast("dict[str, Schema]", branch.get("properties", {}))
            inner = properties.get(step, branch.get("additionalProperties"))
        if isinstance(inner, dict):
            return cast("Schema", inner)
    return None


def branches(part: Schema) -> list[Schema]:
    """Return a part and, where it is a union, what it is a union of."""
    others = (cast("list[Schema]", part.get(key, [])) for key in ("anyOf", "oneOf"))
    return [part, *(branch for some in others for branch in some)]


def _slim(part: Schema, shapes: dict[str, Schema], inside: tuple[str, ...]) -> Schema:
    """Copy one schema, leaving out what only a validator needs."""
    if "$ref" in part:
        return _inlined(part, shapes, inside)
    slim: Schema = {}
    for key, value in part.items():
        if key == "title" or (key == "description" and not value):
            continue
        if key == "additionalProperties" and value is True:
            continue
        if key == "default" and not _tells(value):
            continue
        if key == "properties":
            required = cast("list[str]", part.get("required", []))
            slim[key] = {
                name: _property(inner, shapes, inside, optional=name not in required)
                for name, inner in cast("dict[str, Schema]", value).items()
            }
        elif key in _OF_SCHEMAS:
            slim[key] = [_slim(inner, shapes, inside) for inner in cast("list[Schema]", value)]
        elif isinstance(value, dict) and key in {"items", "additionalProperties"}:
            slim[key] = _slim(cast("Schema", value), shapes, inside)
        elif key not in {"discriminator", "propertyNames"}:
            slim[key] = value
    return slim


def _inlined(part: Schema, shapes: dict[str, Schema], inside: tuple[str, ...]) -> Schema:
    """Put the named shape in the place of its name; words beside the name win."""
    name = cast("str", part["$ref"]).rpartition("/")[2]
    beside = {key: value for key, value in part.items() if key != "$ref"}
    # A shape inside of itself would be inlined for ever.
    if name in inside:
        return {"type": shapes[name].get("type", "object"), **_slim(beside, shapes, inside)}
    whole = {**shapes[name], **beside}
    return _slim(whole, shapes, (*inside, name))


def _property(
    part: Schema, shapes: dict[str, Schema], inside: tuple[str, ...], *, optional: bool
) -> Schema:
    """Slim a property; one that may be left out need not say that it may be null."""
    others = [branch for branch in cast("list[Schema]", part.get("anyOf", [])) if branch != _NULL]
    if not optional or not others or len(others) == len(part["anyOf"]):
        return _slim(part, shapes, inside)
    outer = {key: value for key, value in part.items() if key != "anyOf"}
    if len(others) > 1:
        return _slim({"anyOf": others, **outer}, shapes, inside)
    return _slim({**others[0], **outer}, shapes, inside)


def _tells(value: Json) -> bool:
    """Whether a default is worth its bytes."""
    return (isinstance(value, int | float) and not isinstance(value, bool)) or bool(value)

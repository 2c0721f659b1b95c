"""Lean schemas: how several shapes of one argument are shown as one."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.protocol.schema import widest


@pytest.mark.parametrize(
    ("parts", "wide"),
    [
        ([{"type": "integer"}, {"type": "number"}], {"type": "number"}),
        ([{"type": "number"}, {"type": "integer", "minimum": 1}], {"type": "number"}),
        ([{"type": "string"}, {}], {}),
        (
            [{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b", "a"]}],
            {"type": "string", "enum": ["a", "b"]},
        ),
        ([{"type": "string", "enum": ["a"]}, {"type": "string"}], {"type": "string"}),
        (
            [{"type": "integer", "maximum": 5}, {"type": "integer", "maximum": 9}],
            {"type": "integer", "maximum": 9},
        ),
        (
            [{"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"}],
            {"type": "string"},
        ),
        (
            [
                {"type": "array", "items": {"type": "integer"}},
                {"type": "array", "items": {"type": "number"}},
            ],
            {"type": "array", "items": {"type": "number"}},
        ),
        (
            [{"type": "string"}, {"type": "boolean"}, {"type": "string", "maxLength": 3}],
            {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
        ),
        (
            [
                {"type": "object", "properties": {"a": {}}},
                {"type": "object", "properties": {"b": {}}},
            ],
            {
                "anyOf": [
                    {"type": "object", "properties": {"a": {}}},
                    {"type": "object", "properties": {"b": {}}},
                ]
            },
        ),
        (
            [{"type": "integer", "default": 3}, {"type": "integer", "default": 3}],
            {"type": "integer", "default": 3},
        ),
        (
            [{"type": "integer", "default": 3}, {"type": "integer", "default": 4}],
            {"type": "integer"},
        ),
    ],
)
def test_the_widest_shape_admits_what_any_of_several_does(parts: list[Any], wide: Any) -> None:
    """A union stands only where no shape contains the other."""
    assert widest(parts) == wide

"""Tools: what a signature becomes."""

from __future__ import annotations

from types import ModuleType
from typing import Annotated, Any

import pytest
from pydantic import Field

from counterpoint.protocol.tools import Json, tool


def properties(made: Any) -> dict[str, Any]:
    return made.parameters.schema["properties"]


def test_a_name_and_a_description_come_from_the_function(small: ModuleType) -> None:
    """The trailing underscore goes, and only the first paragraph is told."""
    assert small.refuse_.name == "refuse"
    assert small.start.description == "Begin an item."


def test_a_first_paragraph_of_two_lines_becomes_one() -> None:
    """How the author broke the lines is not the client's affair."""

    def look(call: object) -> Json:
        return {}

    look.__doc__ = "Look at it,\n    and again.\n\n    More."
    assert tool(reads=True)(look).description == "Look at it, and again."


def test_all_four_annotations_are_always_listed(small: ModuleType) -> None:
    """An annotation left out would be read as the worst, so none is."""
    assert small.echo.listed()["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert set(small.delete.listed()["annotations"].values()) == {False, True}
    assert len(small.delete.annotations) == 4


def test_a_schema_shows_only_what_a_model_needs(small: ModuleType) -> None:
    """No titles, no null branches, no empty defaults, and nothing composed at the root."""
    schema = small.start.parameters.schema
    assert list(schema) == ["type", "properties", "additionalProperties", "required"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["item"]
    shown = properties(small.start)
    assert shown["lease_minutes"] == {
        "type": "integer",
        "description": "How long",
        "minimum": 1,
        "maximum": 1440,
        "default": 30,
    }
    assert shown["names"] == {
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]
    }


def test_a_named_shape_is_put_in_the_place_of_its_name(small: ModuleType) -> None:
    """A reference is inlined, and a shape inside itself ends as a plain object."""
    plan = properties(small.start)["plan"]
    assert plan["type"] == "object"
    assert plan["description"] == "The plan"
    assert plan["properties"]["title"] == {"type": "string", "maxLength": 10}
    assert plan["properties"]["children"] == {"type": "array", "items": {"type": "object"}}


def test_arguments_stand_in_the_order_of_the_signature(small: ModuleType) -> None:
    """The key comes last, and hidden ones and aliases are not there."""
    expected = ["item", "lease_minutes", "kind", "plan", "names", "idempotency_key"]
    assert list(properties(small.start)) == expected


def test_a_tool_that_writes_takes_a_key(small: ModuleType) -> None:
    """Its schema says so; one that only reads has none."""
    assert list(properties(small.delete)) == ["item", "idempotency_key"]
    assert small.delete.parameters.takes_key
    assert not small.echo.parameters.takes_key


def test_a_property_may_be_called_title_or_schema() -> None:
    """Leaving out titles leaves out no argument."""

    @tool(reads=True)
    def edit(call: object, title: str, schema: str, copy: str = "", model_x: int = 0) -> Json:
        """Edit it."""
        return {}

    assert list(properties(edit)) == ["title", "schema", "copy", "model_x"]


def test_a_default_of_zero_is_shown_and_a_false_one_is_not() -> None:
    """A default stands only where it tells something."""

    @tool(reads=True)
    def look(call: object, depth: int = 0, *, deep: bool = False, mode: str = "fast") -> Json:
        """Look."""
        return {}

    assert properties(look) == {
        "depth": {"type": "integer", "default": 0},
        "deep": {"type": "boolean"},
        "mode": {"type": "string", "default": "fast"},
    }


def test_a_tool_knows_where_it_is_written(small: ModuleType) -> None:
    """Someone who sees a tool finds its line."""
    file, line = small.echo.where
    assert file.endswith("small_surface.py")
    assert line > 1


def test_a_function_that_cannot_be_a_tool_is_refused_at_once() -> None:
    """A mistake of the author shows when the module is loaded."""

    def wordless(call: object) -> Json:
        return {}

    def open_ended(call: object, **rest: Any) -> Json:
        """Take all."""
        return {}

    def own_key(call: object, idempotency_key: str) -> Json:
        """Take a key."""
        return {}

    def untyped(call, what) -> Json:
        """Take anything."""
        return {}

    async def later(call: object) -> Json:
        """Wait."""
        return {}

    for function in (wordless, open_ended, own_key, untyped, later):
        with pytest.raises(TypeError):
            tool(reads=True)(function)


def test_an_alias_must_lead_to_a_parameter() -> None:
    def look(call: object, item: Annotated[str, Field()], other: str = "") -> Json:
        """Look."""
        return {}

    for aliases in ({"id": "itm"}, {"other": "item"}):
        with pytest.raises(TypeError):
            tool(reads=True, aliases=aliases)(look)

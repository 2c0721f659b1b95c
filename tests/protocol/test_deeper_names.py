"""The names that are told for one that there is not, wherever in the arguments it stands."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

import pytest
from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.arguments import check
from counterpoint.protocol.parameters import Parameters


class Inner(TypedDict):
    """What lies deepest."""

    title: Annotated[str, Field(description="What it is called")]
    size: NotRequired[int]


class Outer(TypedDict):
    """What holds it."""

    inner: Inner | None
    more: NotRequired[tuple[Inner, ...]]
    named: NotRequired[dict[str, Inner]]


def _tool(
    _call: None,
    one: Annotated[Outer | None, WithJsonSchema({"type": "object"})] = None,
    many: Annotated[list[Outer], WithJsonSchema({"type": "array"})] = [],  # noqa: B006 # it is never run
    free: dict[str, int] | None = None,
) -> None:
    del one, many, free


TOOL = Parameters(_tool)
INNER, OUTER = ["title", "size"], ["inner", "more", "named"]


@pytest.mark.parametrize(
    ("arguments", "path", "valid"),
    [
        ({"one": {"inner": None, "x": 1}}, "one.x", OUTER),
        ({"many": [{"inner": None}, {"inner": None, "x": 1}]}, "many[1].x", OUTER),
        ({"one": {"inner": {"title": "a", "x": 1}}}, "one.inner.x", INNER),
        ({"one": {"inner": None, "more": [{"title": "a", "x": 1}]}}, "one.more[0].x", INNER),
        ({"one": {"inner": None, "named": {"a": {"title": "a", "x": 1}}}}, "one.named.a.x", INNER),
        ({"x": 1}, "x", ["one", "many", "free"]),
    ],
)
def test_the_names_at_the_place_are_told(
    arguments: dict[str, Any], path: str, valid: list[str]
) -> None:
    """Though the schema that is shown leaves them out."""
    with pytest.raises(InvalidInput) as caught:
        check(TOOL, arguments)
    (fault,) = caught.value.facts["faults"]
    assert (fault["path"], fault["valid"]) == (path, valid)
    assert f"Valid: {', '.join(valid)}." in caught.value.message


def test_a_name_that_is_nearly_right_is_named() -> None:
    """By its letters, or by what its description says."""
    for wrong in ("titel", "called"):
        with pytest.raises(InvalidInput, match="did you mean title"):
            check(TOOL, {"one": {"inner": {"title": "a", wrong: 1}}})


def test_of_an_object_of_any_names_none_is_told() -> None:
    assert TOOL.described_at(("free",)) == {}
    assert TOOL.described_at(("gone", "x")) == {}
    assert TOOL.described_at(("many", 0, "inner", "title", "x")) == {}

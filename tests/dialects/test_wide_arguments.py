"""Arguments made to be slow: every parameter of every tool is refused before the test ends.

A list of so many values would take hours with a time that grows with the square: the test would not end.
"""

from __future__ import annotations

from contextlib import suppress
from time import process_time
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest

from counterpoint.dialects.native.tools import plans
from counterpoint.dialects.registry import names, surface
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.arguments import check
from counterpoint.protocol.parameters import Parameters
from counterpoint.settings import Settings
from fakes.long_forms import IS_LONG

if TYPE_CHECKING:
    from collections.abc import Iterator

MANY: Final = 8_000
SLOW: Final = 1.5
"""Seconds of computing for one call, a hundred times of what it takes, on a machine that is busy."""

SHAPES: Final = {"type", "items", "properties", "anyOf", "additionalProperties", "maxItems"}
WIDE: Final[dict[str, Any]] = {
    "numbers": [1] * MANY,
    "empty objects": [{}] * MANY,
    "empty lists": [[]] * MANY,
    "short texts": ["a"] * MANY,
    "names": {str(number): 1 for number in range(MANY)},
    "a list in a list": [[1] * MANY],
    "lists of lists": [[1] * 150] * 150,
    "a list of objects with unknown names": [{f"x{number}": [] for number in range(150)}] * 60,
    "a list below a name": {"items": [1] * MANY, "title": "x"},
    "names below a name": {"title": "x", "items": [{str(n): 1 for n in range(MANY)}]},
    "as many as are looked at": {"title": "x", "items": [1] * 4_900},
    "a long text": "a " * MANY,
}


def parameters_of(dialect: str) -> Iterator[tuple[str, Parameters]]:
    for tool in surface(dialect, Settings(proofs="1" if dialect == "colibri" else "")).tools:
        yield from ((part.name, part.parameters) for part in tool.parts)
    if dialect == "native":
        yield "a tree", plans.TREE


def places() -> Iterator[tuple[str, Parameters, str, str]]:
    """Answer one parameter of each shape that any dialect has, with a name that stands below it."""
    met: set[bytes] = set()
    for name, parameters in (one for dialect in names() for one in parameters_of(dialect)):
        for argument, part in parameters.whole["properties"].items():
            shape = orjson.dumps({key: said for key, said in part.items() if key in SHAPES})
            if shape not in met:
                met.add(shape)
                yield name, parameters, argument, next(iter(part.get("properties", {"x": {}})))


@pytest.mark.faults
@pytest.mark.no_cover
@pytest.mark.timeout(600)
def test_an_argument_made_to_be_slow_is_judged_before_the_test_ends() -> None:
    """Whatever is too long, of the wrong type, nested or unknown, at the top and one level below.

    Each parameter meets one of the shapes in turn, and all of them in the long form.
    """
    shapes = [*WIDE.items()]
    for number, (name, parameters, argument, below) in enumerate(places()):
        first = number % len(shapes)
        for what, value in shapes if IS_LONG else shapes[first : first + 1]:
            began = process_time()
            for given in (value, {below: value}, [{below: value}]):
                with suppress(InvalidInput):
                    check(parameters, {argument: given})
            assert process_time() - began < SLOW, (name, argument, what)


@pytest.mark.parametrize("dialect", names())
def test_unknown_arguments_are_counted_and_not_compared_one_by_one(dialect: str) -> None:
    """Eight thousand in one sentence; of two hundred the first are compared with those that there are."""
    many: dict[str, Json] = {f"argument_{number}": [] for number in range(MANY)}
    few = dict(list(many.items())[:200])
    for name, parameters in parameters_of(dialect):
        began = process_time()
        with pytest.raises(InvalidInput, match=f"has {MANY} names; the limit is 200"):
            check(parameters, many)
        with pytest.raises(InvalidInput, match=r"and \d+ more"):
            check(parameters, few)
        assert process_time() - began < SLOW, name


def test_a_tree_wrong_in_thousands_of_places_is_told_how_many() -> None:
    """None of them is put into words."""
    with pytest.raises(InvalidInput, match=f"wrong in {MANY} places, too many to name"):
        check(plans.TREE, {"tree": {"title": "x", "items": [1] * MANY}})

"""Frozen classes behave as those of the standard library, and compile nothing before one is made."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest

from counterpoint.kernel.frozen import frozen


@frozen
class Boat:
    """A boat."""

    sort: ClassVar[str] = "boat"

    name: str
    crew: tuple[str, ...] = ()
    load: list[str] = field(default_factory=list[str], repr=False)


@frozen
class Ferry(Boat):
    """A boat with a line of its own, and a name that is not the one it had."""

    name: str = "ferry"
    line: int = 1

    def __post_init__(self) -> None:
        """Refuse lines that are none."""
        if self.line < 1:
            raise ValueError(self.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tug(Boat):
    """A boat made by the standard library."""

    power: int


@frozen
class Port:
    """Nothing to say."""


@frozen
class Sailor:
    """Somebody who can be in a set."""

    name: str
    age: int


@frozen
class Mark:
    """A mark that is like every other."""

    place: int

    def __eq__(self, other: object) -> bool:
        """Answer yes to marks."""
        return isinstance(other, Mark)

    def __hash__(self) -> int:
        """Answer the same for all."""
        return 1


def test_they_are_made_by_keywords_with_their_defaults() -> None:
    """Values go where they belong, and each has lists of its own."""
    boat = Boat(name="ann")
    assert (boat.name, boat.crew, boat.load, boat.sort) == ("ann", (), [], "boat")
    assert Boat(name="x").load is not boat.load
    assert Boat(name="x", load=["a"], crew=("b",)).load == ["a"]
    assert Ferry(line=2).name == "ferry"
    assert Port() == Port()


@pytest.mark.parametrize("given", [{}, {"name": "a", "sail": 1}])
def test_wrong_arguments_are_refused_by_name(given: dict[str, Any]) -> None:
    """The error says which class was called."""
    with pytest.raises(TypeError, match=r"Boat\.__init__"):
        Boat(**given)
    by_place: Any = Boat
    with pytest.raises(TypeError, match="positional"):
        by_place("ann")


def test_what_follows_the_making_runs() -> None:
    """A class may look at what it was given."""
    with pytest.raises(ValueError, match="0"):
        Ferry(line=0)


def test_they_cannot_be_changed() -> None:
    """Neither a field nor anything else can be set or taken away."""
    boat: Any = Boat(name="ann")
    with pytest.raises(FrozenInstanceError, match="assign to field 'name'"):
        boat.name = "bob"
    with pytest.raises(FrozenInstanceError, match="delete field 'name'"):
        del boat.name
    assert not hasattr(boat, "__dict__")


def test_they_compare_and_hash_by_their_values() -> None:
    """Only one of the same class is equal."""
    assert Boat(name="a") == Boat(name="a") != Boat(name="b")
    assert Ferry(name="a") != Boat(name="a")
    crew = {Sailor(name="a", age=1), Sailor(name="a", age=1), Sailor(name="a", age=2)}
    assert len(crew) == 2
    assert Mark(place=1) == Mark(place=2)
    assert len({Mark(place=1), Mark(place=2)}) == 1


def test_the_standard_library_takes_them_for_its_own() -> None:
    """Fields, copies with changes, mappings, copies and pickles work as ever."""
    ferry = Ferry(name="a", crew=("b",), line=3)
    assert is_dataclass(Ferry)
    assert [one.name for one in fields(Ferry)] == ["name", "crew", "load", "line"]
    assert replace(ferry, line=4) == Ferry(name="a", crew=("b",), line=4)
    assert asdict(ferry) == {"name": "a", "crew": ("b",), "load": [], "line": 3}
    assert copy.deepcopy(ferry) == ferry == pickle.loads(pickle.dumps(ferry))  # noqa: S301 -- it was written here
    assert repr(ferry) == "Ferry(name='a', crew=('b',), line=3)"
    tug = Tug(name="t", power=2)
    assert (tug.name, tug.power, tug.crew) == ("t", 2, ())


def test_an_initializer_is_compiled_when_it_is_first_called() -> None:
    """Until then a class has one that takes anything."""

    @frozen
    class Buoy:
        """A buoy."""

        colour: str

    before = Buoy.__init__
    assert "colour" not in inspect.signature(before).parameters
    assert Buoy(colour="red").colour == "red"
    assert Buoy.__init__ is not before
    # Whoever kept the first one still makes one.
    kept = object.__new__(Buoy)
    before(kept, colour="red")
    assert kept == Buoy(colour="red")
    assert list(inspect.signature(Buoy).parameters) == ["colour"]

"""Frozen classes behave as those of the standard library, and compile nothing before one is made."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from counterpoint.kernel.frozen import frozen, mutable


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
    assert all(Port() == Port() for _ in range(20))


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


def test_an_initializer_is_compiled_for_a_class_that_has_several_objects() -> None:
    @frozen
    class Buoy:
        """A buoy."""

        colour: str
        height: int = 1
        marks: list[str] = field(default_factory=list[str])

        def __post_init__(self) -> None:
            """Refuse what sinks."""
            if not self.height:
                raise ValueError(self.colour)

    before = Buoy.__init__
    assert "colour" not in inspect.signature(before).parameters
    made = [Buoy(colour="red") for _ in range(20)]
    assert all(one == Buoy(colour="red", height=1, marks=[]) for one in made)
    assert len({id(one.marks) for one in made}) == 20
    assert Buoy.__init__ is not before
    # Whoever kept the first one still makes one.
    kept = object.__new__(Buoy)
    before(kept, colour="red")
    assert kept == Buoy(colour="red")
    assert list(inspect.signature(Buoy).parameters) == ["colour", "height", "marks"]


def test_wrong_arguments_are_refused_from_the_first_object_to_the_last() -> None:
    """In the words of Python, whether or not the initializer is compiled by then."""

    @frozen
    class Pier:
        """A pier."""

        name: str

    for _ in range(20):
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'name'"):
            Pier()  # pyright: ignore[reportCallIssue] -- that it is wrong is what is looked at
        Pier(name="west")


@mutable
class Crane:
    """A crane, which is moved."""

    name: str
    angle: int = 0
    lifted: list[str] = field(default_factory=list[str])
    turns: int = field(init=False, default=3)
    log: list[str] = field(init=False, default_factory=list[str])

    @cached_property
    def label(self) -> str:
        """What is painted on it, found once."""
        self.log.append("painted")
        return self.name.upper()


@dataclass(kw_only=True)
class Gantry(Crane):
    """A crane made by the standard library."""

    legs: int = 4


def test_what_changes_is_changed_and_is_equal_to_itself_alone() -> None:
    """Fields are set, made by keywords, and found by the standard library; others cannot be added."""
    crane: Any = Crane(name="a")
    crane.angle = 90
    assert (crane.angle, crane.lifted, crane.turns, crane.label, crane.label) == (
        90,
        [],
        3,
        "A",
        "A",
    )
    assert crane.log == ["painted"]
    assert crane != Crane(name="a", angle=90)
    assert len({crane, crane, Crane(name="a")}) == 2
    assert repr(crane) == "Crane(name='a', angle=90, lifted=[], turns=3, log=['painted'])"
    assert replace(crane, name="b").angle == 90
    assert Gantry(name="g", legs=2).legs == 2
    by_place: Any = Crane
    with pytest.raises(TypeError, match="positional"):
        by_place("a")


def test_what_a_class_fills_in_itself_is_taken_from_nobody() -> None:
    """Such fields have values of their own, whether or not the initializer is compiled by then."""
    made = [Crane(name="a") for _ in range(20)]
    assert {one.turns for one in made} == {3}
    assert len({id(one.log) for one in made}) == 20
    anyhow: Any = Crane
    for _ in range(20):
        with pytest.raises(TypeError, match="unexpected keyword argument 'turns'"):
            anyhow(name="a", turns=1)

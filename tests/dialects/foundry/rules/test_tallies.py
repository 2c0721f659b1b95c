"""Tallies that are kept while a spec changes."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.dialects.foundry.models.specs import Tally
from counterpoint.dialects.foundry.nodes.rules.progress import Held, Tallies, Touched, is_leaf


@pytest.fixture
def tallies() -> Tallies:
    """Answer those of a root with a phase of three tasks, one of which holds a task that is done."""
    return Tallies(
        Held(
            parents={"root": "", "phase": "root", "task": "phase"},
            own={"root": Tally(), "phase": Tally(2, 0), "task": Tally(1, 1)},
            gone=frozenset(("former",)),
        )
    )


def test_what_is_counted_is_counted_in_all_above(tallies: Tallies) -> None:
    """And of what holds nothing there is no tally."""
    found = [tallies.of(name) for name in ("root", "phase", "task", "leaf")]
    assert found == [Tally(3, 1), Tally(3, 1), Tally(1, 1), None]
    assert tallies.was_removed("former")
    assert not tallies.was_removed("task")


def test_a_leaf_counts_as_it_was_put_last(tallies: Tallies) -> None:
    """Once all leaves beside it are known; what it changed is told, and nothing if it changed nothing."""
    assert not tallies.knows("phase")
    assert tallies.enter("phase", {"a": True, "b": False}) == ("phase", "root")
    assert tallies.knows("phase")
    assert tallies.put("phase", "b", is_done=True) == ("phase", "root")
    assert tallies.put("phase", "b", is_done=True) == ()
    assert tallies.put("phase", "c", is_done=False) == ("phase", "root")
    assert tallies.of("root") == Tally(4, 3)
    assert tallies.put("phase", "a", is_done=False) == ("phase", "root")
    assert (tallies.of("phase"), tallies.of("task")) == (Tally(4, 2), Tally(1, 1))
    assert tallies.enter("task", {"d": False}) == ("task", "phase", "root")
    assert tallies.of("root") == Tally(4, 1)


def test_leaves_are_forgotten_and_sums_are_not(tallies: Tallies) -> None:
    """They are entered again when one of them changes."""
    tallies.enter("phase", {"a": True, "b": False})
    assert tallies.size() == 5
    tallies.forget_leaves()
    assert (tallies.size(), tallies.knows("phase"), tallies.of("root")) == (3, False, Tally(3, 2))
    assert tallies.enter("phase", {"a": True, "b": True}) == ("phase", "root")
    assert tallies.of("root") == Tally(3, 3)


ITEM = {"t": "items", "k": {"id": "x-1"}}


@pytest.mark.parametrize(
    ("row", "is_reshaped", "are_phases_other"),
    [
        ({**ITEM, "c": {"status": "done"}}, False, False),
        ({**ITEM, "v": {"kind": "task", "parent": "x-2"}}, False, False),
        ({**ITEM, "c": {"parent": "x-3"}}, True, False),
        ({**ITEM, "v": None}, True, False),
        ({"t": "stagings", "k": {"first": 1}, "c": {"status": "made"}}, True, False),
        ({"t": "aliases", "k": {"scope": "node", "name": "n"}, "v": {"item": "x"}}, False, True),
        ({"t": "gates", "k": {"item": "x", "name": "n"}, "c": {"status": "met"}}, False, True),
        ({"t": "records", "k": {"id": "r"}, "v": {"kind": "comment"}}, False, False),
        ({"t": "records", "k": {"id": "r"}, "v": {"kind": "blocker"}}, False, True),
        ({"t": "records", "k": {"id": "r"}, "c": {"status": "resolved"}}, False, True),
        ({"t": "records", "k": {"id": "r"}, "v": None}, False, False),
        ({"t": "claims", "k": {"item": "x"}, "v": {}}, False, False),
    ],
)
def test_what_a_row_of_an_entry_may_change(
    row: dict[str, Any], is_reshaped: bool, are_phases_other: bool
) -> None:
    """Trees by what stands elsewhere or is hidden, lists of phases by what is said of them beside."""
    touched = Touched()
    touched.add({"a": "test.written", "r": [row]})
    assert (touched.is_reshaped, touched.are_phases_other) == (is_reshaped, are_phases_other)
    assert list(touched.items) == (["x-1"] if row["t"] == "items" else [])


def test_an_item_at_another_place_is_told_of() -> None:
    """And so is a text that was taken away: it may be the title of a phase."""
    touched = Touched()
    touched.add({"a": "item.moved", "r": [{**ITEM, "c": {"position": 2}}]})
    assert (touched.placed, touched.are_phases_other) == ({"x-1"}, False)
    touched.add({"a": "text.redacted"})
    assert touched.are_phases_other


def test_a_leaf_is_work_that_was_not_removed() -> None:
    """A phase that holds nothing is none."""
    assert is_leaf("task", "failed")
    assert not is_leaf("task", "cancelled")
    assert not is_leaf("phase", "open")

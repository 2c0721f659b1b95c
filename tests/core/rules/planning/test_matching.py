"""Which items the lines of a plan mean."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.rules.drafting import PlannedItem
from counterpoint.core.rules.planning.matching import KnownItem, Matches, match_plan


class Case(NamedTuple):
    """Lines as `PARENT TITLE`, the first is the plan; items as `ID PARENT TITLE`, behind `!` begun; `#` before a name."""

    lines: tuple[str, ...]
    items: tuple[str, ...]
    ids: dict[int, str]
    unsure_places: tuple[int, ...] = ()
    unsure_ids: tuple[str, ...] = ()
    numbered: tuple[tuple[int, str], ...] = ()


def matches_of(case: Case) -> Matches:
    """Answer what is matched in a case."""
    planned = [PlannedItem(draft=Draft(kind="plan", title="P"), parent=None, position=0)]
    for line in case.lines:
        parent, title, *names = line.split(" ")
        draft = Draft(kind="phase" if title.isupper() else "task", title=title, name="".join(names))
        planned.append(PlannedItem(draft=draft, parent=int(parent), position=len(planned)))
    known: list[KnownItem] = []
    for text in case.items:
        name, parent, title, *names = text.split(" ")
        item = KnownItem(
            id=name, parent=parent, kind="phase" if title.strip("!").isupper() else "task",
            title=title.strip("!"), name="".join(names),
        )  # fmt: skip
        known.append(replace(item, is_begun=title.endswith("!")))
    return match_plan(planned, known, "p", dict(case.numbered))


@pytest.mark.parametrize(
    "case",
    [
        # Nothing is told of what lies below lines or items of one title.
        Case(("0 A", "0 A", "1 x"), ("i p A", "j i x"), {}, (1, 2, 3), ("i", "j")),
        # A name that both have counts, and two that differ part what has one title.
        Case(("0 x n",), ("i p y n",), {1: "i"}),
        Case(("0 x n",), ("i p x m",), {}),
        Case(("0 x n", "0 x"), ("i p x n", "j p x"), {1: "i", 2: "j"}),
        # What has one title in the plan was moved, unless somebody has begun it or its name is another.
        Case(("0 A", "0 B", "1 x", "0 y"), ("i p A", "j p B", "k j x"), {1: "i", 2: "j", 3: "k"}),
        Case(("0 A", "0 B", "1 x"), ("i p A", "j p B", "k j x!"), {1: "i", 2: "j"}),
        Case(("0 A", "0 B", "1 x n"), ("i p A", "j p B", "k j x m"), {1: "i", 2: "j"}),
        # One number tells of a changed title, for work that nobody has begun.
        Case(("0 x", "0 y"), ("i p v", "j p w"), {1: "j", 2: "i"}, numbered=((1, "j"),)),
        Case(("0 x", "0 y"), ("i p v", "j p w!"), {}, numbered=((1, "j"),)),
        Case(("0 x", "0 y"), ("i p v", "j p W"), {}, numbered=((1, "j"),)),
        # So does being the only one left.
        Case(("0 x",), ("i p v",), {1: "i"}),
        Case(("0 x",), ("i p v!",), {}),
        Case(("0 x n",), ("i p v",), {}),
    ],
)  # fmt: skip
def test_lines_mean_items_by_name_title_number_and_place(case: Case) -> None:
    matches = matches_of(case)
    assert matches.ids == {0: "p", **case.ids}
    assert matches.unsure_places == {*case.unsure_places}
    assert matches.unsure_ids == {*case.unsure_ids}

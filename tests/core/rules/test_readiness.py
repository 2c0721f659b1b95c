"""When an item may be taken up, moved on by a word, or begun by one."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from counterpoint.core.model.answers import Obstacle, ObstacleKind
from counterpoint.core.model.lifecycles import Category
from counterpoint.core.model.rows import empty_row, noun_of
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.core.rules.readiness import Surroundings, holds_against_word, judge
from counterpoint.kernel.clock import Timestamp

NOW = Timestamp("2026-01-02T03:00:00.000Z")
EARLIER, LATER = Timestamp("2026-01-02T02:59:59.000Z"), Timestamp("2026-01-02T03:30:00.000Z")


def item(category: Category) -> Item:
    """Answer a task in a state of a category."""
    found = noun_of(Item, tuple(empty_row(Item).values()))
    return replace(found, id="demo-1", kind="task", status=category, category=category)


def around(*obstacles: Obstacle, until: Timestamp | None = None) -> Surroundings:
    """Answer what is around an item; until: when the lease of another session runs out."""
    claim = Claim(
        project="demo", item="demo-1", token=1, session="ses_b", agent="bob", state="live",
        claimed_at=EARLIER, leased_until=until, seconds=1 << 40,
    ) if until else None  # fmt: skip
    return Surroundings(obstacles=obstacles, claim=claim, busy={})


def in_the_way(kind: ObstacleKind) -> Obstacle:
    """Answer an obstacle of a kind; the thing does not matter."""
    return Obstacle(kind=kind, item=item("open"), thing=item("open"))


@pytest.mark.parametrize(
    ("category", "until", "is_waiting", "is_ready", "may_go_on"),
    [
        ("open", None, False, True, True),
        ("open", None, True, False, False),
        ("active", None, False, True, True),
        ("active", None, True, False, True),
        ("active", EARLIER, True, False, True),
        ("active", LATER, False, False, False),
        ("review", None, False, False, True),
    ],
)
def test_what_was_begun_goes_on_unless_another_holds_it(
    category: Category, until: Timestamp | None, is_waiting: bool, is_ready: bool, may_go_on: bool
) -> None:
    """Though it is not ready to be taken up: that asks for more."""
    obstacles = (in_the_way("need"),) if is_waiting else ()
    found = judge(item(category), around(*obstacles, until=until), "ses_a", NOW)
    assert (found.is_ready, found.may_go_on) == (is_ready, may_go_on)


@pytest.mark.parametrize("category", ["open", "active", "review", "done", "dropped"])
def test_a_word_is_refused_by_needs_and_gates_only(category: Category) -> None:
    """And only for what it would begin."""
    obstacles = [in_the_way(kind) for kind in get_args(ObstacleKind)]
    found = [one.kind for one in holds_against_word(item(category), obstacles)]
    assert found == (["need", "gate"] if category == "open" else [])

"""What an item waits for at its end, and what was sent back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.model.answers import Step
from counterpoint.core.model.journal import Submission, Verdict
from counterpoint.core.model.lifecycles import Category
from counterpoint.core.model.rows import empty_row, noun_of
from counterpoint.core.model.work import GateKind, Item
from counterpoint.core.rules.trust.callers import rejection_of, step_of
from counterpoint.kernel.clock import Timestamp

EARLIER, NOW = Timestamp("2026-01-02T02:59:59.000Z"), Timestamp("2026-01-02T03:00:00.000Z")


def item(category: Category, kind: str = "phase") -> Item:
    """Answer an item in a state of a category."""
    found = noun_of(Item, tuple(empty_row(Item).values()))
    return replace(found, id="demo-1", kind=kind, status=category, category=category)


def rejection() -> Verdict:
    """Answer a verdict that sends back what was handed in as demo-s1."""
    found = noun_of(Verdict, tuple(empty_row(Verdict).values()))
    return replace(found, decision="reject", submission="demo-s1", created_at=NOW)


def handed(number: str, at: Timestamp) -> Submission:
    """Answer what was handed in."""
    found = noun_of(Submission, tuple(empty_row(Submission).values()))
    return replace(found, id=number, created_at=at)


@pytest.mark.parametrize(
    ("category", "closed", "is_whole", "step"),
    [
        ("done", ("review",), True, None),
        ("review", ("review",), True, "review"),
        ("review", ("check",), True, None),
        ("active", ("review",), True, "submit"),
        ("active", ("artifact",), True, "submit"),
        ("active", ("check",), True, None),
        ("active", ("review",), False, None),
    ],
)
def test_an_item_waits_for_what_its_gates_and_its_work_say(
    category: Category, closed: tuple[GateKind, ...], is_whole: bool, step: Step | None
) -> None:
    """A verdict while one is asked for; before that to be handed in, once all below it is done."""
    assert step_of(item(category), closed, None, is_whole=is_whole) == step


def test_what_was_sent_back_is_mended_before_anything_else_and_a_task_is_handed_in_by_its_claim() -> (
    None
):
    """Of what is closed nothing is asked any more."""
    assert step_of(item("active"), ("review",), rejection(), is_whole=True) == "mend"
    assert step_of(item("done"), (), rejection(), is_whole=True) is None
    assert step_of(item("active", "task"), ("review",), None, is_whole=True) is None


def test_a_rejection_counts_until_the_work_is_handed_in_anew() -> None:
    """Not by what was rejected itself, nor by what came before; and not where the work goes on elsewhere."""
    verdict = rejection()
    for before in (None, handed("demo-s1", NOW), handed("demo-s0", EARLIER)):
        assert rejection_of(item("active"), verdict, before) is verdict
    assert rejection_of(item("open"), verdict, handed("demo-s2", NOW)) is None
    assert rejection_of(item("review"), verdict, None) is None
    assert rejection_of(item("active"), None, None) is None
    assert rejection_of(item("active"), replace(verdict, decision="approve"), None) is None

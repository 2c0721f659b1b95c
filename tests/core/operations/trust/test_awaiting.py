"""What waits for a submission, a verdict or a repair."""

from __future__ import annotations

import pytest

from counterpoint.core.model.answers import Awaiting
from counterpoint.core.model.filters import Judgment, ReadyFilter, Report

DONE = Report(outcome="done", summary="it works")
NO = Judgment(approves=False, reason="too thin", fixes=("add a wall", "paint it"))
YES = Judgment(approves=True, reason="good")
TEXT = "# Plan\n## One\n- review: yes\n- [ ] A\n- [ ] B\n## Two\n- [ ] C\n  - review: yes\n"


@pytest.fixture
def ids(ada):
    """Give a plan with a reviewed phase of two tasks, and a reviewed task, by titles."""
    return {i.title: i.id for i in ada.plans.create(ada.plans.read(TEXT)).items}


def finish(core, item):
    """Start and finish a task."""
    return core.tasks.finish(item, core.claims.start(item).claim.token, DONE).item


def told(core) -> list[tuple[str, str, bool]]:
    """Answer what waits, as a caller sees it."""
    return [(one.item.title, one.step, one.is_mine) for one in core.awaiting.list()]


def test_a_phase_waits_for_who_hands_it_in_when_its_last_task_has_ended(ada, bob, ids):
    """Not before; whoever worked on it is told that it is his."""
    assert ada.awaiting.above(finish(ada, ids["A"])) is None
    assert told(ada) == []
    above = ada.awaiting.above(finish(ada, ids["B"]))
    assert isinstance(above, Awaiting)
    assert (above.item.id, above.step, above.is_whole) == (ids["One"], "submit", True)
    assert (told(ada), told(bob)) == ([("One", "submit", True)], [("One", "submit", False)])


def test_what_was_sent_back_waits_for_its_repair_until_it_is_handed_in_anew(ada, bob, ids):
    """Then it waits for a verdict again; an approval ends that."""
    finish(ada, ids["A"])
    finish(ada, ids["B"])
    ada.reviews.submit(ids["One"], "", "see")
    assert told(bob) == [("One", "review", False)]
    verdict = bob.reviews.review(ids["One"], NO).verdict
    (back,) = ada.awaiting.list()
    assert (back.step, back.is_mine, back.rejection) == ("mend", True, verdict)
    assert ada.overview.facets(ids["One"]).rejection == verdict
    (repair,) = [
        offer.item
        for offer in ada.ready.offers(ReadyFilter(), 9)
        if offer.item.parent == ids["One"]
    ]
    assert repair.title == f"Mend {ids['One']}: One"
    assert repair.body.endswith("too thin\n\n- add a wall\n- paint it")
    finish(ada, repair.id)
    ada.reviews.submit(ids["One"], "", "again")
    assert told(ada) == [("One", "review", True)]
    assert ada.overview.facets(ids["One"]).rejection is None
    bob.reviews.review(ids["One"], YES)
    assert told(ada) == []


def test_a_rejected_task_waits_for_its_repair_and_then_for_a_verdict(ada, bob, ids):
    """It is open again for whoever takes it."""
    for title in ("A", "B"):
        finish(ada, ids[title])
    ada.reviews.submit(ids["One"], "", "see")
    bob.reviews.review(ids["One"], YES)
    waits = ada.awaiting.above(finish(ada, ids["C"]))
    assert waits is not None
    assert (waits.item.title, waits.step) == ("C", "review")
    bob.reviews.review(ids["C"], NO)
    assert told(ada) == [("C", "mend", True)]
    finish(ada, ids["C"])
    assert told(ada) == [("C", "review", True)]
    bob.reviews.review(ids["C"], YES)
    assert ada.awaiting.above(ada.items.get(ids["C"])) is None


def test_a_rejection_is_answered_by_work_handed_in_since(ada, bob, ids):
    """A task that is handed in under its claim, after it was sent back, waits for nothing else."""
    token = ada.claims.start(ids["A"]).claim.token
    bob.reviews.review(ids["A"], NO)
    assert told(ada) == [("A", "mend", True)]
    ada.reviews.submit(ids["A"], "", "again", token)
    assert told(ada) == []
    ada.claims.start(ids["B"])
    bob.reviews.review(ids["B"], YES)
    assert told(ada) == []

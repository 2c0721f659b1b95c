"""Following the ledger: in order, none missed, none twice, from any sequence on."""

from __future__ import annotations

import threading

import pytest

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note
from counterpoint.core.operations.recording.unit import transaction
from counterpoint.core.queries.feed import MOST_ENTRIES
from counterpoint.kernel.errors import InvalidInput
from fakes.studio import Studio

PATIENCE = 20.0
NOTE = Note(kind="comment", body="Ahoy")


@pytest.fixture
def tree(ada):
    """Give a plan with one phase of two tasks; answer root, phase and tasks."""
    tasks = tuple(Draft(kind="task", title=f"task {n}") for n in (1, 2))
    made = ada.plans.create(
        Draft(kind="plan", title="plan", children=(Draft(kind="phase", title="p", children=tasks),))
    )
    root, phase, *rest = (item.id for item in made.items)
    return root, phase, rest


def test_entries_come_in_order_from_where_one_was(ada):
    """A page has so many at most; the next begins after its last."""
    for _ in range(7):
        ada.journal.append(NOTE)
    seen, after = [], -1
    while page := ada.feed.entries(after, 3):
        assert len(page) <= 3
        seen += [entry.sequence for entry in page]
        after = seen[-1]
    assert seen == list(range(ada.feed.last() + 1))


@pytest.mark.parametrize("after", [-2, 1000])
def test_a_sequence_that_was_never_given_out_is_refused(studio, ada, after):
    """Who comes with another ledger's number is told where this one ends."""
    refusal = studio.refuses(InvalidInput, lambda: ada.feed.entries(after))
    assert refusal.facts["last"] == ada.feed.last()


@pytest.mark.parametrize("limit", [0, MOST_ENTRIES + 1])
def test_a_page_has_a_size(studio, ada, limit):
    """Nothing is clamped."""
    studio.refuses(InvalidInput, lambda: ada.feed.entries(-1, limit))


def test_nothing_in_time_is_an_empty_answer(ada):
    """Neither an error nor a wait without an end."""
    assert ada.feed.entries(ada.feed.last()) == []
    assert ada.feed.entries(ada.feed.last(), timeout=0.02) == []


def test_who_waits_hears_the_next_entry(ada, bob):
    """And only what came after."""
    last = ada.feed.last()
    heard = []
    follower = threading.Thread(
        target=lambda: heard.extend(ada.feed.entries(last, timeout=PATIENCE))
    )
    follower.start()
    bob.journal.append(NOTE)
    follower.join(PATIENCE)
    assert [(entry.sequence, entry.action) for entry in heard] == [(last + 1, "comment.recorded")]


def test_nobody_waits_inside_of_a_write(studio, ada):
    context = studio.context(ada)
    ada.feed._context = context
    with transaction(context), pytest.raises(AssertionError, match="begun to write"):
        ada.feed.entries(ada.feed.last(), timeout=PATIENCE)


def test_followers_of_a_file_hear_all_that_many_write(tmp_path):
    studio = Studio(tmp_path / "ledger.db")
    total = studio.core("eve").feed.last() + 1 + 8 * 20

    def write(name):
        core = studio.core(name)
        for _ in range(20):
            core.journal.append(NOTE)

    def follow(heard, limit):
        core = studio.core("eve")
        while len(heard) < total:
            found = core.feed.entries(len(heard) - 1, limit, PATIENCE)
            heard += [entry.sequence for entry in found]

    heards = ([], [], [])
    threads = [
        threading.Thread(target=follow, args=(heard, limit))
        for heard, limit in zip(heards, (1, 7, 1000), strict=True)
    ]
    threads += [threading.Thread(target=write, args=(f"agent {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert all(heard == list(range(total)) for heard in heards)
    studio.check()
    studio.close()


def test_an_entry_concerns_its_item_and_all_that_hold_it(ada, tree):
    """What is shown of the phase and of the plan is another thing now too."""
    root, phase, (task, _) = tree
    ada.journal.append(Note(kind="comment", body="Ahoy", item=task))
    (entry,) = ada.feed.entries(ada.feed.last() - 1)
    assert ada.feed.concerned(entry) == (task, phase, root)


def test_an_entry_concerns_every_item_whose_row_it_wrote(ada, tree):
    """A blocker of the phase stands in the way of its tasks."""
    root, phase, tasks = tree
    ada.journal.append(Note(kind="blocker", body="no dock", item=phase))
    (entry,) = ada.feed.entries(ada.feed.last() - 1)
    found = ada.feed.concerned(entry)
    assert found[:2] == (phase, root)
    assert sorted(found) == sorted((phase, root, *tasks))


def test_an_entry_about_nothing_concerns_nothing(ada):
    """A note of the whole project has no item."""
    ada.journal.append(NOTE)
    (entry,) = ada.feed.entries(ada.feed.last() - 1)
    assert ada.feed.concerned(entry) == ()

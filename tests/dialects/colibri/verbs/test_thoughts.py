"""Thinking aloud: chains that hold for any number of writers, and what is found in them."""

from __future__ import annotations

import apsw
import pytest

from counterpoint.core.ledger.entry import GENESIS
from counterpoint.core.ledger.thoughts import link_of
from counterpoint.core.model.filters import Handover
from counterpoint.core.model.journal import Record
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.kernel.errors import NotFound, SessionEnded
from fakes.studio import Studio
from fakes.texts import kept_as


@pytest.fixture
def tasks(ada):
    """Give two tasks."""
    return ada.plans.create(ada.plans.read("# Plan\n- [ ] A\n- [ ] B\n")).ready


def test_a_thought_is_a_record_with_a_place_in_a_chain(studio, ada, tasks):
    """The text stands in the record, what is hashed beside it; the entry tells of both."""
    first = ada.use(Thoughts).think("plan", "look first\nthen leap", task=tasks[0])
    second = ada.use(Thoughts).think(
        "reflection", "leapt", task=tasks[0], agent="ada's aid", title="T"
    )
    assert (first.record.kind, first.record.title) == ("thought", "look first")
    assert (first.record.item, first.record.session) == (tasks[0], ada.caller.actor.session)
    assert (first.thought.sequence, first.thought.previous) == (0, GENESIS)
    with studio.view() as view:
        assert first.thought.content == kept_as(view, "look first\nthen leap")
    assert (first.thought.agent, first.thought.number) == ("ada", first.record.number)
    assert (second.thought.sequence, second.thought.previous) == (1, first.thought.hash)
    assert (second.thought.agent, second.record.title) == ("ada's aid", "T")
    assert link_of(second.thought).leaf.hex() == second.thought.hash
    (entry,) = ada.audit.log(limit=1)
    assert (entry.action, entry.subject) == ("thought.chained", tasks[0])
    assert entry.facts == {"record": second.record.id, "type": "reflection", "place": 1}
    assert [image.table for image in entry.rows] == ["records", "thoughts"]
    assert ada.use(Thoughts).get(second.record.id) == second


def test_chains_of_two_tasks_do_not_touch(ada, bob, tasks):
    """Each begins with zeros; who writes does not matter."""
    made = [
        core.use(Thoughts).think("plan", f"{number}", task=tasks[number % 2]).thought
        for number, core in enumerate([ada, bob, bob, ada])
    ]
    assert [one.sequence for one in made] == [0, 0, 1, 1]
    assert [one.previous for one in made] == [GENESIS, GENESIS, made[0].hash, made[1].hash]
    assert ada.use(Thoughts).verify().size == 4
    assert ada.use(Thoughts).verify(tasks[0]).size == 2


def test_a_thought_about_nothing_there_is_refused(studio, ada, tasks):
    """A task of another project and none at all are the same."""
    studio.refuses(NotFound, lambda: ada.use(Thoughts).think("plan", "x", task="demo-99"))
    studio.refuses(NotFound, lambda: ada.use(Thoughts).verify("demo-99"))
    studio.refuses(NotFound, lambda: ada.use(Thoughts).get("demo-r99"))


def test_a_record_that_was_not_chained_is_no_thought_here(studio, ada, tasks):
    """A native record of the same kind stands beside the chains."""
    first = ada.use(Thoughts).think("plan", "chained", task=tasks[0])
    with studio.store.writing("demo") as writing:
        writing.drop(type(first.record), {"id": first.record.id})
    studio.refuses(NotFound, lambda: ada.use(Thoughts).get(first.record.id))
    with studio.store.writing("demo") as writing:
        writing.drop(type(first.thought), {"record": first.record.id})
    assert ada.use(Thoughts).list() == []
    studio.check = lambda: None  # the store was changed behind the product's back


def test_an_ended_session_thinks_no_more(studio, ada, tasks):
    """As with every other write."""
    ada.use(Thoughts).think("plan", "x", task=tasks[0])
    ada.sessions.hand_over(Handover(action="end", summary="bye"))
    studio.refuses(SessionEnded, lambda: ada.use(Thoughts).think("plan", "y", task=tasks[0]))


def test_a_person_thinks_without_a_session(person, tasks):
    """The chain is the task's, not the session's."""
    made = person.use(Thoughts).think("decision", "so be it", task=tasks[0])
    assert made.thought.session == ""
    assert person.use(Thoughts).verify().sound


def test_a_secret_is_masked_before_it_is_hashed(tasks):
    """What is kept is what was hashed, so that the chain holds for everybody."""
    studio = Studio(find_secrets=lambda: frozenset({"open-sesame-7"}))
    ada = studio.core("ada")
    task = ada.plans.create(ada.plans.read("# Plan\n- [ ] A\n")).ready[0]
    made = ada.use(Thoughts).think("plan", "say open-sesame-7 to it", task=task)
    assert "open-sesame-7" not in made.record.body
    with studio.view() as view:
        assert made.thought.content == kept_as(view, made.record.body)
    assert ada.use(Thoughts).get(made.record.id) == made
    assert ada.use(Thoughts).verify().sound
    studio.close()


def test_more_thoughts_than_one_question_asks_for_are_listed(ada, tasks):
    """The records are read in portions."""
    for number in range(205):
        ada.use(Thoughts).think("plan", f"t{number}", task=tasks[0])
    found = ada.use(Thoughts).list(limit=None)
    assert [one.record.body for one in found] == [f"t{number}" for number in range(205)]
    assert ada.use(Thoughts).verify().size == 205


TAMPERINGS = {
    "agent": ("UPDATE thoughts SET agent = 'eve' WHERE sequence = 1", ["demo-r2"]),
    "type": ("UPDATE thoughts SET type = 'plan' WHERE sequence = 1", ["demo-r2"]),
    "session": ("UPDATE thoughts SET session = '' WHERE sequence = 1", ["demo-r2"]),
    "hash": ("UPDATE thoughts SET hash = content WHERE sequence = 1", ["demo-r2", "demo-r3"]),
    "removed": ("DELETE FROM thoughts WHERE sequence = 1", ["demo-r3"]),
    "last removed": ("DELETE FROM thoughts WHERE sequence = 3", ["demo-r3"]),
    "all removed": ("DELETE FROM thoughts", []),
    "no record": ("DELETE FROM records WHERE id = 'demo-r2'", ["demo-r2"]),
    "record of another": ("UPDATE records SET item = 'demo-1' WHERE id = 'demo-r2'", ["demo-r2"]),
    "text": ("UPDATE texts SET body = 'else' WHERE body = 't1'", ["demo-r2"]),
    "swapped texts": (
        (
            "UPDATE records SET body = (SELECT body FROM records WHERE id = 'demo-r1')"
            " WHERE id = 'demo-r2'"
        ),
        ["demo-r2"],
    ),
    "ledger": ("UPDATE entries SET data = x'7b7d' WHERE action = 'thought.chained'", ["demo-r4"]),
    "ledger cut": (
        "UPDATE entries SET action = 'x.y' WHERE action = 'thought.chained'",
        ["demo-r4"],
    ),
}


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("statement", "broken"), TAMPERINGS.values(), ids=TAMPERINGS)
def test_what_was_done_to_a_chain_is_found(tmp_path, statement, broken, whole):
    """In one task as in all of them; the thoughts are named."""
    place = tmp_path / "store.db"
    studio = Studio(place)
    ada = studio.core("ada")
    task = ada.plans.create(ada.plans.read("# Plan\n- [ ] A\n")).ready[0]
    for number in range(4):
        ada.use(Thoughts).think("analysis", f"t{number}", task=task)
    assert ada.use(Thoughts).verify("" if whole else task).sound
    connection = apsw.Connection(str(place))
    for trigger in ("entries_follow", "entries_stay", "entries_remain"):
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute(statement)
    assert connection.changes()
    connection.close()
    found = ada.use(Thoughts).verify("" if whole else task)
    assert not found.sound
    assert list(found.broken) == broken
    assert all(fault.hint for fault in found.faults)
    studio.close()


def test_a_redacted_thought_still_holds_its_place(ada, person, tasks):
    """The digest was hashed, not the text."""
    made = ada.use(Thoughts).think("plan", "a private word", task=tasks[0])
    ada.use(Thoughts).think("plan", "another", task=tasks[0])
    person.erasing.of_row(Record, made.record.id, reason="private")
    found = ada.use(Thoughts).verify(tasks[0])
    assert (found.sound, found.redacted, found.size) == (True, 1, 2)

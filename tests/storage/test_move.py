"""Moving a project between stores: whole and the same, or not at all."""

from __future__ import annotations

import pytest

from counterpoint.app import NOUNS
from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import Conflict, NotFound, StateDiffers
from counterpoint.storage.move import move_project
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.looking import faults_of


@pytest.fixture
def source(tmp_path, written):
    """Give a file with a project that agents worked on."""
    opened = SqliteStore(tmp_path / "source.db", nouns=NOUNS)
    written(opened)
    yield opened
    opened.close()


def _assert_same(one, other):
    with one.reading("demo") as here, other.reading("demo") as there:
        assert list(here.entries()) == list(there.entries())
        assert list(here.texts()) == list(there.texts())
        assert here.head() == there.head()
        for noun in NOUNS:
            assert list(here.table(noun)) == list(there.table(noun))
        found = [sorted(hit.key for hit in view.search(["walnut"])) for view in (here, there)]
    assert len(found[0]) > 1
    assert found[0] == found[1]


def test_a_moved_project_is_the_same_in_every_store(store, source, tmp_path):
    """There and back: entries, texts, head, tables and what the search finds."""
    told = []
    moved = move_project(source, store, "demo", told.append)
    _assert_same(source, store)
    assert faults_of(store) == []
    back = SqliteStore(tmp_path / "back.db", nouns=NOUNS)
    assert move_project(store, back, "demo") == moved
    _assert_same(source, back)
    back.close()
    assert told[0] == 0
    assert moved.size > 3
    assert len(moved.root) == 64


def test_a_project_that_is_there_already_is_left_alone(store, source):
    """The second move is refused and changes nothing."""
    moved = move_project(source, store, "demo")
    with pytest.raises(Conflict, match="demo"):
        move_project(source, store, "demo")
    with store.reading("demo") as reading:
        assert reading.head().size == moved.size


def test_a_project_that_there_is_not_cannot_be_moved(store, source):
    """The refusal names it."""
    with pytest.raises(NotFound, match="other"):
        move_project(source, store, "other")


def test_tables_that_left_their_ledger_are_not_moved(store, source):
    """What the entries do not say does not arrive, and nothing stays of the attempt."""
    with source.writing("demo") as writing:
        (first, *_) = writing.select(Item)
        writing.change(Item, {"id": first.id}, {"assignee": "said by no entry"})
    with pytest.raises(StateDiffers, match="items"):
        move_project(source, store, "demo")
    with store.reading("demo") as reading:
        assert reading.head().size == 0
        assert not reading.exists(Item)
        assert list(reading.texts()) == []

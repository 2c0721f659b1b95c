"""What every database promises about transactions and neighbouring projects."""

from __future__ import annotations

import threading

import pytest

from counterpoint.app import NOUNS
from counterpoint.core.model.work import Item
from counterpoint.core.ports.store import Head
from counterpoint.kernel.errors import LedgerBroken
from fakes.looking import faults_of
from fakes.texts import kept_as, retitle


def test_a_block_that_raises_leaves_nothing_behind(store, task, save, entry):
    """Rows, texts, entries and the search are undone together."""

    def interrupted() -> None:
        with store.writing("p") as writing:
            save(writing, task(1, title="Orchard", body="apples"))
            writing.append(entry(0))
            assert writing.search(["apples"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    with store.reading("p") as reading:
        assert reading.select(Item) == []
        assert list(reading.texts()) == []
        assert reading.head().size == 0
        assert reading.search(["apples"]) == []
    with store.writing("p") as writing:
        save(writing, task(1))
    assert faults_of(store) == []


def test_errors_of_the_block_come_out_as_they_are(store):
    """Only what the database itself says is translated."""
    with pytest.raises(FileNotFoundError), store.writing("p"):
        raise FileNotFoundError("not of the database")
    with pytest.raises(PermissionError), store.reading("p"):
        raise PermissionError("not of the database")


def test_a_reading_sees_one_moment(file_store, task, save):
    """What is written meanwhile is seen by the next reading."""
    with file_store.reading("p") as reading:
        assert not reading.exists(Item)
        with file_store.writing("p") as writing:
            save(writing, task(1))
        assert not reading.exists(Item)
    with file_store.reading("p") as reading:
        assert reading.exists(Item)


def test_a_reading_inside_a_writing_gets_along(store, task, save):
    with store.writing("p") as writing:
        save(writing, task(1))
        with store.reading("p") as reading:
            reading.exists(Item)
    with store.reading("p") as reading:
        assert reading.exists(Item)


def test_a_writing_inside_a_writing_is_a_fault_of_the_program(store):
    """It could only wait for itself."""
    with store.writing("p"), pytest.raises(AssertionError), store.writing("p"):
        pass


def test_threads_that_count_lose_no_count(store, task, save):
    """Read and write in one transaction is atomic: eight threads count to eighty."""
    with store.writing("p") as writing:
        save(writing, task(1, version=0))

    def count() -> None:
        for _ in range(10):
            with store.writing("p") as writing:
                seen = writing.find(Item, "T-1").version
                writing.change(Item, {"id": "T-1"}, {"version": seen + 1})
            with store.reading("p") as reading:
                assert reading.find(Item, "T-1").version > seen

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    with store.reading("p") as reading:
        assert reading.find(Item, "T-1").version == 80


def test_projects_do_not_see_each_other(store, example, task, save, entry):
    """Whatever one project holds, every question of another is answered with nothing."""
    with store.writing("a") as writing:
        for noun in NOUNS:
            save(writing, example(noun, project="a"))
        save(writing, task(2, project="a", title="Walnut", body="secret words"))
        writing.append(entry(0))
        writing.append(entry(1))
        name = kept_as(writing, "secret words")
    with store.writing("b") as reading:
        for noun in NOUNS:
            one = example(noun)
            key = [getattr(one, name) for name in noun.key if name != "project"]
            if key:
                assert reading.find(noun, *key) is None
            assert reading.select(noun) == []
            assert list(reading.table(noun)) == []
            assert not reading.exists(noun)
            assert reading.counts(noun, noun.key[-1]) == {}
        assert reading.last_number(Item) == 0
        assert reading.search(["walnut", "secret"]) == []
        save(reading, task(3, project="b", title="Walnut"))
        assert [hit.key for hit in reading.search(["walnut", "secret"])] == ["T-3"]
        assert reading.text(name) is None
        assert [kept.body for _, kept in reading.texts()] == ["Walnut"]
        assert reading.head() == Head(size=0, leaf="", time="", frontier=b"")
        assert list(reading.entries()) == []
        assert reading.sequences() == []
        for level in (0, 1):
            with pytest.raises(LedgerBroken):
                reading.node(level, 0)
    with store.reading("a") as reading:
        assert [hit.key for hit in reading.search(["walnut"])] == ["T-2"]


def test_the_same_keys_live_in_two_projects(store, task, save, entry):
    """A change, a drop and a ledger of one leave the other's as they are."""
    for name in ("a", "b"):
        with store.writing(name) as writing:
            save(writing, task(1, project=name, body=name))
            writing.append(entry(0))
    with store.writing("a") as writing:
        retitle(writing, "T-1", "changed")
        writing.drop(Item, {"id": "T-1"})
        writing.append(entry(1))
    with store.reading("b") as reading:
        assert reading.find(Item, "T-1") == task(1, project="b", body="b")
        assert reading.head().size == 1

"""What every database does with rows: put, find, change, drop, select, count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.app import NOUNS
from counterpoint.core.model.catalogue import OF_PLANS
from counterpoint.core.model.rows import columns, image_of
from counterpoint.core.model.work import Alias, Criterion, Item, Label, Project, Staging
from counterpoint.core.ports.store import Patch
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import StateDiffers
from fakes.texts import Kept

NOW = Timestamp("2026-11-20T10:00:00.000Z")


def test_a_row_of_every_noun_comes_back_as_it_was(store, example, save):
    """What is put under a key is found under it, each field of its type."""
    for noun in NOUNS:
        one = example(noun)
        key = [getattr(one, name) for name in noun.key if name != "project"]
        with store.writing("p") as writing:
            save(writing, one)
            assert writing.find(noun, *key) == one
        with store.reading("p") as reading:
            assert reading.find(noun, *key) == one
            assert reading.select(noun) == [one]
            assert reading.exists(noun)


def test_a_raw_row_holds_half_of_each_commitment_in_place_of_prose(store, example, save):
    with store.writing("p") as writing:
        save(writing, *map(example, NOUNS))
    with store.reading("p") as reading:
        for noun in NOUNS:
            row = image_of(example(noun), Kept().keep)
            (raw,) = reading.table(noun)
            for column, cell in zip(columns(noun), raw, strict=True):
                expected = row[column.name][:32] if column.is_prose else row[column.name]
                assert column.sort == "list" or cell == expected, (noun, column)


def test_a_dropped_row_is_gone(store, example, save):
    with store.writing("p") as writing:
        save(writing, *map(example, NOUNS))
        for noun in NOUNS:
            key = {name: getattr(example(noun), name) for name in noun.key}
            writing.drop(noun, key)
            assert not writing.exists(noun), noun
            with pytest.raises(StateDiffers):
                writing.drop(noun, key)


def test_a_second_put_replaces_the_row(store, task, save):
    with store.writing("p") as writing:
        save(writing, task(1, title="first"), task(1, title="second"))
        assert [item.title for item in writing.select(Item)] == ["second"]


def test_a_change_sets_some_columns(store, task, save):
    with store.writing("p") as writing:
        save(writing, task(1, body="stays"))
        writing.change(Item, {"id": "T-1"}, {"status": "active", "version": 2})
        found = writing.find(Item, "T-1")
    assert (found.status, found.version, found.body) == ("active", 2, "stays")


def test_a_change_of_a_missing_row_is_refused(store):
    """A change that meets no row would let the tables leave the ledger."""
    with store.writing("p") as writing, pytest.raises(StateDiffers, match="T-9"):
        writing.change(Item, {"id": "T-9"}, {"status": "active"})


def test_a_change_of_the_key_is_a_fault_of_the_program(store, task, save):
    with store.writing("p") as writing:
        save(writing, task(1))
        with pytest.raises(AssertionError):
            writing.change(Item, {"id": "T-1"}, {"id": "T-2"})


def test_columns_of_many_rows_are_read_and_changed_at_once(store, task, save):
    """What else is in them stays; a row that is not there undoes all of it."""
    patches = [Patch((f"T-{number}",), (number, 7)) for number in (1, 3)]
    with store.writing("p") as writing:
        save(writing, *(task(number, body="stays") for number in (1, 2, 3)))
        writing.find(Item, "T-1")
        writing.change_each(Item, ("position", "blockers"), patches)
        assert writing.find(Item, "T-1").blockers == 7
        assert writing.cells(Item, ("number", "id"), blockers=7) == [(1, "T-1"), (3, "T-3")]
    with store.reading("p") as reading:
        assert reading.cells(Item, ("position", "blockers"), id=("T-2", "T-3")) == [(2, 0), (3, 7)]
        assert {item.body for item in reading.select(Item)} == {"stays"}
    with pytest.raises(StateDiffers, match="2 rows"), store.writing("p") as writing:
        writing.change_each(Item, ("held",), [Patch(("T-2",), (5,)), Patch(("T-9",), (5,))])
    with store.reading("p") as reading:
        assert reading.cells(Item, ("id",), held=5) == []


@pytest.mark.parametrize("written", ["id", "title", "nothing"])
def test_neither_names_nor_texts_are_changed_row_by_row(store, task, save, written):
    """A text has its commitment, and what is searched is indexed."""
    with store.writing("p") as writing:
        save(writing, task(1))
        with pytest.raises(AssertionError):
            writing.change_each(Item, (written,), [Patch(("T-1",), ("x",))])


def test_filters_take_one_value_or_several(store, task, save):
    """A tuple means any of its values; an empty one means none."""
    with store.writing("p") as writing:
        save(writing, task(1), task(2, category="active"), task(3, category="done"))
        assert [i.number for i in writing.select(Item, category="done")] == [3]
        assert [i.number for i in writing.select(Item, category=("open", "active"))] == [1, 2]
        assert writing.select(Item, category=()) == []
        assert writing.exists(Item, category="done", number=3)
        assert not writing.exists(Item, category="done", number=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"nothing": 1},
        {'id" = "id" OR "id': "x"},
        {"order": "id; DROP TABLE items"},
        {"order": "id sideways"},
        {"order": "id,number", "after": ["T-1"]},
    ],
    ids=["no column", "injected column", "injected order", "no direction", "too few values"],
)
def test_an_unknown_name_never_becomes_sql(store, wrong):
    """Names that are not columns are a fault of the program and reach no statement."""
    with store.reading("p") as reading, pytest.raises(AssertionError):
        reading.select(Item, **wrong)


def test_hostile_values_are_only_values(store, task, save):
    """Nothing in a value is syntax."""
    hostile = "'; DROP TABLE items; -- \" \\ \0 ☃"
    with store.writing("p") as writing:
        save(writing, task(1, title=hostile, body=hostile, assignee=hostile))
        (found,) = writing.select(Item, assignee=hostile)
    assert found.title == found.body == hostile


@pytest.mark.parametrize(
    "order", ["number", "number desc", "priority,number", "priority desc,number desc",
              "priority,number desc", "priority desc,assignee,number desc"]
)  # fmt: skip
def test_pages_follow_each_other_without_gap_or_repeat(store, task, save, order):
    """Whatever the order, going on after the last row of a page gives the next rows."""
    items = [task(n, priority=n * 7 % 3, assignee="ab"[n * 5 % 7 % 2]) for n in range(1, 30)]
    names = [part.split(" ")[0] for part in order.split(",")]
    with store.writing("p") as writing:
        save(writing, *items)
        whole = writing.select(Item, order=order)
        paged: list[Item] = []
        after: list[object] = []
        while page := writing.select(Item, order=order, after=after, limit=4):
            paged += page
            after = [getattr(page[-1], name) for name in names]
    assert paged == whole
    assert sorted(paged, key=lambda item: item.number) == items


def test_rows_come_by_key_unless_an_order_is_named(store, example, save):
    with store.writing("p") as writing:
        save(writing, *(example(Criterion, item="T-1", position=n) for n in (10, 9, 2)))
        assert [c.position for c in writing.select(Criterion)] == [2, 9, 10]
        assert [row[2] for row in writing.table(Criterion)] == [2, 9, 10]


def test_counts_are_by_value(store, task, save):
    with store.writing("p") as writing:
        save(writing, task(1), task(2), task(3, category="done", parent="T-1"))
        assert writing.counts(Item, "category") == {"done": 1, "open": 2}
        assert writing.counts(Item, "category", parent="T-1") == {"done": 1}
        both = writing.counts_by(Item, ("status", "category"))
        assert both == {("open", "done"): 1, ("open", "open"): 2}
        assert writing.counts(Label, "name") == {}


def test_the_last_number_is_the_highest(store, task, save):
    with store.writing("p") as writing:
        assert writing.last_number(Item) == 0
        save(writing, task(9), task(10))
        assert writing.last_number(Item) == 10


def test_a_row_of_another_project_cannot_be_written(store, task, save):
    with store.writing("p") as writing:
        with pytest.raises(AssertionError):
            save(writing, task(1, project="other"))
        with pytest.raises(AssertionError):
            writing.drop(Item, {"project": "other", "id": "T-1"})


def test_all_projects_are_listed_by_id(store, example, save):
    assert store.projects() == []
    for name in ("two", "one"):
        with store.writing(name) as writing:
            save(writing, example(Project, project=name))
    assert [project.project for project in store.projects()] == ["one", "two"]


def test_nothing_of_a_plan_under_way_is_found(store, task, save, example):
    """Neither items nor what hangs on them, by key, filter, count, word or place; their numbers are taken."""
    hidden, shown = task(2, title="okapi"), task(5, title="okapi")
    hanging = [example(noun, item=one.id) for noun in OF_PLANS for one in (hidden, shown)]
    hanging = [
        replace(one, name=f"{one.name}-{one.item}") if isinstance(one, Alias) else one
        for one in hanging
    ]
    staging = Staging(
        project="p", first=2, last=4, status="hidden", until="", agent="a", session="", begun_at=NOW
    )
    with store.writing("p") as writing:
        save(writing, staging, hidden, *hanging)
        assert writing.last_number(Item) == 4
        save(writing, shown)
        assert (writing.last_number(Item), writing.find(Item, "T-2")) == (5, None)
    with store.writing("p") as writing:
        assert (writing.find(Item, "T-2"), writing.select(Item)) == (None, [shown])
        assert len(writing.select(Alias)) == 2
        with writing.unveiled():
            assert writing.find(Item, "T-2") == hidden
        assert writing.find(Item, "T-2") is None
    with store.reading("p") as reading:
        assert (reading.find(Item, "T-2"), reading.select(Item)) == (None, [shown])
        assert reading.counts(Item, "kind") == {"task": 1}
        assert not reading.exists(Item, id="T-2")
        assert reading.cells(Item, ("id",)) == [("T-5",)]
        assert [hit.item for hit in reading.search(["okapi"])] == ["T-5"]
        for noun in OF_PLANS:
            assert [one.item for one in reading.select(noun)] == ["T-5"], noun
        with reading.unveiled():
            assert reading.select(Item, order="number") == [hidden, shown]
        assert len([*reading.table(Item)]) == 2
    with store.writing("p") as writing:
        save(writing, replace(staging, status="made"))
        assert writing.find(Item, "T-2") == hidden
    with store.reading("p") as reading:
        assert reading.select(Item, order="number") == [hidden, shown]
        assert len(reading.search(["okapi"])) == 2

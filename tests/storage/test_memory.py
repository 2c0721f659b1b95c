"""What one writing tells the next: nothing that is not so, whoever wrote in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import REDACTED, image_of
from counterpoint.core.model.work import Item, Staging
from counterpoint.core.ports.store import Store, Writing
from counterpoint.storage.known import rows
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.texts import Kept, committed, retitle, salted


def look(store: Store) -> tuple[str, int, int]:
    """Read in a writing what may be known from the one before it."""
    with store.writing("p") as writing:
        return look_into(writing)


def look_into(writing: Writing) -> tuple[str, int, int]:
    """Return the title of the first task, the highest number, and the size of the ledger."""
    found = writing.find(Item, "T-1")
    assert found is not None
    return found.title, writing.last_number(Item), writing.head().size


def test_what_the_last_writer_knew_is_not_read_again(
    file_store: SqliteStore, reads: list[str], task: Callable[..., Item], save: Callable[..., None]
) -> None:
    """Rows that were read, the highest number, and the end of the ledger."""
    with file_store.writing("p") as writing:
        save(writing, task(1))
    assert look(file_store) == ("Task 1", 1, 0)
    reads.clear()
    assert look(file_store) == ("Task 1", 1, 0)
    assert reads == []


def test_a_reading_reads_a_row_once(
    file_store: SqliteStore, reads: list[str], task: Callable[..., Item], save: Callable[..., None]
) -> None:
    """It sees one moment: whoever asks again, in another verb of the same call, hears the same."""
    with file_store.writing("p") as writing:
        save(writing, task(1))
    with file_store.reading("p") as view:
        found = view.find(Item, "T-1")
        reads.clear()
        assert view.find(Item, "T-1") == found
        assert reads == []
        with file_store.writing("p") as writing:
            retitle(writing, "T-1", "Renamed")
        assert view.find(Item, "T-1") == found
    with file_store.reading("p") as view:
        assert view.find(Item, "T-1") != found


def test_what_is_found_of_a_plan_under_way_is_not_found_after_it(
    file_store: SqliteStore,
    task: Callable[..., Item],
    example: Callable[..., Any],
    save: Callable[..., None],
) -> None:
    """Neither in a reading nor in a writing."""
    hidden = example(Staging, first=1, last=1, status="hidden")
    with file_store.writing("p") as writing:
        save(writing, task(1), hidden)
        with writing.unveiled():
            assert writing.find(Item, "T-1") is not None
        assert writing.find(Item, "T-1") is None
    with file_store.reading("p") as view:
        with view.unveiled():
            assert view.find(Item, "T-1") is not None
        assert view.find(Item, "T-1") is None


def test_what_another_process_wrote_is_read(
    file_store: SqliteStore,
    other: SqliteStore,
    task: Callable[..., Item],
    save: Callable[..., None],
    entry: Callable[..., Any],
) -> None:
    """A row that it changed, a number that it took, an entry that it appended."""
    with file_store.writing("p") as writing:
        save(writing, task(1))
    assert look(file_store) == ("Task 1", 1, 0)
    with other.writing("p") as writing:
        retitle(writing, "T-1", "Renamed")
        save(writing, task(2))
        writing.append(entry(0))
    assert look(file_store) == ("Renamed", 2, 1)


def test_what_was_undone_is_not_known(
    store: Store, task: Callable[..., Item], save: Callable[..., None], entry: Callable[..., Any]
) -> None:
    """A writing that raises tells the next nothing, not even what it had read of itself."""
    with store.writing("p") as writing:
        save(writing, task(1))
    assert look(store) == ("Task 1", 1, 0)

    def write_and_fail() -> None:
        with store.writing("p") as writing:
            retitle(writing, "T-1", "Renamed")
            save(writing, task(2))
            writing.append(entry(0))
            assert look_into(writing) == ("Renamed", 2, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    assert look(store) == ("Task 1", 1, 0)


def test_a_writing_knows_what_it_wrote_itself(
    store: Store, task: Callable[..., Item], save: Callable[..., None]
) -> None:
    """Whole rows, changed ones, and those that are gone; numbers go up and down with them."""
    with store.writing("p") as writing:
        assert (writing.find(Item, "T-1"), writing.last_number(Item)) == (None, 0)
        save(writing, task(1), task(3))
        assert (writing.find(Item, "T-3").title, writing.last_number(Item)) == ("Task 3", 3)
        save(writing, task(3, title="Again"), task(2))
        assert (writing.find(Item, "T-3").title, writing.last_number(Item)) == ("Again", 3)
        writing.change(Item, {"id": "T-3"}, {"number": 7})
        assert (writing.find(Item, "T-3").number, writing.last_number(Item)) == (7, 7)
        writing.drop(Item, {"id": "T-3"})
        assert (writing.find(Item, "T-3"), writing.last_number(Item)) == (None, 2)


def test_a_text_that_is_gone_is_known_as_gone_and_comes_back(
    store: Store, example: Callable[..., Any], save: Callable[..., None]
) -> None:
    """A row that was read before says so at once, and has its text when that is kept anew."""
    record = example(Record, body="secret", details="", resolution="")
    with store.writing("p") as writing:
        save(writing, record)
        assert writing.find(Record, record.id).body == "secret"
        writing.forget([committed("secret")])
        assert writing.find(Record, record.id).body == REDACTED
    with store.writing("p") as writing:
        assert writing.find(Record, record.id).body == REDACTED
        writing.keep({committed("secret"): salted("secret")})
        assert writing.find(Record, record.id).body == "secret"


def test_no_more_rows_are_known_than_may_be(
    file_store: SqliteStore,
    reads: list[str],
    monkeypatch: pytest.MonkeyPatch,
    task: Callable[..., Item],
    save: Callable[..., None],
) -> None:
    """With the last that fits it begins anew."""
    monkeypatch.setattr(rows, "MOST_ROWS", 2)
    with file_store.writing("p") as writing:
        save(writing, task(1), task(2), task(3))
        for name in ("T-1", "T-2", "T-3"):
            writing.find(Item, name)
        reads.clear()
        writing.find(Item, "T-3")
        assert reads == []
        writing.find(Item, "T-1")
        assert len(reads) == 1


def test_a_row_that_is_put_and_then_changed_is_found_as_it_became(
    store: Store, task: Callable[..., Item], save: Callable[..., None]
) -> None:
    with store.writing("p") as writing:
        save(writing, task(1, title="apples", body="a tree"))
        retitle(writing, "T-1", "pears")
    with store.reading("p") as reading:
        assert reading.search(["apples"]) == []
        assert [hit.key for hit in reading.search(["pears"])] == ["T-1"]
        assert [hit.key for hit in reading.search(["tree"])] == ["T-1"]


def test_a_row_is_found_by_a_text_that_was_kept_long_before(
    store: Store, task: Callable[..., Item], save: Callable[..., None]
) -> None:
    """The text of a row need not come in the same transaction, or only after the row."""
    texts = Kept()
    early, late = (image_of(task(n, title="", body=f"orchard {n}"), texts.keep) for n in (1, 2))
    (first, one), (second, two) = texts.items()
    with store.writing("p") as writing:
        writing.keep({first: one})
    with store.writing("p") as writing:
        writing.put(Item, early)
        writing.put(Item, late)
        writing.keep({second: two})
    with store.reading("p") as reading:
        assert {hit.key for hit in reading.search(["orchard"])} == {"T-1", "T-2"}

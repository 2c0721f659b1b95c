"""What a view was answered is not asked again, and nothing is known that is not so any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.work import Criterion, Item, Staging
from counterpoint.core.ports.store import Patch, Store, Writing
from counterpoint.storage.known import rows
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.texts import committed, salted


def ask(writing: Writing) -> tuple[list[str], bool, bool]:
    """Return the open items, whether one is done, and whether there is a ninth."""
    items = writing.select(Item, category="open")
    is_done = writing.exists(Item, category="done")
    return [item.id for item in items], is_done, writing.find(Item, "T-9") is not None


def test_an_answer_is_known_until_a_row_of_its_noun_is_written(
    file_store: SqliteStore, reads: list[str], task: Callable[..., Item], save: Callable[..., None]
) -> None:
    """Rows, whether there are any, and that there is none; in the next transaction too."""
    with file_store.writing("p") as writing:
        save(writing, task(1), task(2))
        assert ask(writing) == (["T-1", "T-2"], False, False)
    reads.clear()
    with file_store.writing("p") as writing:
        first = writing.select(Item, category="open")
        first.clear()  # whoever was answered may do with it as he likes
        assert ask(writing) == (["T-1", "T-2"], False, False)
        assert reads == []
        writing.change(Item, {"id": "T-1"}, {"category": "done"})
        assert ask(writing) == (["T-2"], True, False)
        writing.change_each(Item, ("category",), [Patch(("T-2",), ("done",))])
        assert ask(writing) == ([], True, False)
        save(writing, task(9))
        assert ask(writing) == (["T-9"], True, True)
        writing.drop(Item, {"id": "T-9"})
        assert ask(writing) == ([], True, False)


def test_an_answer_is_not_known_once_another_process_wrote(
    file_store: SqliteStore,
    other: SqliteStore,
    task: Callable[..., Item],
    save: Callable[..., None],
) -> None:
    """Not what was there, nor what was not."""
    with file_store.writing("p") as writing:
        save(writing, task(1))
        assert ask(writing) == (["T-1"], False, False)
    with other.writing("p") as writing:
        writing.change(Item, {"id": "T-1"}, {"category": "done"})
        save(writing, task(9))
    with file_store.writing("p") as writing:
        assert ask(writing) == (["T-9"], True, True)


def test_an_answer_of_what_was_undone_is_not_known(
    store: Store, task: Callable[..., Item], save: Callable[..., None]
) -> None:
    """A transaction that raises leaves nothing behind."""

    def write_and_fail() -> None:
        with store.writing("p") as writing:
            save(writing, task(9))
            assert ask(writing) == (["T-9"], False, True)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    with store.writing("p") as writing:
        assert ask(writing) == ([], False, False)


def test_a_plan_that_comes_to_light_is_found_by_whoever_looked_before(
    store: Store, task: Callable[..., Item], example: Callable[..., Any], save: Callable[..., None]
) -> None:
    """That its items are hidden is forgotten with it."""
    hidden = example(Staging, first=9, last=9, status="hidden")
    with store.writing("p") as writing:
        save(writing, task(9), hidden)
        assert ask(writing) == ([], False, False)
        with writing.unveiled():
            assert ask(writing) == (["T-9"], False, True)
        assert ask(writing) == ([], False, False)
        writing.change(Staging, {"first": 9}, {"status": "made"})
        assert ask(writing) == (["T-9"], False, True)


def test_a_row_that_was_read_is_known_as_it_was_changed(
    file_store: SqliteStore,
    reads: list[str],
    example: Callable[..., Any],
    save: Callable[..., None],
) -> None:
    """Numbers, lists and flags of it; of a text only the commitment is told, so that it is read."""
    record, sentence = example(Record), example(Criterion, met=False)
    place = record.id, (sentence.item, sentence.position)
    with file_store.writing("p") as writing:
        save(writing, record, sentence)
        writing.find(Record, place[0])
        writing.find(Criterion, *place[1])
        reads.clear()
        writing.change(Record, {"id": record.id}, {"files": ["a", "b"], "status": "resolved"})
        key = {"item": sentence.item, "position": sentence.position}
        writing.change(Criterion, key, {"met": 1})
        found, marked = writing.find(Record, place[0]), writing.find(Criterion, *place[1])
        assert reads == []
        assert (found.files, found.status, marked.met) == (("a", "b"), "resolved", True)
        writing.keep({committed("other"): salted("other")})
        writing.change(Record, {"id": record.id}, {"body": committed("other")})
        assert writing.find(Record, place[0]).body == "other"
        assert len([text for text in reads if "records" in text]) >= 1
    with file_store.reading("p") as view:
        assert view.find(Record, place[0]) == writing.find(Record, place[0])
        assert view.find(Criterion, *place[1]) == marked


def test_an_answer_that_lacks_a_text_is_asked_again(
    store: Store, example: Callable[..., Any], save: Callable[..., None]
) -> None:
    """The text may be kept anew by whoever has it."""
    record = example(Record, body="secret", details="", resolution="")
    with store.writing("p") as writing:
        save(writing, record)
        assert [one.body for one in writing.select(Record)] == ["secret"]
        writing.forget([committed("secret")])
        assert [one.body for one in writing.select(Record)] == [REDACTED]
        writing.keep({committed("secret"): salted("secret")})
        assert [one.body for one in writing.select(Record)] == ["secret"]


def test_long_answers_are_asked_again_and_of_the_others_the_last_are_known(
    file_store: SqliteStore,
    reads: list[str],
    monkeypatch: pytest.MonkeyPatch,
    task: Callable[..., Item],
    save: Callable[..., None],
) -> None:
    """So that what is known takes little room."""
    monkeypatch.setattr(rows, "MOST_ANSWERS", 2)
    monkeypatch.setattr(rows, "MOST_IN_ONE", 1)
    with file_store.writing("p") as writing:
        save(writing, task(1), task(2))
        for _ in range(2):
            assert len(writing.select(Item)) == 2
        assert len(reads) == 2
        for name in ("T-1", "T-2", "T-3"):
            writing.exists(Item, id=name)
        reads.clear()
        writing.exists(Item, id="T-3")
        assert reads == []
        writing.exists(Item, id="T-1")
        assert len(reads) == 1

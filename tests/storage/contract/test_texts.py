"""What every database does with the texts of prose columns."""

from __future__ import annotations

import pytest

from counterpoint.core.model.journal import Outcome, Record
from counterpoint.core.model.rows import REDACTED, image_of
from counterpoint.core.model.work import Item
from counterpoint.kernel.errors import StateDiffers
from fakes.looking import faults_of
from fakes.texts import Kept, committed, salted


def test_texts_are_kept_once_by_commitment(store):
    """Keeping a text again changes nothing; all come back by the first half of that."""
    texts = {committed(word): salted(word) for word in ("one", "two", "three")}
    with store.writing("p") as writing:
        writing.keep(texts)
        writing.keep(texts)
    with store.reading("p") as reading:
        assert list(reading.texts()) == [(name[:32], text) for name, text in sorted(texts.items())]
        assert reading.text(committed("two")) == "two"
        assert reading.salted(committed("two")) == salted("two")
        assert reading.text(committed("four")) is None


def test_what_is_no_commitment_has_no_text_and_is_not_written(store, task, save):
    """Whoever changed a table may ask for anything; an entry that names it is not followed."""
    with store.writing("p") as writing:
        save(writing, task(1, body="stays"))
        image = image_of(task(1), Kept().keep)
        for wrong in ("else", 7, ["a", "b"]):
            with pytest.raises(StateDiffers, match="items has no commitment where"):
                writing.change(Item, {"id": "T-1"}, {"body": wrong})
            with pytest.raises(StateDiffers, match="items has no commitment where"):
                writing.put(Item, image | {"body": wrong})
    with store.reading("p") as reading:
        assert [reading.text(wrong) for wrong in ("", "else", "AB" * 32)] == [None] * 3
        assert reading.find(Item, "T-1").body == "stays"


def test_a_redacted_text_reads_as_redacted_everywhere(store, example, save):
    """Prose and lists of prose; what was empty stays empty; the commitment stays."""
    record = example(Record, body="secret", details="", resolution="kept")
    outcome = example(Outcome, remarks=("secret", "too"))
    with store.writing("p") as writing:
        save(writing, record, outcome)
        before = list(writing.table(Record))
    with store.writing("p") as writing:
        writing.forget([committed("secret")])
        writing.forget([committed('["secret","too"]')])
    with store.reading("p") as reading:
        found = reading.find(Record, record.id)
        assert (found.body, found.details, found.resolution) == (REDACTED, "", "kept")
        assert reading.select(Record) == [found]
        assert reading.find(Outcome, outcome.item, outcome.token).remarks == (REDACTED,)
        assert reading.text(committed("secret")) is None
        assert list(reading.table(Record)) == before


def test_a_redacted_text_is_found_no_more(store, example, save):
    """The search forgets it too, and keeps the title."""
    with store.writing("p") as writing:
        save(writing, example(Record, title="Invoice", body="secret"))
    with store.writing("p") as writing:
        assert writing.search(["secret"])
        writing.forget([committed("secret")])
    with store.reading("p") as reading:
        assert reading.search(["secret"]) == []
        assert reading.search(["invoice"])
    assert faults_of(store) == []


def test_what_was_deleted_is_purged_and_all_else_stays(store, example, save):
    """Every table and every search answers as before; a store that lies in a file has no byte of it."""
    with store.writing("p") as writing:
        save(writing, example(Record, title="Invoice", body="marmalade"))
    with store.writing("p") as writing:
        writing.forget([committed("marmalade")])
    store.purge()
    with store.reading("p") as reading:
        assert reading.search(["marmalade"]) == []
        assert reading.search(["invoice"])
        assert reading.text(committed("marmalade")) is None
    assert faults_of(store) == []

"""Redaction: the text goes, the proof stays."""

from __future__ import annotations

import pytest

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import REDACTED
from counterpoint.kernel.errors import Forbidden, NotFound
from fakes.texts import kept_as


@pytest.fixture
def record(ada):
    """Give a finding whose text should never have been written."""
    return ada.journal.append(Note(kind="finding", title="Oops", body="the merger is on Friday")).id


def test_a_redacted_text_is_gone_and_everything_still_verifies(studio, ada, person, record):
    """Row, search and export lose the text; chain, tree and rebuild hold."""
    with studio.view() as view:
        texts = {kept_as(view, text) for text in ("Oops", "the merger is on Friday")}
    gone = person.erasing.of_row(Record, record, reason="private").commitments
    assert set(gone) == texts
    assert ada.overview.find(Record, record).body == REDACTED
    assert ada.overview.search("merger", limit=5) == []
    ada.signing.renew()
    assert not any(b"merger" in line for line in ada.audit.export())
    audit = ada.audit.verify()
    assert (audit.sound, audit.redacted) == (True, 2)
    assert ada.audit.rebuild().differences == ()
    (last,) = ada.audit.log(action="text.redacted")
    assert last.facts["reason"] == "private"
    assert last.facts["texts"] == list(gone)


def test_a_second_time_there_is_nothing_to_take_away(studio, person, record):
    """What is gone is gone, and the ledger stays as it is."""
    erased = person.erasing.of_row(Record, record, reason="private")
    person.erasing.close(erased, looked_for=2, cleaned=(), beyond=(), remains=())
    before = studio.image()
    again = person.erasing.of_row(Record, record, reason="private")
    assert (again.receipt, again.commitments) == ("", ())
    assert studio.image() == before


def test_only_a_person_takes_texts_away(studio, ada, record):
    """An agent could hide what it did."""
    studio.refuses(Forbidden, lambda: ada.erasing.of_row(Record, record, reason="mine"))


def test_what_is_not_there_cannot_be_redacted(studio, person):
    """A wrong id is named."""
    studio.refuses(NotFound, lambda: person.erasing.of_row(Record, "demo-r99", reason="so"))

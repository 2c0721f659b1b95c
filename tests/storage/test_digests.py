"""A commitment takes 16 bytes in a table, and half of it comes back."""

from __future__ import annotations

from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import columns
from counterpoint.core.model.work import Label
from counterpoint.storage.digests import HALF, decode_rows, from_blob, to_blob
from fakes.texts import committed


def test_a_commitment_takes_a_quarter_of_the_room_of_its_hex():
    made = committed("walnut")
    assert len(to_blob(made[HALF])) == 16
    assert from_blob(to_blob(made[HALF])) == made[:32]
    assert from_blob(to_blob("")) == ""


def test_only_the_commitments_of_rows_are_turned():
    """The other cells stay, and rows without prose are answered as they are."""
    made = committed("walnut")
    kept = [to_blob(made[HALF]) if column.is_prose else column.name for column in columns(Record)]
    cells = [made[:32] if column.is_prose else column.name for column in columns(Record)]
    assert list(decode_rows(Record, [tuple(kept)] * 2)) == [tuple(cells)] * 2
    labels = [("p", "T-1", "garden")]
    assert decode_rows(Label, labels) is labels

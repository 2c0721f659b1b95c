"""A digest takes 32 bytes in a table, and comes back as it was."""

from __future__ import annotations

from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import columns
from counterpoint.core.model.work import Label
from counterpoint.kernel.canonical import text_digest
from counterpoint.storage.digests import from_blob, from_kept, to_blob


def test_a_digest_takes_half_the_room_of_its_hex():
    """The digest of no text takes none."""
    digest = text_digest("walnut")
    assert len(to_blob(digest)) == 32
    assert from_blob(to_blob(digest)) == digest
    assert from_blob(to_blob("")) == ""


def test_only_the_digests_of_rows_are_turned():
    """The other cells stay, and rows without prose are answered as they are."""
    digest = text_digest("walnut")
    kept = [to_blob(digest) if column.is_prose else column.name for column in columns(Record)]
    cells = [digest if column.is_prose else column.name for column in columns(Record)]
    assert list(from_kept(Record, [tuple(kept)] * 2)) == [tuple(cells)] * 2
    labels = [("p", "T-1", "garden")]
    assert from_kept(Label, labels) is labels

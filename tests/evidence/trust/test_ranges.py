"""What a signer remembers of writers, on the disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders import HandClock
from counterpoint.core.ledger.merkle import leaf_hash
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.writers.signature import open_delegation, open_range
from counterpoint.core.model.trust.heads import Growth
from counterpoint.core.model.trust.writers import WriterGrowth
from counterpoint.evidence.trust import ranges
from counterpoint.evidence.trust.signer import FileSigner
from counterpoint.kernel.errors import MalformedDocument, SignerAway

LEDGER, ORIGIN = "led_one", "counterpoint/demo"


def opened(folder: Path) -> FileSigner:
    """Answer a signer with the state of a folder, as another process would."""
    return FileSigner(root=folder / "signer", place="/one/ledger.db", clock=HandClock())


def entry(place: int, writer: str = "cn_1", text: bytes = b"one") -> WriterGrowth:
    """Answer a range of one entry."""
    return WriterGrowth(writer=writer, first=place, last=place, count=1, root=leaf_hash(text))


AGAIN = replace(entry(5), before=1)
"""What was signed before, with the proof that it is the same."""


def said(signer: FileSigner, *asked: WriterGrowth) -> list[bool]:
    """Answer which of these a signer signs."""
    return [made is not None for made in signer.sign_ranges(LEDGER, ORIGIN, asked)]


def test_the_signer_words_what_names_a_writer_and_its_entries(tmp_path: Path) -> None:
    """Both notes hold, under the key of the ledger and one that is the writer's alone."""
    signer = opened(tmp_path)
    made = [one for one in signer.sign_ranges(LEDGER, ORIGIN, [entry(7), entry(8, "agt_2")]) if one]
    key = VerifierKey(name=ORIGIN, public_key=signer.public_key(LEDGER))
    found = [open_delegation(one.delegation, [key], one.writer) for one in made]
    assert len({key.public_key, *(one.public_key for one in found)}) == 3
    told = [
        open_range(one.note, its, ORIGIN, one.writer) for one, its in zip(made, found, strict=True)
    ]
    assert [(one.first, one.last, one.count) for one in told] == [(7, 7, 1), (8, 8, 1)]
    with pytest.raises(MalformedDocument):
        signer.sign_ranges(LEDGER, ORIGIN, [entry(9, "cn_1\nled_two")])


def test_what_was_signed_for_a_writer_is_remembered_by_every_process(tmp_path: Path) -> None:
    """Two that sign in turn know of each other; each writer and each ledger has a memory of its own."""
    one, two = opened(tmp_path), opened(tmp_path)
    assert said(one, entry(5), entry(6, "cn_2")) == [True, True]
    assert said(two, entry(4), AGAIN, entry(5, text=b"two"), entry(8)) == [False, True, False, True]
    assert said(one, entry(7), entry(8, text=b"two"), entry(7, "cn_2")) == [False, False, True]
    assert two.sign_ranges("led_two", ORIGIN, [entry(1)])[0] is not None


def test_an_epoch_begins_what_is_remembered_of_writers_anew(tmp_path: Path) -> None:
    """The ledger may have become shorter, and the places of before come again."""
    signer = opened(tmp_path)
    assert said(signer, entry(50)) == [True]
    root = leaf_hash(b"one")
    head = Growth(origin=ORIGIN, size=1, root=root, before=0, proof=(), epoch=2)
    signer.open_epoch(LEDGER, head)
    assert said(signer, entry(3), entry(2)) == [True, False]
    assert said(opened(tmp_path), entry(2), entry(4)) == [False, True]


def test_a_memory_that_has_grown_forgets_writers_and_signs_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays small, and whoever was forgotten begins after all that were."""
    monkeypatch.setattr(ranges, "LARGEST", 2_000)
    monkeypatch.setattr(ranges, "MOST", 3)
    signer = opened(tmp_path)
    for place in range(100):
        assert said(signer, entry(place, f"cn_{place % 20}")) == [True]
    assert (tmp_path / "signer" / LEDGER / "ranges").stat().st_size <= 2_000
    again = opened(tmp_path)
    assert not any(said(again, *(entry(place, f"cn_{place % 20}") for place in range(80))))
    assert not any(said(again, *(entry(99 - n, f"cn_{19 - n}", b"two") for n in range(3))))
    assert said(again, entry(100, "cn_4"), entry(101, "cn_19")) == [True, True]


@pytest.mark.parametrize("line", [b"nonsense\n", b"[]\n", b'{"epoch":1,"writer":"cn_1"}\n'])
def test_a_memory_of_writers_that_cannot_be_read_signs_nothing(tmp_path: Path, line: bytes) -> None:
    """It is not taken for none."""
    assert said(opened(tmp_path), entry(5)) == [True]
    with (tmp_path / "signer" / LEDGER / "ranges").open("ab") as file:
        file.write(line)
    with pytest.raises(SignerAway, match="of writers cannot be read"):
        said(opened(tmp_path), entry(6))

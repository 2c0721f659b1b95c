"""Bundles: a file proves a ledger to somebody who has nothing but the key."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.ledger.bundle import BundleHeader, dump_bundle, verify_bundle
from counterpoint.core.ledger.checkpoint import Checkpoint, seal
from counterpoint.core.ledger.merkle import leaf_hash, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    MalformedDocument,
    ProofMismatch,
)
from fakes.texts import SALT, committed, salted

PROJECT = "prj_test"
TEXTS = ["first text", "zweiter Text: größe", "third"]
SIZE = 5

Chain = Callable[..., list[bytes]]


def bundle_of(entries: list[bytes], key: Any, texts: list[str]) -> list[bytes]:
    """Answer the lines of a bundle sealed with a key."""
    header = BundleHeader(project=PROJECT, key=key.public, checkpoint=key.seal(entries))
    return list(dump_bundle(header, entries, map(salted, sorted(texts, key=committed))))


def text_line(text: str) -> dict[str, Any]:
    """Answer what the line of a text holds."""
    return {"body": text, "salt": SALT.hex(), "text": committed(text)}


@pytest.fixture
def lines(chain_of: Chain, key: VerifierKey) -> list[bytes]:
    """Answer the lines of a sound bundle with all its texts."""
    return bundle_of(chain_of(SIZE, TEXTS), key, TEXTS)


def test_a_sound_bundle_is_proved_with_the_key_from_outside(
    lines: list[bytes], chain_of: Chain, key: VerifierKey
) -> None:
    """With the owner's key the report says trusted, and what was read."""
    entries = chain_of(SIZE, TEXTS)
    report = verify_bundle(lines, key.public)
    assert report.sound
    assert report.trusted
    assert (report.project, report.size, report.texts, report.redacted) == (PROJECT, SIZE, 3, 0)
    assert report.root == root_of(leaf_hash(data) for data in entries).hex()
    assert report.last == leaf_hash(entries[-1]).hex()
    assert report.key == key.public.to_text()


def test_a_bundle_with_its_own_key_is_not_trusted(lines: list[bytes]) -> None:
    report = verify_bundle(lines)
    assert report.sound
    assert not report.trusted


def test_a_bundle_made_anew_by_a_stranger_is_found(
    chain_of: Chain, key: VerifierKey, stranger: Any
) -> None:
    """It agrees with itself, but not with the key of the owner."""
    forged = bundle_of(chain_of(SIZE), stranger, [])
    assert verify_bundle(forged).sound
    report = verify_bundle(forged, key.public)
    assert not report.sound
    assert not report.trusted
    assert all(isinstance(fault, ProofMismatch) for fault in report.faults)


def test_a_right_signature_under_another_named_key_is_found(
    chain_of: Chain, key: VerifierKey, stranger: Any
) -> None:
    """The key in the header must be the trusted one, even if it is not used."""
    entries = chain_of(SIZE)
    header = BundleHeader(project=PROJECT, key=stranger.public, checkpoint=key.seal(entries))
    report = verify_bundle(dump_bundle(header, entries, []), key.public)
    assert [fault.code for fault in report.faults] == ["proof_mismatch"]
    assert not report.trusted


def test_the_lines_of_a_bundle_are_as_specified(
    lines: list[bytes], chain_of: Chain, key: VerifierKey
) -> None:
    """Header, entries as they are, texts: each canonical JSON and one line feed."""
    entries = chain_of(SIZE, TEXTS)
    assert orjson.loads(lines[0]) == {
        "checkpoint": key.seal(entries),
        "format": "counterpoint-bundle",
        "project": PROJECT,
        "version": 2,
        "vkey": key.public.to_text(),
    }
    assert lines[1 : SIZE + 1] == [data + b"\n" for data in entries]
    texts = [orjson.loads(line) for line in lines[SIZE + 1 :]]
    assert texts == sorted(texts, key=lambda one: one["text"])
    assert text_line("third") in texts
    assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in lines)


def test_an_empty_ledger_makes_a_sound_bundle(key: VerifierKey) -> None:
    """A header alone proves that there was nothing yet."""
    report = verify_bundle(bundle_of([], key, []), key.public)
    assert report.sound
    assert report.size == 0


def redacting(chain: list[bytes], digests: object, action: str = "text.redacted") -> list[bytes]:
    """Answer a ledger with one more entry, which tells that texts were taken away."""
    value = orjson.loads(chain[-1]) | {"n": len(chain), "h": leaf_hash(chain[-1]).hex()}
    del value["r"]
    return [*chain, canonical.dump(value | {"a": action, "f": {"texts": digests}})]


def test_redacted_texts_are_counted_and_no_fault(chain_of: Chain, key: VerifierKey) -> None:
    """The ledger holds without the texts that were blotted out, if it tells so itself."""
    gone = [committed(text) for text in TEXTS[1:]]
    entries = redacting(chain_of(SIZE, TEXTS), gone)
    report = verify_bundle(bundle_of(entries, key, TEXTS[:1]), key.public)
    assert report.sound
    assert (report.texts, report.redacted) == (1, 2)


@pytest.mark.parametrize(
    ("told", "action"),
    [([], "text.redacted"), (None, "text.redacted"), ([7], "text.redacted"), (..., "text.lost")],
)
def test_texts_left_out_without_a_redaction_are_found(
    chain_of: Chain, key: VerifierKey, told: Any, action: str
) -> None:
    """Nothing but an entry of the ledger excuses that a text is missing."""
    gone = [committed(text) for text in TEXTS[1:]]
    entries = redacting(chain_of(SIZE, TEXTS), gone if told is ... else told, action)
    report = verify_bundle(bundle_of(entries, key, TEXTS[:1]), key.public)
    (fault,) = report.faults
    assert fault.facts == {"texts": sorted(gone), "count": 2}
    assert (report.texts, report.redacted) == (1, 0)


def test_a_text_that_was_written_again_after_its_redaction_must_be_there(
    chain_of: Chain, key: VerifierKey
) -> None:
    digest = committed("first text")
    entries = redacting(chain_of(1, TEXTS), [digest])
    again = orjson.loads(entries[0]) | {"n": 2, "h": leaf_hash(entries[-1]).hex()}
    entries.append(canonical.dump(again))
    assert not verify_bundle(bundle_of(entries, key, []), key.public).sound
    assert verify_bundle(bundle_of(entries, key, TEXTS[:1]), key.public).sound


@given(st.data())
def test_any_changed_byte_of_a_bundle_is_found(
    chain_of: Chain, key: VerifierKey, data: Any
) -> None:
    """One other byte anywhere makes a bundle unreadable or unsound."""
    whole = b"".join(bundle_of(chain_of(SIZE, TEXTS), key, TEXTS))
    place = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda one: one != whole[place]))
    changed = whole[:place] + bytes([byte]) + whole[place + 1 :]
    try:
        report = verify_bundle(BytesIO(changed), key.public)
    except MalformedDocument:
        return
    assert not report.sound


@given(st.integers(0, SIZE), st.integers(0, SIZE))
def test_lines_taken_out_or_swapped_are_found(
    chain_of: Chain, key: VerifierKey, first: int, second: int
) -> None:
    """Header and entries have their places; none may be missing."""
    lines = bundle_of(chain_of(SIZE, TEXTS), key, TEXTS)
    swapped = list(lines)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    for wrong in ([*lines[:first], *lines[first + 1 :]], swapped):
        if wrong == lines:
            continue
        try:
            report = verify_bundle(wrong, key.public)
        except MalformedDocument:
            assert 0 in (first, second)
        else:
            assert not report.sound


@pytest.mark.parametrize("size", range(1, SIZE + 1))
def test_a_bundle_that_was_cut_off_is_found(
    lines: list[bytes], key: VerifierKey, size: int
) -> None:
    """The checkpoint in the header knows how many entries must come."""
    report = verify_bundle(lines[:size], key.public)
    assert not report.sound
    assert report.size == size - 1


def test_a_last_line_without_its_end_is_found(lines: list[bytes], key: VerifierKey) -> None:
    assert not verify_bundle([*lines[:-1], lines[-1][:-1]], key.public).sound
    assert not verify_bundle([*lines[:SIZE], lines[SIZE][:-1]], key.public).sound


@pytest.mark.parametrize(
    "extra",
    [
        text_line("first text"),
        text_line("stray"),
        text_line("first text") | {"body": "changed"},
        text_line("first text") | {"body": 1},
        text_line("first text") | {"text": None},
        text_line("first text") | {"salt": "00" * 16},
        text_line("first text") | {"salt": "00" * 15},
        text_line("first text") | {"salt": "AB" * 16},
        {"body": "first text", "text": committed("first text")},
        {"body": "first text"},
        text_line("first text") | {"body": 0.5},
        [],
    ],
)
def test_a_text_that_does_not_belong_is_found(
    lines: list[bytes], key: VerifierKey, extra: object
) -> None:
    """Texts come once, with their salt, and only if an entry refers to them."""
    line = orjson.dumps(extra, option=orjson.OPT_SORT_KEYS) + b"\n"
    report = verify_bundle([*lines, line], key.public)
    (fault,) = report.faults
    assert fault.message.startswith("text line 4: ")
    assert fault.facts["line"] == 4
    assert report.texts == 3


def test_a_text_line_in_another_spelling_is_found(lines: list[bytes], key: VerifierKey) -> None:
    """Text lines are canonical too, so that a bundle has one form."""
    lines[-1] = lines[-1].replace(b'":"', b'": "', 1)
    report = verify_bundle(lines, key.public)
    assert [fault.code for fault in report.faults] == ["malformed_document", "proof_mismatch"]
    assert report.redacted == 0


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 1},
        {"version": True},
        {"project": 7},
        {"project": ""},
        {"vkey": "none"},
        {"vkey": None},
        {"checkpoint": "none"},
        {"checkpoint": []},
        {"more": 1},
    ],
)
def test_a_header_that_cannot_be_read_is_refused(
    lines: list[bytes], change: dict[str, Any]
) -> None:
    """Without a sound header nothing after it means anything."""
    header = canonical.dump(orjson.loads(lines[0]) | change) + b"\n"
    with pytest.raises(MalformedDocument):
        verify_bundle([header, *lines[1:]])


@pytest.mark.parametrize("lines", [[], [b""], [b"\n"], [b"junk\n"], [b"[]\n"], [b"\xff\n"]])
def test_something_that_is_no_bundle_is_refused(lines: list[bytes]) -> None:
    """An empty file or any other file is an unreadable document."""
    with pytest.raises(MalformedDocument):
        verify_bundle(lines)


def test_a_checkpoint_of_another_ledger_is_found(chain_of: Chain, key: VerifierKey) -> None:
    """Size right, signature right, root of something else."""
    header = BundleHeader(project=PROJECT, key=key.public, checkpoint=key.seal([b"x"] * SIZE))
    report = verify_bundle(dump_bundle(header, chain_of(SIZE), []), key.public)
    assert [fault.code for fault in report.faults] == ["proof_mismatch"]
    assert report.trusted


def test_a_checkpoint_for_another_origin_is_found(chain_of: Chain, key: VerifierKey) -> None:
    """The key of the project may have signed something else as well."""
    entries = chain_of(1)
    other = Checkpoint(origin="other.test", size=1, root=leaf_hash(entries[0]))
    note = seal(other, key.private.sign, key.public)
    header = BundleHeader(project=PROJECT, key=key.public, checkpoint=note)
    report = verify_bundle(dump_bundle(header, entries, []), key.public)
    assert len(report.faults) == 1
    assert not report.trusted


@pytest.mark.parametrize("count", [SIZE - 1, SIZE + 1])
def test_a_bundle_of_another_size_than_its_checkpoint_is_not_written(
    chain_of: Chain, key: VerifierKey, count: int
) -> None:
    """The writer finds out before the texts, not the reader afterwards."""
    checkpoint = key.seal(chain_of(SIZE))
    header = BundleHeader(project=PROJECT, key=key.public, checkpoint=checkpoint)
    with pytest.raises(InvalidInput, match=f"{SIZE} entries"):
        list(dump_bundle(header, chain_of(count), []))


def test_every_fault_of_a_bundle_says_what_to_do(lines: list[bytes], stranger: Any) -> None:
    """Signature, chain and texts are all judged in one pass, each with a hint."""
    lines[2] = lines[2].replace(b"cp-1", b"cp-9")
    lines[-1] = lines[-1].replace(b"text", b"book", 1)
    report = verify_bundle(lines, stranger.public)
    assert report.fault_count == len(report.faults) >= 5
    assert all(isinstance(fault, CounterpointError) and fault.hint for fault in report.faults)

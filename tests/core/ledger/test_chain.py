"""Any edit of a ledger is found; a sound ledger is never accused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from counterpoint.core.ledger import blocks
from counterpoint.core.ledger.chain import Verification, Verified
from counterpoint.core.ledger.checkpoint import Checkpoint, verify
from counterpoint.core.ledger.entry import GENESIS, Entry
from counterpoint.core.ledger.faults import MOST_FAULTS
from counterpoint.core.ledger.merkle import EMPTY_ROOT, leaf_hash, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.kernel.errors import ChainBroken, InvalidInput, LedgerBroken, ProofMismatch

PROJECT = "prj_test"
SIZE = 9

Chain = Callable[..., list[bytes]]


def checkpoint_of(entries: list[bytes]) -> Checkpoint:
    """Answer the unsigned checkpoint of these entries."""
    root = root_of(leaf_hash(data) for data in entries)
    return Checkpoint(origin="log.test", size=len(entries), root=root)


def rechained(entries: list[bytes]) -> list[bytes]:
    """Answer the entries with sequence and previous hash made right again, as a forger would."""
    chain: list[bytes] = []
    for sequence, data in enumerate(entries):
        previous = leaf_hash(chain[-1]).hex() if chain else GENESIS
        chain.append(
            replace(Entry.from_bytes(data), sequence=sequence, previous=previous).to_bytes()
        )
    return chain


def edited(entry: bytes, **fields: Any) -> bytes:
    """Answer an entry with some fields changed."""
    return replace(Entry.from_bytes(entry), **fields).to_bytes()


def verify_chain(entries: Iterable[bytes], project: str, **known: Any) -> Verified:
    """Answer the size, root and last leaf of a sound ledger; raises its first fault else."""
    size = known.pop("size", None)
    verification = Verification(project, **known)
    verification.read(entries)
    verification.close(size)
    return verification.verified()


def faults_of(entries: list[bytes], **known: Any) -> tuple[LedgerBroken, ...]:
    """Answer all faults of a stream."""
    verification = Verification(PROJECT, **known)
    verification.read(entries)
    verification.close()
    return tuple(verification.faults)


def test_a_sound_ledger_verifies(chain_of: Chain) -> None:
    """The answer is its size, root, last leaf and last time."""
    entries = chain_of(SIZE)
    found = verify_chain(entries, PROJECT, checkpoints=[checkpoint_of(entries)], size=SIZE)
    assert found.size == SIZE
    assert found.root == checkpoint_of(entries).root
    assert found.last == leaf_hash(entries[-1]).hex()
    assert found.time == "2026-11-20T10:00:08.000Z"


def test_an_empty_ledger_verifies() -> None:
    empty = Checkpoint(origin="log.test", size=0, root=EMPTY_ROOT)
    found = verify_chain([], PROJECT, checkpoints=[empty], size=0)
    assert (found.size, found.root, found.last) == (0, EMPTY_ROOT, GENESIS)


def test_every_earlier_checkpoint_of_a_ledger_verifies(
    chain_of: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints in any order, more than one of a size, hold whatever the batches are."""
    entries = chain_of(SIZE)
    known = [checkpoint_of(entries[:size]) for size in (5, 0, 9, 5, 2)]
    for batch in (1, 3, 4096):
        monkeypatch.setattr(blocks, "SIZE", batch)
        assert verify_chain(iter(entries), PROJECT, checkpoints=known).size == SIZE


@given(st.integers(0, SIZE - 1), st.data())
def test_any_changed_byte_is_found(chain_of: Chain, key: VerifierKey, at: int, data: Any) -> None:
    """Another byte anywhere in any entry breaks the chain or the signed root."""
    entries = chain_of(SIZE)
    signed = verify(key.seal(entries), key.public)
    place = data.draw(st.integers(0, len(entries[at]) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda one: one != entries[at][place]))
    entries[at] = entries[at][:place] + bytes([byte]) + entries[at][place + 1 :]
    with pytest.raises(LedgerBroken):
        verify_chain(entries, PROJECT, checkpoints=[signed])


@given(st.integers(0, SIZE - 1), st.integers(1, SIZE), st.booleans())
def test_any_deletion_is_found(
    chain_of: Chain, key: VerifierKey, at: int, count: int, mend: bool
) -> None:
    """Entries cut out anywhere are missed, also if the rest was chained again."""
    entries = chain_of(SIZE)
    signed = verify(key.seal(entries), key.public)
    del entries[at : at + count]
    with pytest.raises(LedgerBroken):
        verify_chain(rechained(entries) if mend else entries, PROJECT, checkpoints=[signed])


@given(st.permutations(range(SIZE)), st.booleans())
def test_any_other_order_is_found(
    chain_of: Chain, key: VerifierKey, order: list[int], mend: bool
) -> None:
    """Swapped entries are found, also if they were chained again."""
    assume(order != sorted(order))
    entries = chain_of(SIZE)
    signed = verify(key.seal(entries), key.public)
    shuffled = [entries[at] for at in order]
    with pytest.raises(LedgerBroken):
        verify_chain(rechained(shuffled) if mend else shuffled, PROJECT, checkpoints=[signed])


@given(st.integers(0, SIZE), st.integers(0, SIZE - 1), st.booleans())
def test_any_insertion_before_the_end_is_found(
    chain_of: Chain, key: VerifierKey, at: int, copied: int, mend: bool
) -> None:
    """An entry put in is found, also if the rest was chained again."""
    entries = chain_of(SIZE)
    signed = verify(key.seal(entries), key.public)
    entries.insert(at, entries[copied])
    with pytest.raises(LedgerBroken):
        verify_chain(
            rechained(entries) if mend else entries, PROJECT, checkpoints=[signed], size=SIZE
        )


@given(st.integers(0, SIZE - 1))
def test_any_truncation_is_found(chain_of: Chain, key: VerifierKey, size: int) -> None:
    """A shorter ledger than the signed one says how many entries are missing."""
    entries = chain_of(SIZE)
    signed = verify(key.seal(entries), key.public)
    with pytest.raises(ProofMismatch) as caught:
        verify_chain(entries[:size], PROJECT, checkpoints=[signed])
    assert caught.value.facts == {"sequence": size, "missing": SIZE - size}
    assert "backup" in caught.value.hint


def test_a_rewritten_history_is_found_by_its_root(chain_of: Chain) -> None:
    """A whole chain made anew is sound in itself, but not what was signed."""
    entries = chain_of(SIZE)
    known = [checkpoint_of(entries[:5]), checkpoint_of(entries)]
    forged = rechained([edited(entries[0], subject="cp-99"), *entries[1:]])
    assert verify_chain(forged, PROJECT).size == SIZE
    found = faults_of(forged, checkpoints=known)
    assert [type(fault) for fault in found] == [ProofMismatch, ProofMismatch]
    assert [fault.facts["sequence"] for fault in found] == [5, SIZE]


def test_entries_after_the_last_checkpoint_may_grow(chain_of: Chain) -> None:
    """A checkpoint of the past holds for a ledger that went on."""
    entries = chain_of(SIZE)
    assert verify_chain(entries, PROJECT, checkpoints=[checkpoint_of(entries[:4])]).size == SIZE


def test_one_edit_in_the_middle_is_one_fault(chain_of: Chain) -> None:
    """The entry after the edited one does not carry its hash; later ones are not accused."""
    entries = chain_of(SIZE)
    entries[3] = edited(entries[3], subject="cp-99")
    (found,) = faults_of(entries)
    assert isinstance(found, ChainBroken)
    assert found.facts["sequence"] == 4
    assert found.facts["expected"] == leaf_hash(entries[3]).hex()
    assert found.hint


def test_all_departures_of_an_entry_are_named(chain_of: Chain) -> None:
    """Number, chain, project and time are judged one by one."""
    entries = chain_of(3)
    entries[2] = edited(
        entries[2],
        sequence=7,
        previous="a" * 64,
        project="prj_other",
        time="2026-11-20T09:00:00.000Z",
    )
    found = faults_of(entries)
    assert len(found) == 4
    assert {fault.facts["sequence"] for fault in found} == {2}
    assert {str(fault.facts["found"]) for fault in found} == {
        "7",
        "a" * 64,
        "prj_other",
        "2026-11-20T09:00:00.000Z",
    }


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("sequence", 7),
        ("sequence", 1),
        ("previous", "a" * 64),
        ("project", "prj_other"),
        ("time", "2026-11-20T09:59:59.999Z"),
    ],
)
def test_a_last_entry_with_one_departure_is_found(
    chain_of: Chain, field: str, wrong: object
) -> None:
    """Each rule is judged alone, where no later entry could give it away."""
    entries = chain_of(3)
    entries[2] = edited(entries[2], **{field: wrong})
    (found,) = faults_of(entries)
    assert isinstance(found, ChainBroken)
    assert found.facts["found"] == wrong


def test_an_entry_of_another_project_is_found(chain_of: Chain) -> None:
    with pytest.raises(ChainBroken, match="prj_other"):
        verify_chain(chain_of(1, project="prj_other"), PROJECT)


def test_equal_times_are_in_order(chain_of: Chain) -> None:
    """Two entries of one millisecond are no fault."""
    entries = rechained([edited(data, time="2026-11-20T10:00:00.000Z") for data in chain_of(3)])
    assert verify_chain(entries, PROJECT).size == 3


def test_unreadable_entries_are_named_and_passed(chain_of: Chain) -> None:
    """Bytes that are no entry are faults of their own; the check goes on behind them."""
    entries = chain_of(6)
    entries[1] = b"{}"
    entries[4] = entries[4] + b" "
    found = faults_of(entries)
    assert [fault.facts["sequence"] for fault in found] == [1, 2, 4, 5]


def test_a_missing_entry_is_one_place(chain_of: Chain) -> None:
    """After a gap the check goes on with the numbers that are there."""
    entries = chain_of(SIZE)
    del entries[2:4]
    found = faults_of(entries)
    assert [fault.facts["sequence"] for fault in found] == [2, 2]
    assert found[0].facts["found"] == 4


def test_an_expected_size_is_held(chain_of: Chain) -> None:
    """More or fewer entries than expected are a fault even if the chain is sound."""
    entries = chain_of(4)
    with pytest.raises(ChainBroken, match="4 entries where 3"):
        verify_chain(entries, PROJECT, size=3)
    with pytest.raises(ProofMismatch, match="after 4 entries"):
        verify_chain(entries, PROJECT, size=5)


def test_a_ledger_is_verified_on_from_where_it_was(chain_of: Chain) -> None:
    """Verifying the rest after a known beginning gives what verifying everything gives."""
    entries = chain_of(SIZE)
    begun = verify_chain(entries[:5], PROJECT)
    rest = Verification(
        PROJECT, after=begun, checkpoints=[checkpoint_of(entries[:5]), checkpoint_of(entries)]
    )
    rest.read(entries[5:7])
    rest.read(entries[7:])
    rest.close(SIZE)
    assert rest.verified() == verify_chain(entries, PROJECT)


def test_a_rest_that_does_not_follow_is_found(chain_of: Chain) -> None:
    """A beginning of another history does not fit the rest."""
    entries = chain_of(SIZE)
    begun = replace(verify_chain(entries[:5], PROJECT), last="f" * 64)
    rest = Verification(PROJECT, after=begun)
    rest.read(entries[5:])
    with pytest.raises(ChainBroken):
        rest.verified()


def test_a_checkpoint_before_the_start_cannot_be_checked(chain_of: Chain) -> None:
    """What is not read again is not silently called sound."""
    entries = chain_of(SIZE)
    begun = verify_chain(entries, PROJECT)
    with pytest.raises(InvalidInput):
        Verification(PROJECT, after=begun, checkpoints=[checkpoint_of(entries[:3])])


def test_countless_faults_are_counted_but_not_kept() -> None:
    """The words for faults stay few, their number is told."""
    verification = Verification(PROJECT)
    verification.read([b"junk"] * (MOST_FAULTS + 50))
    assert len(verification.faults) == MOST_FAULTS
    assert verification.faults.count == MOST_FAULTS + 50


def test_a_beginning_has_no_entries() -> None:
    """Before the first entry a ledger is empty."""
    start = Verified(project=PROJECT)
    assert (start.size, start.root, start.last, start.time) == (0, EMPTY_ROOT, GENESIS, "")


def test_the_chain_is_over_the_bytes_as_they_are(chain_of: Chain) -> None:
    """The hash that the next entry carries is that of the stored bytes."""
    entries = chain_of(2)
    assert orjson.loads(entries[1])["h"] == leaf_hash(entries[0]).hex()

"""Which ranges of a writer a signer signs after one that it signed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.ledger.merkle import (
    Frontier,
    extend_with_proof,
    leaf_hash,
    root_of,
    verify_consistency,
)
from counterpoint.core.ledger.writers.growth import may_sign
from counterpoint.core.model.trust.writers import SignedRange, WriterGrowth

LEAVES = [leaf_hash(b"entry %d" % number) for number in range(40)]
LAST = SignedRange(first=10, last=14, count=3, root=root_of(LEAVES[:3]))


def grown(count: int, before: int = 3, leaves: list[bytes] = LEAVES) -> WriterGrowth:
    """Answer the range of LAST with so many entries, each two places after the one before."""
    start, _ = Frontier().extend(leaves[:before])
    edge, proof = extend_with_proof(start, leaves[before:count])
    last = 10 + 2 * (count - 1)
    return WriterGrowth(
        writer="cn_1",
        first=10,
        last=last,
        count=count,
        root=edge.root(),
        before=before,
        proof=tuple(proof),
    )


FRESH = WriterGrowth(writer="cn_1", first=15, last=15, count=1, root=LEAVES[0])


def test_what_was_added_to_a_tree_is_proved_with_the_edge_that_was_there() -> None:
    """For every size up to forty and everything that may come after it."""
    for before in range(len(LEAVES) + 1):
        start, _ = Frontier().extend(LEAVES[:before])
        for after in range(before, len(LEAVES) + 1):
            edge, proof = extend_with_proof(start, LEAVES[before:after])
            assert edge.root() == root_of(LEAVES[:after])
            verify_consistency(before, after, start.root(), edge.root(), proof)


def test_a_range_that_goes_on_is_signed_and_so_is_the_next() -> None:
    """The same with more entries, the same again, and one that begins after it; the first of a writer too."""
    for count in (3, 4, 7, 40):
        assert may_sign(LAST, -1, grown(count))
    assert may_sign(LAST, 20, FRESH)
    assert may_sign(None, -1, replace(FRESH, first=0, last=0))
    assert may_sign(None, 14, FRESH)


OTHER = [leaf_hash(b"forged"), *LEAVES[1:]]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (grown(5, leaves=OTHER), "another entry among those that were signed"),
        (replace(grown(3), root=LEAVES[0]), "other entries at the same places"),
        (replace(grown(5), last=14), "more entries at the same places"),
        (replace(grown(3), last=15), "more places without an entry"),
        (replace(grown(5), last=15), "more entries than places"),
        (grown(2, 2), "fewer than were signed"),
        (grown(5, 2), "a proof from elsewhere"),
        (replace(grown(5), proof=()), "no proof"),
        (replace(FRESH, first=14, last=14), "the last place again"),
        (replace(FRESH, first=11, last=20, count=5), "a beginning in the middle"),
        (replace(grown(5), first=11), "the same without its beginning"),
        (replace(FRESH, first=3, last=3), "below what was signed"),
        (replace(FRESH, first=9, last=20, count=9), "around what was signed"),
        (replace(FRESH, before=1), "a proof of nothing"),
        (replace(FRESH, first=-1, last=-1), "no place"),
        (replace(FRESH, last=2**53), "no place either"),
        (replace(FRESH, last=14), "the end before the beginning"),
        (replace(FRESH, count=0), "nothing"),
        (replace(FRESH, count=2), "two entries at one place"),
        (replace(FRESH, last=17), "one entry at two places"),
        (replace(FRESH, root=b""), "no root"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_nothing_is_signed_twice_or_backwards(asked: WriterGrowth, why: str) -> None:
    """Whatever a range says of itself."""
    assert not may_sign(LAST, -1, asked), why


def test_a_writer_that_was_forgotten_begins_after_all_that_were() -> None:
    """Else to be forgotten would let it sign again."""
    assert not may_sign(None, 15, FRESH)
    assert not may_sign(None, 100, grown(5))

"""Which ranges of writers a signer signs: those that go on from the last.

A signer remembers, for each writer of a ledger, the range that it signed last: its first and last place, its number of entries and
their root. A range is signed if and only if

1. its first place is after the last one that was signed for this writer, or for any that the signer has forgotten, and it begins anew; or
2. its first place is that of the last range, and the proof leads from the number and the root of that to its own (RFC 9162, section 2.1.4.2).
   It has as many places more as entries more, at least, and without another entry it is the same range.

So no place of a writer is signed twice over different entries, and none below one that was signed: whoever speaks with the signer can have signed
in a writer's name what is appended from now on, and nothing that a verifier has already told as not signed. What was signed in an epoch that
was left does not count, since the ledger may have become shorter.
"""

from __future__ import annotations

from typing import Final

from counterpoint.core.ledger.merkle import HASH_SIZE, verify_consistency
from counterpoint.core.model.trust.writers import SignedRange, WriterGrowth
from counterpoint.kernel.errors import ProofMismatch

_LIMIT: Final = 2**53


def may_sign(last: SignedRange | None, forgotten: int, growth: WriterGrowth) -> bool:
    """Tell whether a range goes on from the last one; forgotten: the last place of any that is not remembered."""
    if not _is_range(growth):
        return False
    if last is None:
        return growth.before == 0 and growth.first > forgotten
    if growth.first > last.last:
        return growth.before == 0
    more, places = growth.count - last.count, growth.last - last.last
    if growth.first != last.first or growth.before != last.count or not 0 <= more <= places:
        return False
    return bool(more) == bool(places) and _extends(last, growth)


def _is_range(growth: WriterGrowth) -> bool:
    places = growth.last - growth.first + 1
    # The first and the last are entries of the writer, each for itself.
    is_full = min(places, 2) <= growth.count <= places
    return 0 <= growth.first <= growth.last < _LIMIT and is_full and len(growth.root) == HASH_SIZE


def _extends(last: SignedRange, growth: WriterGrowth) -> bool:
    try:
        verify_consistency(last.count, growth.count, last.root, growth.root, growth.proof)
    except ProofMismatch:
        return False
    return True

"""Texts that PostgreSQL would not take, folded and unfolded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from counterpoint.storage.postgres.dialect import fold, unfold

_CHARACTERS = st.text(st.sampled_from("\x00\x01\x02ab\uffff"), max_size=8)


@given(one=_CHARACTERS, other=_CHARACTERS)
def test_folded_texts_come_back_and_keep_their_order(one, other):
    """No NUL is left, every text comes back, and bytes compare as before."""
    assert "\x00" not in fold(one)
    assert unfold(fold(one)) == one
    assert (fold(one).encode() < fold(other).encode()) == (one.encode() < other.encode())

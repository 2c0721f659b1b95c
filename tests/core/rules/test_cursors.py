"""Cursors: only ours, only for the query they continue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.cursors import seal, unseal
from counterpoint.kernel.errors import InvalidInput

SECRET = b"secret of the server"
positions = st.lists(st.integers(-(2**40), 2**40) | st.text(max_size=8), max_size=3)
queries = st.dictionaries(st.text(max_size=4), st.integers(0, 9) | st.text(max_size=4), max_size=3)


@given(query=queries, position=positions)
def test_a_cursor_leads_back_to_its_position(query, position):
    assert unseal(SECRET, query, seal(SECRET, query, position)) == position


@given(query=queries, other=queries, position=positions)
def test_a_cursor_of_another_query_or_server_is_refused(query, other, position):
    cursor = seal(SECRET, query, position)
    with pytest.raises(InvalidInput):
        unseal(b"another", query, cursor)
    if other != query:
        with pytest.raises(InvalidInput):
            unseal(SECRET, other, cursor)


@given(position=positions, place=st.integers(0, 999), bit=st.integers(0, 6))
def test_any_flipped_bit_is_refused(position, place, bit):
    """Also in the last letter, whose lowest bits carry nothing."""
    cursor = seal(SECRET, "q", position)
    place %= len(cursor)
    letter = chr(ord(cursor[place]) ^ (1 << bit))
    with pytest.raises(InvalidInput) as caught:
        unseal(SECRET, "q", cursor[:place] + letter + cursor[place + 1 :])
    assert "start again" in caught.value.hint


@given(text=st.text(max_size=60))
def test_no_text_from_outside_is_a_cursor(text):
    """Junk is refused like everything else."""
    with pytest.raises(InvalidInput):
        unseal(SECRET, "q", text)


@pytest.mark.parametrize("extra", ["=", "!", " ", "A", "AAAA"])
def test_a_cursor_with_something_added_is_refused(extra):
    """There is one spelling of it."""
    cursor = seal(SECRET, "q", [1])
    with pytest.raises(InvalidInput):
        unseal(SECRET, "q", cursor + extra)
    with pytest.raises(InvalidInput):
        unseal(SECRET, "q", extra + cursor)

"""Calls of a month judged: how many there are, how many at once, and when the next begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules import access
from counterpoint.kernel.clock import moment, stamp


@given(st.integers(0, 300), st.integers(1, 80), st.integers(1, 200))
def test_no_month_has_more_calls_than_it_may(used, wanted, most):
    """What is granted fits, is never more than was wanted, and is all of it where it fits."""
    granted = access.grant_calls(used, wanted, most)
    assert 0 <= granted <= wanted
    assert used + granted <= max(used, most)
    assert granted == wanted or used + granted >= most


@given(st.integers(1, 10**9))
def test_what_is_taken_ahead_is_at_most_a_hundredth(most):
    """One at a time of a small month, never more than 64 of a large one."""
    ahead = access.calls_ahead(most)
    assert ahead == 1 or ahead * 100 <= most
    assert 1 <= ahead <= access.MOST_AT_ONCE


@pytest.mark.parametrize(
    ("now", "month", "following"),
    [
        ("2026-01-31T23:59:59.999Z", "2026-01", "2026-02-01T00:00:00.000Z"),
        ("2026-12-01T00:00:00.000Z", "2026-12", "2027-01-01T00:00:00.000Z"),
    ],
)
def test_a_month_ends_where_the_next_begins(now, month, following):
    assert access.month_of(now) == month
    assert access.next_month(now) == following


@given(st.datetimes(timezones=st.just(moment("2026-01-01T00:00:00.000Z").tzinfo)))
def test_the_next_month_is_later_and_another(at):
    """Of every moment there is."""
    now = stamp(at)
    if access.month_of(now) < "9999-12" and len(now) == 24:
        following = access.next_month(now)
        assert following > now
        assert access.month_of(following) > access.month_of(now)

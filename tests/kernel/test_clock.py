"""Time as text: UTC, milliseconds, and in an order that text keeps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.kernel.clock import SystemClock, Timestamp, elapsed_ms, later, moment, stamp

MOMENTS = st.integers(0, 7 * 10**15).map(
    lambda microseconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
)


def test_a_moment_is_written_in_utc_with_milliseconds() -> None:
    """A time of another zone is the same moment, cut to whole milliseconds."""
    east = timezone(timedelta(hours=2))
    written = stamp(datetime(2026, 11, 20, 12, 0, 5, 123_999, tzinfo=east))
    assert written == "2026-11-20T10:00:05.123Z"


@given(MOMENTS)
def test_a_timestamp_is_read_as_the_moment_that_it_names(when: datetime) -> None:
    assert timedelta(0) <= when - moment(stamp(when)) < timedelta(milliseconds=1)
    assert stamp(moment(stamp(when))) == stamp(when)


@given(MOMENTS, MOMENTS)
def test_text_order_is_time_order(one: datetime, other: datetime) -> None:
    first, second = sorted((stamp(one), stamp(other)))
    assert moment(first) <= moment(second)


@given(MOMENTS, st.integers(-(10**9), 10**9))
def test_later_and_elapsed_are_opposites(when: datetime, milliseconds: int) -> None:
    start = stamp(when)
    assert elapsed_ms(start, later(start, milliseconds / 1000)) == milliseconds


def test_the_clock_of_the_machine_tells_this_moment() -> None:
    """Its answer lies between the moments before and after the question."""
    before = stamp(datetime.now(UTC))
    now = SystemClock().now()
    assert before <= now <= stamp(datetime.now(UTC))


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00.000Z"])
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    """Reading it is an error of the caller."""
    with pytest.raises(ValueError, match=r"Invalid|must be"):
        moment(Timestamp(text))

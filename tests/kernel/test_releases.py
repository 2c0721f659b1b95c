"""Which versions belong together."""

from __future__ import annotations

import pytest

from counterpoint.kernel.releases import release


@pytest.mark.parametrize(
    ("older", "newer"), [("0.1.9", "0.2.0"), ("0.9", "0.10.0"), ("1.0.0", "2.0"), ("", "0.0.1")]
)
def test_releases_are_in_the_order_of_their_numbers(older, newer):
    """As numbers, not as texts; what is no version is older than any."""
    assert release(older) < release(newer)


def test_a_third_number_is_no_other_release():
    """What follows the second one changes nothing that two programs share."""
    assert release("0.1.0") == release("0.1.7rc1") == release("0.1")
    assert release("?") == release("x.y") == release("1.x")

"""What a verdict may name of what lies there."""

from __future__ import annotations

import pytest

from counterpoint.core.rules.trust.callers import refuse_stale
from counterpoint.kernel.errors import InvalidInput, StaleVersion

LIES = "abcdef0123456789"


def test_the_first_letters_name_what_lies_there_if_they_are_enough() -> None:
    """Others are stale; fewer could name anything."""
    refuse_stale(LIES[:7].upper(), (LIES, ""), None)
    refuse_stale("", (LIES,), None)
    with pytest.raises(StaleVersion) as stale:
        refuse_stale("0" * 40, (LIES, ""), None)
    assert stale.value.facts["current"] == [LIES]
    with pytest.raises(InvalidInput):
        refuse_stale(LIES[:6], (LIES,), None)

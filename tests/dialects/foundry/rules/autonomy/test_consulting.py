"""What was asked of models, against the marks that are told."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.runs.rules.limits import Consultations


@pytest.mark.parametrize(
    ("asked", "tokens", "warns", "is_at_limit"),
    [
        (0, 0, False, False),
        (39, 79_900, False, False),
        (40, 0, True, False),
        (0, 80_000, True, False),
        (50, 0, True, True),
        (60, 120_000, True, True),
    ],
)
def test_it_is_told_that_a_mark_is_near_or_reached(
    asked: int, tokens: int, warns: bool, is_at_limit: bool
) -> None:
    """Either of the two."""
    usage = Consultations(consultations=asked, tokens=tokens)
    assert (usage.should_warn, usage.is_at_limit) == (warns, is_at_limit)
    left = (usage.consultations_left, usage.tokens_left)
    assert left == (max(0, 50 - asked), max(0, 100_000 - tokens))
    assert usage.consultations_percentage == asked * 2

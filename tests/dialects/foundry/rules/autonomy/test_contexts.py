"""How much of its context an agent is taken to have used."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.models.runs import ContextUse, Limits
from counterpoint.dialects.foundry.runs.rules.commands import (
    Sidecar,
    count_step,
    current_use,
    is_fresh,
    measure_use,
    report_use,
)
from counterpoint.kernel.clock import later
from fakes.runs import NOW

LIMITS = Limits()


def test_a_run_that_reports_nothing_is_at_the_share_of_its_steps():
    """It reaches the limit of 85 % after 29 steps of 3 %, and not before; the estimate is not made of estimates."""
    use, seen = ContextUse(), []
    for _ in range(40):
        use = count_step(use)
        seen.append(current_use(use, LIMITS).pct)
    assert seen == [min(100, 3 * steps) for steps in range(1, 41)]
    assert next(place for place, pct in enumerate(seen, 1) if pct >= 85) == 29


def test_a_steady_honest_use_never_grows():
    """Who says 20 % after each step stays there, and never pauses."""
    use = ContextUse()
    for _ in range(1_000):
        use = report_use(count_step(use), 20, NOW, LIMITS)
        assert current_use(use, LIMITS).pct == 20
    assert current_use(use, LIMITS).source == "caller"


@pytest.mark.parametrize(("steps", "pct"), [(0, 20), (1, 23), (4, 32), (5, 40), (6, 43), (99, 100)])
def test_what_was_told_grows_with_steps_and_once_by_a_penalty(steps, pct):
    use = ContextUse(pct=20, source="caller", steps=steps)
    assert current_use(use, LIMITS).pct == pct
    assert current_use(use, LIMITS).source == ("estimate" if steps else "caller")


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        (30, 40, 40),
        (30, 30, 30),
        (30, 25, 30),
        (30, 20, 20),
        (90, 5, 5),
        (90, 42, 42),
        (90, 43, 90),
        (90, 80, 90),
    ],
)
def test_what_is_told_cannot_fall_except_to_a_fresh_context(before, said, after):
    """A fall by ten points or more to no more than half of the limit is one; any other keeps the higher value."""
    use = report_use(ContextUse(pct=before, source="caller", steps=3), said, NOW, LIMITS, tokens=9)
    assert (use.pct, use.steps, use.tokens) == (after, 0, 9)
    assert is_fresh(ContextUse(pct=before), said, LIMITS) == (after == said < before)


@pytest.mark.parametrize(("age", "pct"), [(0, 70), (120, 70), (121, 50), (-60, 70), (-61, 50)])
def test_a_file_beside_the_sandbox_counts_while_it_is_fresh(age, pct):
    """It may fall, as it is measured; one from the future counts as little as an old one."""
    use = ContextUse(pct=50, source="caller", steps=0)
    found = measure_use(use, Sidecar(pct=70, at=later(NOW, -age)), NOW, LIMITS)
    assert current_use(found, LIMITS).pct == pct
    assert found.source == ("sidecar" if pct == 70 else "caller")
    low = measure_use(use, Sidecar(pct=-4, at=NOW), NOW, LIMITS)
    assert low.pct == 0

"""How plans, phases and tasks stand, and how far they are."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.lifecycles import LIFECYCLES, PART, TASK
from counterpoint.dialects.agentic.nouns.plans import Progress
from counterpoint.dialects.agentic.rules.progress import standing

WORDS = st.sampled_from(["open", "active", "done", "blocked", "skipped"])


@given(st.lists(WORDS))
def test_every_part_is_counted_once(parts):
    """What is open or blocked is never completed, what is skipped always is."""
    found = Progress(**Counter(parts))
    assert found.total == len(parts)
    assert found.completed == parts.count("done") + parts.count("skipped")
    assert found.percentage == (round(100 * found.completed / len(parts)) if parts else 0)
    assert (found.percentage == 100) >= (bool(parts) and found.completed == len(parts))


def test_nothing_is_no_progress():
    """And no division."""
    assert Progress().percentage == 0


@pytest.mark.parametrize("table", [TASK, PART])
def test_only_what_is_closed_is_completed(table):
    """A blocker makes no difference to what is closed."""
    for state, category in table.categories.items():
        how = standing(state)
        assert (how in {"done", "skipped"}) == (
            category in {"done", "dropped"} and state != "failed"
        )
        assert (standing(state, blocked=True) == "blocked") == (
            category not in {"done", "dropped"} or state == "failed"
        )


def test_a_state_means_the_same_in_every_table():
    """So that a count of states is enough to say how far a whole is."""
    meanings = {}
    for table in LIFECYCLES.values():
        for state, category in table.categories.items():
            assert meanings.setdefault(state, category) == category, (table.name, state)

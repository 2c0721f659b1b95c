"""How plans, phases and tasks stand, and how far they are."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.answers import Progress
from counterpoint.core.model.lifecycles import LIFECYCLES, PART, TASK
from counterpoint.dialects.agentic.rules.progress import part_state, percentage


def key(state):
    """Answer a state with its category."""
    return state, TASK.category(state)


STATES = st.sampled_from(["open", "active", "review", "done", "failed", "skipped", "cancelled"])


@given(st.lists(STATES), st.data())
def test_every_part_is_counted_once(parts, data):
    """What is open or blocked is never completed, what is skipped always is."""
    blocked = [state for state in parts if data.draw(st.booleans())]
    progress = Progress(states=Counter(map(key, parts)), blocked=Counter(map(key, blocked)))
    found = progress.counted(part_state)
    assert found.total() == progress.total == sum(progress.by_category().values()) == len(parts)
    completed = sum(parts.count(state) for state in ("done", "skipped", "cancelled"))
    assert found["done"] + found["skipped"] == completed
    assert found["blocked"] == parts.count("failed") + sum(
        blocked.count(state) for state in ("open", "active", "review")
    )
    assert percentage(progress) == (round(100 * completed / len(parts)) if parts else 0)


def test_nothing_is_no_progress():
    assert percentage(Progress()) == 0


@pytest.mark.parametrize("table", [TASK, PART])
def test_only_what_is_closed_is_completed(table):
    """A blocker makes no difference to what is closed."""
    for state, category in table.categories.items():
        how = part_state(state, category)
        assert (how in {"done", "skipped"}) == (
            category in {"done", "dropped"} and state != "failed"
        )
        assert (part_state(state, category, True) == "blocked") == (
            category not in {"done", "dropped"} or state == "failed"
        )


def test_a_state_of_a_table_that_is_not_installed_stands_by_its_category():
    """What is dropped and not known to be left out waits for somebody to decide."""
    found = [part_state("baked", one) for one in ("open", "active", "review", "done", "dropped")]
    assert found == ["open", "active", "active", "done", "blocked"]


def test_a_state_means_the_same_in_every_table():
    """So that a count of states is enough to say how far a whole is."""
    meanings = {}
    for table in LIFECYCLES.values():
        for state, category in table.categories.items():
            assert meanings.setdefault(state, category) == category, (table.name, state)

"""What a word to move an item asks."""

from __future__ import annotations

import pytest

from counterpoint.core.model.lifecycles import PART, TASK, Lifecycle
from counterpoint.core.rules.trust.succession import ASKS, asks
from counterpoint.dialects.colibri.nouns import STAGED


@pytest.mark.parametrize("table", [TASK, PART, STAGED], ids=lambda table: table.name)
def test_no_table_has_a_way_to_be_done_without_being_asked(table: Lifecycle) -> None:
    """Every end asks for its gates; every beginning and end of work is a part, or judges."""
    for origin, goals in table.moves.items():
        for goal in goals:
            found = asks(table, origin, goal)
            if table.category(goal) == "done":
                assert "gates" in found
                assert {"part", "judge"} & set(found)
            elif table.category(origin) == "open" and table.category(goal) != "open":
                assert found in {(), ("take", "part"), ("drop",)}


def test_what_leaves_work_out_is_not_taken_up() -> None:
    """Who loosened it may leave it out."""
    assert asks(TASK, "open", "skipped") == ("gates", "part")
    assert asks(PART, "open", "done") == ("gates", "take", "part")


def test_to_give_back_and_to_reopen_asks_nothing() -> None:
    for origin in ("active", "review", "done", "dropped"):
        assert (origin, "open") not in ASKS
    assert asks(TASK, "review", "active") == ()


def test_to_drop_asks_for_the_gates_and_to_fail_for_nothing() -> None:
    assert asks(PART, "active", "cancelled") == ("drop",)
    assert asks(TASK, "active", "failed") == ()

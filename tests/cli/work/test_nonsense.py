"""What is no name, or the name of something else, is refused with what to type."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.core.model.drafts import Draft

EMPTY = [
    ("export", ""),
    ("log", "--item", ""),
    ("list", "--parent", ""),
    ("add", "x", "--parent", ""),
]


@pytest.mark.parametrize("words", EMPTY, ids=" ".join)
def test_an_empty_name_is_a_fault_and_not_everything(call: Any, ledger: Any, words: Any) -> None:
    """A variable of a shell that is not set would else mean all there is."""
    refused = call(*words)
    assert (refused.code, refused.out) == (2, "")
    assert "it is empty" in refused.err


def test_the_top_is_meant_where_help_says_so(call: Any, ledger: Any) -> None:
    """`edit --parent ''` moves an item to the top."""
    assert call("edit", "harbour-6", "--parent", "").code == 0


def test_verify_of_an_item_names_the_command_for_its_checks(call: Any, ledger: Any) -> None:
    refused = call("verify", "harbour-4")
    assert (refused.code, "`counterpoint check harbour-4`" in refused.err) == (2, True)


def test_the_hint_of_a_check_that_is_not_allowed_names_its_item(call: Any, agent: Any) -> None:
    """In each command that it gives."""
    made = agent.plans.create(Draft(title="Weigh it", kind="task", checks=(("test", "-s", "it"),)))
    refused = call("check", made.root.id)
    assert refused.code == 1
    assert f"`counterpoint note {made.root.id} TEXT --kind blocker`" in refused.err
    assert f"`counterpoint finish {made.root.id} --outcome partial" in refused.err

"""Whichever dialect has a word for cancelling, a large tree is closed in slices by it."""

from __future__ import annotations

from typing import Any

import pytest

import builders
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface
from counterpoint.settings import Settings


@pytest.mark.parametrize(
    ("dialect", "tool", "table", "words"),
    [
        ("native", "edit", "", {"status": "cancelled"}),
        ("colibri", "task_update", "staged", {"status": "CANCELLED", "reason": "enough"}),
    ],
)
def test_a_word_for_cancelling_lets_others_write_in_between(
    workshop: builders.Workshop, dialect: str, tool: str, table: str, words: dict[str, Any]
) -> None:
    """By the tool as an agent calls it, and by its key again."""
    core = workshop.agent("bob").core
    tasks = tuple(Draft(kind="task", title=f"t{n}", lifecycle=table) for n in range(120))
    top = core.plans.create(Draft(kind="task", title="T", lifecycle=table, children=tasks)).root.id
    agent = workshop.agent("ada", surface=dialect)
    call = Call(core=agent.core, secret=lambda: builders.SECRET)
    built = surface(dialect, Settings())
    for _ in range(2):
        outcome = built.invoke(call, tool, {"id": top, **words, "idempotency_key": "k"})
        assert not outcome.is_error, outcome.text
    actions = [entry.action for entry in core.audit.log(subject=top, limit=9)]
    assert actions[:4] == ["item.edited", "tree.thinned", "tree.thinned", "tree.closing"]
    assert core.overview.state().counts["task"]["dropped"] == 121

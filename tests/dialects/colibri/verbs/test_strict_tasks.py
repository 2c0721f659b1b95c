"""Strict tasks: guards, the account of their moves, lists."""

from __future__ import annotations

from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, ItemFilter, Report
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Attribute
from counterpoint.dialects.colibri.verbs.strict_tasks import StrictTasks
from counterpoint.kernel.errors import GateClosed, IllegalMove
from fakes.studio import Studio
from fakes.texts import kept_as

WAY = ("gather", "analyze", "plan", "apply", "verify")


@pytest.fixture
def task(ada: Core) -> str:
    """Answer the id of a strict task in its first state."""
    return (
        ada.use(StrictTasks)
        .create(Draft(kind="task", title="Mend", aliases=(("uuid", "u-1"),)))
        .item.id
    )


def walk(core: Any, task: str, *states: str) -> None:
    """Move a task through states."""
    for state in states:
        core.items.edit(task, Edit(status=state))


def test_each_move_is_written_down_with_reason_and_attempt(ada: Core, bob: Core, task: str) -> None:
    """A check that sends the work back begins another attempt."""
    walk(ada, task, *WAY)
    bob.items.edit(task, Edit(status="gather", reason="It sticks."))
    moves = ada.use(StrictTasks).history(task)
    assert [(one.origin, one.goal) for one in moves] == list(
        zip(("init", *WAY), (*WAY, "gather"), strict=True)
    )
    assert [one.attempt for one in moves] == [1] * 5 + [2]
    assert (moves[-1].reason, moves[-1].agent) == ("It sticks.", "bob")
    assert ada.use(StrictTasks).history(task, after=5) == moves[5:]
    assert ada.use(StrictTasks).get(task).attempt == 2


def test_to_stay_is_no_move(ada: Core, task: str) -> None:
    """On a table that is traced; elsewhere nothing happens."""
    with pytest.raises(IllegalMove):
        ada.items.edit(task, Edit(status="init"))
    other = ada.plans.create(Draft(kind="task", title="x")).root.id
    assert ada.items.edit(other, Edit(status="open")).version == 1


def test_a_claim_that_fails_cancels_with_its_summary(ada: Core, task: str) -> None:
    """The words of the report are the reason; without words it is refused."""
    token = ada.claims.start(task).claim.token
    assert ada.items.get(task).status == "gather"
    with pytest.raises(GateClosed) as refused:
        ada.tasks.finish(task, token, Report(outcome="failed", summary=" "))
    assert refused.value.facts["missing_fields"] == ["reason"]
    ada.tasks.finish(task, token, Report(outcome="failed", summary="No oil."))
    assert ada.use(StrictTasks).history(task)[-1].reason == "No oil."
    assert ada.items.get(task).status == "cancelled"


def test_what_closes_with_its_part_is_not_asked(ada: Core) -> None:
    """A cancelled plan cancels what is below it, and says so in its account."""
    tree = Draft(
        kind="plan", title="p", children=(Draft(kind="task", title="t", lifecycle="staged"),)
    )
    plan, task = ada.plans.create(tree).items
    ada.items.edit(plan.id, Edit(status="cancelled"))
    [move] = ada.use(StrictTasks).history(task.id)
    assert (move.goal, move.reason) == ("cancelled", f"{plan.id} above it is cancelled")


def test_lists_go_on_over_many_pages_of_the_store(ada: Core) -> None:
    """Also where only few of them are sought, and where there are none."""
    assert ada.use(StrictTasks).list(ItemFilter(), 0, 9) == []
    made = [
        ada.use(StrictTasks)
        .create(Draft(kind="task", title=f"t{n}", attributes={"project_id": str(n % 60)}))
        .item.id
        for n in range(110)
    ]
    walk(ada, made[109], "gather")
    listed = [one.item.id for one in ada.use(StrictTasks).list(ItemFilter(), 0, 200)]
    assert listed == made
    few = ada.use(StrictTasks).list(ItemFilter(attributes={"project_id": "49"}), 0, 200)
    assert [one.item.id for one in few] == [made[49], made[109]]
    assert [
        one.item.id for one in ada.use(StrictTasks).list(ItemFilter(status="gather"), 0, 9)
    ] == made[-1:]
    assert ada.use(StrictTasks).list(ItemFilter(), 0, 0) == []


def test_a_value_that_was_redacted_is_its_mark(studio: Studio, ada: Core) -> None:
    """It is kept as no JSON any more."""
    made = (
        ada.use(StrictTasks)
        .create(Draft(kind="task", title="x", attributes={"priority": "a secret"}))
        .item.id
    )
    with studio.view() as view:
        kept = view.select(Attribute, item=made)[0]
    assert kept.value == Prose('"a secret"')
    with studio.store.writing(studio.ports.project) as writing:
        name = kept_as(writing, kept.value)
        salted = writing.salted(name)
        assert salted is not None
        writing.forget([name])
    assert ada.use(StrictTasks).get(made).attributes == {"priority": "[redacted]"}
    with studio.store.writing(studio.ports.project) as writing:
        writing.keep({name: salted})

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
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.errors import GateClosed, IllegalMove, NotFound, StaleVersion
from fakes.studio import Studio

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


def test_a_strict_task_is_found_by_each_of_its_names(ada: Core, task: str) -> None:
    """An item on another table is none, and neither is one that is not there."""
    made = ada.use(StrictTasks).create(
        Draft(kind="task", title="x", body="b", assignee="bob", attributes={"priority": "high"})
    )
    assert (made.item.status, made.item.assignee, made.attributes) == (
        "init",
        "bob",
        {"priority": "high"},
    )
    assert ada.use(StrictTasks).get("u-1") == ada.use(StrictTasks).get(task)
    other = ada.plans.create(Draft(kind="task", title="x")).root.id
    for name in (other, "none"):
        with pytest.raises(NotFound):
            ada.use(StrictTasks).get(name)


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


def test_done_needs_a_thought_since_the_work(ada: Core, task: str) -> None:
    """Of the right type, about this task, and after the last entry into the work."""
    other = ada.use(StrictTasks).create(Draft(kind="task", title="other")).item.id
    walk(ada, task, *WAY[:3])
    ada.use(Thoughts).think("decision", "Before.", task=task)
    walk(ada, task, *WAY[3:])
    ada.use(Thoughts).think("plan", "A plan.", task=task)
    ada.use(Thoughts).think("reflection", "Elsewhere.", task=other)
    with pytest.raises(GateClosed) as refused:
        ada.items.edit(task, Edit(status="done"))
    assert refused.value.facts["missing_fields"] == ["thought_record"]
    ada.use(Thoughts).think("reflection", "It holds.", task=task)
    walk(ada, task, "done")
    assert ada.items.get(task).is_closed


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


def test_a_change_of_another_state_than_the_one_seen_is_refused(ada: Core, task: str) -> None:
    """Whoever saw an older state looks again."""
    walk(ada, task, "gather")
    with pytest.raises(StaleVersion) as refused:
        ada.items.edit(task, Edit(title="x", expected_status="init"))
    assert refused.value.facts["status"] == "gather"
    assert ada.items.edit(task, Edit(title="x", expected_status="gather")).title == "x"


def test_a_task_that_was_taken_away_is_hidden_until_it_is_put_back(ada: Core, task: str) -> None:
    """Nothing of it is lost."""
    assert "deleted_at" in ada.use(StrictTasks).delete(task).attributes
    with pytest.raises(NotFound):
        ada.use(StrictTasks).get(task)
    assert ada.use(StrictTasks).list(ItemFilter(), 0, 9) == []
    assert len(ada.use(StrictTasks).list(ItemFilter(), 0, 9, deleted=True)) == 1
    assert ada.use(StrictTasks).delete(task, back=True) == ada.use(StrictTasks).get(task)


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


def test_next_moves_are_of_what_is_not_closed(ada: Core, task: str) -> None:
    """With the states that may follow, and what is in the way."""
    other = (
        ada.use(StrictTasks)
        .create(Draft(kind="task", title="other", attributes={"project_id": "p"}))
        .item.id
    )
    ada.items.edit(other, Edit(add_needs=(task,)))
    first, second = ada.use(StrictTasks).next_moves(0, 9)
    assert (first.moves, first.readiness.is_ready) == (("gather", "cancelled"), True)
    assert (second.task.item.id, second.readiness.is_ready) == (other, False)
    assert [
        one.task.item.id for one in ada.use(StrictTasks).next_moves(0, 9, {"project_id": "p"})
    ] == [other]
    ada.items.edit(task, Edit(status="cancelled", reason="no"))
    assert [one.task.item.id for one in ada.use(StrictTasks).next_moves(0, 9)] == [other]


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
        writing.forget(text_digest(kept.value))
    assert ada.use(StrictTasks).get(made).attributes == {"priority": "[redacted]"}
    with studio.store.writing(studio.ports.project) as writing:
        writing.keep({text_digest(kept.value): kept.value})

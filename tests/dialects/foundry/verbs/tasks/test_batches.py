"""Several nodes at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.foundry.models.specs import Node
from counterpoint.dialects.foundry.models.tasks import Ended
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.dialects.foundry.tasks.offering import Batches
from counterpoint.kernel.errors import Conflict

SPEC = "export-2026-01-02-001"
Look = Callable[[str], Node]


@pytest.fixture
def batches(ada: Agent, node: Look) -> Batches:
    """Answer the verbs, for a spec of two phases with two tasks each."""
    assert node("task-1-1").status == "pending"
    return ada.core.use(Batches)


@pytest.fixture
def ben(workshop: Workshop) -> Agent:
    """Answer another agent."""
    return workshop.agent("ben")


def test_all_are_started_or_none(batches: Batches, ben: Agent, node: Look, ada: Agent) -> None:
    """What is in the way of each is told; files that overlap are too, and what somebody else holds."""
    with pytest.raises(Conflict) as refusal:
        batches.start(SPEC, ["task-1-1", "task-2-1", "nope"])
    assert refusal.value.facts["error_code"] == "OPERATION_FAILED"
    assert list(refusal.value.facts["errors"]) == ["task-2-1", "nope"]
    item = node("task-1-2").item.id
    ada.core.items.edit(item, Edit(areas=("src",)))
    with pytest.raises(Conflict, match="src overlaps with src/task-1-1"):
        batches.start(SPEC, ["task-1-1", "task-1-2"])
    ada.core.items.edit(item, Edit(areas=()))
    ben.core.use(Moving).start(SPEC, "task-1-2")
    with pytest.raises(Conflict, match="is held by ben"):
        batches.start(SPEC, ["task-1-1", "task-1-2"])
    assert node("task-1-1").status == "pending"
    ben.core.use(Moving).set_status(SPEC, "task-1-2", "pending")
    started = batches.start(SPEC, ["task-1-1", "task-1-2", "task-1-1"])
    assert started.started == ("task-1-1", "task-1-2")
    assert node("task-1-1").metadata["started_at"] == node("task-1-2").metadata["started_at"]


def test_each_of_a_batch_ends_for_itself(batches: Batches, node: Look, ben: Agent) -> None:
    """What failed is pending again, with how often, when and why; nothing else is lost with it."""
    batches.start(SPEC, ["task-1-1", "task-1-2"])
    ended = [Ended(id="task-1-1", success=True, note="done"), Ended(id="nope", success=True)]
    failed = [
        Ended(id="task-1-2", success=False, note="It broke"),
        Ended(id="phase-1", success=False),
    ]
    spec, results = batches.complete(SPEC, [*ended, *failed])
    assert spec == SPEC
    assert [one.status for one in results] == ["completed", "error", "failed", "error"]
    assert node("task-1-2").status == "pending"
    assert node("task-1-2").metadata["failure_reason"] == "It broke"
    (again,) = batches.complete(SPEC, [Ended(id="task-1-2", success=False)])[1]
    assert (again.retries, again.failed_at) == (2, node("task-1-2").metadata["failed_at"])
    assert "failure_reason" not in node("task-1-2").metadata
    (over,) = batches.complete(SPEC, [Ended(id="task-1-1", success=False)])[1]
    assert "completed already" in over.error
    ben.core.use(Moving).start(SPEC, "task-1-2")
    (held,) = batches.complete(SPEC, [Ended(id="task-1-2", success=False)])[1]
    assert "is held by ben" in held.error


def test_what_was_left_is_reset(
    batches: Batches, node: Look, ben: Agent, workshop: Workshop
) -> None:
    """What is stale, or what is named; what somebody else is at stays his."""
    batches.start(SPEC, ["task-1-1"])
    ben.core.use(Moving).start(SPEC, "task-1-2")
    assert batches.reset(SPEC).reset == ()
    told = batches.reset(SPEC, ["task-1-1", "task-1-1", "task-1-2", "task-2-1", "nope"])
    assert told.reset == ("task-1-1",)
    assert list(told.errors) == ["task-2-1", "nope", "task-1-2"]
    assert node("task-1-1").status == "pending"
    assert (batches.reset(SPEC, hours=0.0).reset, node("task-1-2").status) == ((), "in_progress")
    workshop.clock.pass_by(minutes=90)
    assert batches.reset(SPEC, hours=2).reset == ()
    assert batches.reset(SPEC).reset == ("task-1-2",)


def test_what_somebody_left_begun_fails_too(
    batches: Batches, node: Look, ben: Agent, workshop: Workshop
) -> None:
    """Whoever says so gives it back."""
    ben.core.use(Moving).start(SPEC, "task-1-1")
    workshop.clock.pass_by(minutes=600)
    (told,) = batches.complete(SPEC, [Ended(id="task-1-1", success=False, note="gone")])[1]
    assert (told.status, told.retries) == ("failed", 1)
    assert node("task-1-1").status == "pending"

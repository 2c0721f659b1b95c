"""Nodes started, completed, blocked and unblocked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note, Report
from counterpoint.core.model.sessions import Claim
from counterpoint.dialects.foundry.models.specs import Node
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    Conflict,
    GateClosed,
    InvalidInput,
    NotFound,
    NotReady,
)

SPEC = "export-2026-01-02-001"


@pytest.fixture
def ben(workshop: Workshop) -> Agent:
    """Answer another agent."""
    return workshop.agent("ben")


@pytest.fixture
def moving(ada: Agent, root: str) -> Moving:
    """Answer verbs for a spec of two phases with two tasks each."""
    assert root
    return ada.core.use(Moving)


def test_who_starts_a_node_holds_it(
    moving: Moving, ben: Agent, node: Callable[[str], Node], ada: Agent
) -> None:
    """Nobody else starts or completes it; when it was started is kept, also if it is started again."""
    started = moving.start(SPEC, "task-1-1", "I begin")
    assert (started.id, started.type, started.title) == ("task-1-1", "task", "Write part 1 of 1")
    assert node("task-1-1").status == "in_progress"
    assert node("task-1-1").metadata["started_at"] == started.started_at
    assert moving.start(SPEC, "task-1-1").started_at == started.started_at
    for act in (
        lambda: ben.core.use(Moving).start(SPEC, "task-1-1"),
        lambda: ben.core.use(Moving).complete(SPEC, "task-1-1", "done"),
        lambda: ben.core.use(Moving).block(SPEC, "task-1-1", "why"),
        lambda: ben.core.use(Moving).set_status(SPEC, "task-1-1", "pending"),
    ):
        with pytest.raises(AlreadyClaimed):
            act()
    claim = ada.core.overview.find(Claim, node("task-1-1").item.id)
    assert claim is not None
    assert claim.is_held


def test_a_node_is_completed_with_its_note(
    moving: Moving, node: Callable[[str], Node], ada: Agent, workshop: Workshop
) -> None:
    """Started before or not: an outcome, an entry of the journal, the hours if it was started, the counts of the spec."""
    moving.start(SPEC, "task-1-1")
    workshop.clock.pass_by(minutes=90)
    done = moving.complete(SPEC, "task-1-1", "It is there")
    assert (done.status, done.total.completed, done.total.total) == ("completed", 1, 4)
    assert done.completed_at
    assert (done.phase, done.phase_is_done) == ("phase-1", False)
    assert node("task-1-1").metadata["actual_hours"] == 1.5
    item = node("task-1-1").item
    assert ada.core.overview.outcomes(item.id)[0].summary == "It is there"
    (record,) = ada.core.overview.recent("milestone", item=item.id)
    assert record.body == "It is there"
    assert moving.complete(SPEC, "task-1-2", "That too").phase_is_done
    assert "actual_hours" not in node("task-1-2").metadata
    assert node("phase-1").status == "completed"


@pytest.mark.parametrize("act", ["start", "complete"])
def test_what_cannot_be_done_is_refused_with_a_reason(
    moving: Moving, ada: Agent, act: str, node: Callable[[str], Node]
) -> None:
    """A phase, what waits, what is blocked, what is done, what is not there."""

    def refused(kind: type[Exception], task: str) -> str:
        with pytest.raises(kind) as fault:
            moving.start(SPEC, task) if act == "start" else moving.complete(SPEC, task, "done")
        return str(fault.value)

    assert "phase-1 is a phase" in refused(Conflict, "phase-1")
    assert "spec-root is a spec" in refused(Conflict, "spec-root")
    assert "phase-2 waits for phase-1 (pending)" in refused(NotReady, "task-2-1")
    refused(NotFound, "task-9-9")
    moving.block(SPEC, "task-1-1", "The service is down", "technical", "OPS-1")
    assert "task-1-1 is blocked: The service is down" in refused(NotReady, "task-1-1")
    moving.complete(SPEC, "task-1-2", "done")
    assert "task-1-2 is completed already" in refused(Conflict, "task-1-2")
    moving.unblock(SPEC, "task-1-1")
    ada.core.plans.create(Draft(kind="task", title="Below"), parent=node("task-1-1").item.id)
    assert "has unfinished work below it" in refused(NotReady, "task-1-1")


def test_a_blocked_node_says_why_until_it_is_unblocked(
    moving: Moving, node: Callable[[str], Node]
) -> None:
    """It is given back, pending after it, and keeps what blocked it before."""
    moving.start(SPEC, "task-1-1")
    assert moving.block(SPEC, "task-1-1", "No key", "resource", "OPS-2") == (SPEC, "task-1-1")
    seen = node("task-1-1")
    assert (seen.status, seen.item.status) == ("blocked", "open")
    assert (seen.metadata["blocker_type"], seen.metadata["blocker_ticket"]) == ("resource", "OPS-2")
    free = moving.unblock(SPEC, "task-1-1", "The key came")
    assert (free.before.type, free.before.description, free.before.ticket) == (
        "resource",
        "No key",
        "OPS-2",
    )
    assert (free.status, node("task-1-1").status) == ("pending", "pending")
    (kept,) = node("task-1-1").metadata["resolved_blockers"]
    assert kept["resolution"] == "The key came"
    with pytest.raises(Conflict, match="not blocked"):
        moving.unblock(SPEC, "task-1-1")


def test_what_blocked_a_node_is_kept_as_far_as_it_fits(
    moving: Moving, node: Callable[[str], Node], ada: Agent
) -> None:
    """The newest whole; so it can be unblocked however often it was blocked, and wherever."""
    for number in range(6):
        moving.block(SPEC, "task-1-1", f"{number}" * 14_000)
        moving.unblock(SPEC, "task-1-1", "é" * 5_000)
    kept = node("task-1-1").metadata["resolved_blockers"]
    assert [one["blocker_description"][0] for one in kept] == ["4", "5"]
    for act in (moving.block, moving.unblock):
        with pytest.raises(InvalidInput, match="too long"):
            act(SPEC, "task-1-1", "é" * 20_000)
    item = node("task-1-1").item.id
    ada.core.journal.append(Note(kind="blocker", body="é" * 20_000, item=item))
    moving.unblock(SPEC, "task-1-1", "so")
    assert "too long" in node("task-1-1").metadata["resolved_blockers"][-1]["blocker_description"]


def test_a_phase_is_blocked_with_all_below_it(moving: Moving, node: Callable[[str], Node]) -> None:
    """Neither is a whole spec, nor what has ended."""
    moving.block(SPEC, "phase-1", "Not yet")
    assert node("phase-1").status == "blocked"
    with pytest.raises(NotReady, match="phase-1 is blocked: Not yet"):
        moving.start(SPEC, "task-1-1")
    assert moving.unblock(SPEC, "phase-1").before.type == "dependency"
    with pytest.raises(Conflict, match="not blocked as a whole"):
        moving.block(SPEC, "spec-root", "why")
    moving.complete(SPEC, "task-1-1", "done")
    with pytest.raises(Conflict, match="nothing can block it"):
        moving.block(SPEC, "task-1-1", "why")


def test_a_status_is_set_by_the_verb_of_its_word(
    moving: Moving, node: Callable[[str], Node]
) -> None:
    """Each leads to each other; blocked asks for a reason."""
    with pytest.raises(InvalidInput) as refusal:
        moving.set_status(SPEC, "task-1-1", "blocked", " ")
    assert refusal.value.facts["error_code"] == "MISSING_REQUIRED"
    for status in ("in_progress", "pending", "completed", "pending", "blocked", "pending"):
        assert moving.set_status(SPEC, "task-1-1", status, "why") == SPEC
        assert node("task-1-1").status == status
    moving.set_status(SPEC, "task-1-1", "pending")
    with pytest.raises(Conflict, match="is a phase"):
        moving.set_status(SPEC, "phase-1", "pending")


def test_the_last_task_below_a_task_completes_it(
    moving: Moving, node: Callable[[str], Node], ada: Agent
) -> None:
    """Also over several levels; not where somebody is at it, or where it has something of its own in the way."""
    top = node("task-1-1").item.id
    ada.core.plans.create(
        Draft(kind="task", title="a", children=(Draft(kind="task", title="b"),)), parent=top
    )
    (middle,) = node("task-1-1").children
    (low,) = node(middle).children
    assert moving.complete(SPEC, low, "done").holders == (middle, "task-1-1")
    assert node("task-1-1").status == "completed"
    two = node("task-1-2").item.id
    ada.core.plans.create(Draft(kind="task", title="c"), parent=two)
    ada.core.journal.append(Note(kind="blocker", body="wait", item=two))
    (part,) = node("task-1-2").children
    with pytest.raises(NotReady):
        moving.complete(SPEC, part, "done")
    moving.unblock(SPEC, "task-1-2")
    assert moving.complete(SPEC, part, "done").phase_is_done


def test_gates_of_other_dialects_hold(
    moving: Moving, node: Callable[[str], Node], ada: Agent
) -> None:
    """A check that has not passed refuses the end; a review has it handed in."""
    phase = node("phase-1").item.id
    ada.core.plans.create(Draft(kind="task", title="checked", checks=(("true",),)), parent=phase)
    ada.core.plans.create(Draft(kind="task", title="reviewed", review=True), parent=phase)
    checked, reviewed = node("phase-1").children[2:]
    with pytest.raises(GateClosed):
        moving.complete(SPEC, checked, "done")
    assert node(checked).status == "pending"
    handed = moving.complete(SPEC, reviewed, "done")
    assert (handed.status, handed.completed_at) == ("in_progress", "")
    assert handed.warnings == ("It was handed in, and awaits a verdict.",)
    for act in (
        lambda: moving.start(SPEC, reviewed),
        lambda: moving.complete(SPEC, reviewed, "done"),
    ):
        with pytest.raises(Conflict, match="awaits a verdict"):
            act()


def test_what_failed_elsewhere_is_blocked_until_it_is_tried_again(
    moving: Moving, node: Callable[[str], Node], ada: Agent
) -> None:
    """As a blocker of no ticket."""
    item = node("task-1-1").item.id
    token = ada.core.claims.start(item).claim.token
    ada.core.tasks.finish(item, token, Report(outcome="failed", summary="No"))
    assert node("task-1-1").status == "blocked"
    with pytest.raises(Conflict, match="task-1-1 is blocked: it failed"):
        moving.start(SPEC, "task-1-1")
    assert moving.unblock(SPEC, "task-1-1", "again").status == "pending"


def test_what_its_holder_has_left_is_completed_by_another(
    moving: Moving, ben: Agent, node: Callable[[str], Node], workshop: Workshop
) -> None:
    """Once the lease has run out."""
    moving.start(SPEC, "task-1-1")
    workshop.clock.pass_by(minutes=540)
    assert ben.core.use(Moving).complete(SPEC, "task-1-1", "done").status == "completed"

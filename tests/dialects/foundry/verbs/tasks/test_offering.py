"""What may be taken up next, and what lies around it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.foundry.models.specs import Node
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.tasks.editing import Linking, Shaping
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.dialects.foundry.tasks.offering import Batches, Offering
from counterpoint.kernel.errors import NotFound

SPEC = "export-2026-01-02-001"
Look = Callable[[str], Node]


@pytest.fixture
def ben(workshop: Workshop, node: Look) -> Agent:
    """Answer another agent, with a spec of two phases with two tasks each."""
    assert node("task-1-1").status == "pending"
    return workshop.agent("ben")


def offered(agent: Agent) -> str:
    """Return the id of what is offered; empty for nothing."""
    found = agent.core.use(Offering).next(SPEC).node
    return found.id if found else ""


def test_nodes_are_offered_in_the_order_of_the_tree(ada: Agent, ben: Agent) -> None:
    """By their places, never by their ids; what is below a task first; what somebody holds is left out."""
    shaping = ada.core.use(Shaping)
    for place in (0, 0):
        shaping.add(SPEC, NodeDraft(parent="phase-1", title="x", type="task", position=place))
    assert offered(ben) == "task-1-4"
    shaping.add(SPEC, NodeDraft(parent="task-1-4", title="y", type="subtask"))
    assert offered(ben) == "task-1-4-1"
    ada.core.use(Moving).start(SPEC, "task-1-4-1")
    assert offered(ben) == "task-1-3"
    # Nor is what the caller holds: that stands beside the offer.
    assert offered(ada) == "task-1-3"
    ada.core.use(Moving).complete(SPEC, "task-1-4-1", "done")
    ada.core.use(Moving).block(SPEC, "task-1-3", "why")
    assert offered(ben) == "task-1-1"


def test_phases_that_were_begun_come_first(ada: Agent, ben: Agent, node: Look) -> None:
    """Also those that stand later; verifications and research are offered too, groups are not."""
    ada.core.items.edit(node("phase-2").item.id, Edit(remove_needs=(node("phase-1").item.id,)))
    moving, shaping = ada.core.use(Moving), ada.core.use(Shaping)
    moving.start(SPEC, "task-2-1")
    assert offered(ben) == "task-2-2"
    ben.core.use(Moving).complete(SPEC, "task-2-2", "done")
    group = Draft(kind="task", title="Group", attributes={"type": "group"})
    ada.core.plans.create(group, parent=node("phase-2").item.id)
    shaping.add(SPEC, NodeDraft(parent="phase-2", title="Look", type="research"))
    shaping.add(SPEC, NodeDraft(parent="phase-2", title="Verify", type="verify"))
    assert offered(ben) == "research-2-1"
    ben.core.use(Moving).complete(SPEC, "research-2-1", "found")
    assert offered(ben) == "verify-2-1"


def test_nothing_is_offered_where_all_is_done_or_waits(ada: Agent, ben: Agent) -> None:
    """The two are told apart; a spec that there is not is refused."""
    moving = ada.core.use(Moving)
    moving.start(SPEC, "task-1-1")
    moving.start(SPEC, "task-1-2")
    found = ben.core.use(Offering).next(SPEC)
    assert (found.node, found.is_complete) == (None, False)
    for task in ("task-1-1", "task-1-2", "task-2-1", "task-2-2"):
        moving.complete(SPEC, task, "done")
    found = ben.core.use(Offering).next(SPEC)
    assert (found.node, found.is_complete) == (None, True)
    assert ben.core.use(Offering).prepare(SPEC).offered == found
    with pytest.raises(NotFound):
        ben.core.use(Offering).next("nothing")


def test_what_somebody_left_is_offered_again(ada: Agent, ben: Agent, workshop: Workshop) -> None:
    """Once his lease has run out."""
    ada.core.use(Moving).start(SPEC, "task-1-1")
    assert offered(ben) == "task-1-2"
    workshop.clock.pass_by(minutes=600)
    assert offered(ben) == "task-1-1"


def test_many_nodes_are_looked_through_in_pages(ada: Agent, made: Callable[..., str]) -> None:
    """Those that were done before the first that is free too."""
    other = "other-2026-01-02-001"
    made(phases=1, tasks=70, spec=other)
    moving = ada.core.use(Moving)
    for number in range(1, 61):
        moving.block(other, f"task-1-{number}", "why")
    for number in range(61, 70):
        moving.start(other, f"task-1-{number}")
    found = ada.core.use(Offering).next(other).node
    assert found is not None
    assert found.id == "task-1-70"


def test_a_node_is_prepared_with_what_lies_around_it(ada: Agent, made: Callable[..., str]) -> None:
    """The nearest of many siblings, its phase, its journal, what waits for it."""
    other = "other-2026-01-02-001"
    made(phases=2, tasks=40, spec=other)
    moving, linking = ada.core.use(Moving), ada.core.use(Linking)
    moving.complete(other, "task-1-1", "done")
    for number in range(3, 35):
        linking.add(other, "task-1-2", f"task-1-{number}", "blocks")
    linking.add(other, "task-1-2", "task-2-1", "depends")
    linking.add(other, "phase-2", "task-1-2", "blocked_by")
    moving.start(other, "task-1-2", "I begin")
    moving.set_status(other, "task-1-2", "pending")
    found = ada.core.use(Offering).prepare(other)
    assert found.offered.node is not None
    assert found.offered.node.id == "task-1-2"
    assert found.waits is not None
    assert found.waits.can_start
    assert (len(found.waits.blocks), found.waits.more) == (30, 3)
    assert [one.id for one in found.waits.depends] == ["task-2-1"]
    around = found.around
    assert around is not None
    assert around.before is not None
    assert (around.before.id, around.before.status) == ("task-1-1", "completed")
    assert [one.id for one in around.nearest] == [
        *("task-1-1", "task-1-3", "task-1-4", "task-1-5", "task-1-6", "task-1-7")
    ]
    assert (around.siblings, around.place, around.phase_place) == (40, 2, 1)
    assert around.phase is not None
    assert (around.phase.status, around.phase.tally.completed) == ("in_progress", 1)
    assert [one.content for one in around.journal] == ["I begin"]
    moving.block(other, "phase-1", "Not now")
    late = ada.core.use(Offering).prepare(other, "task-2-1")
    assert late.waits is not None
    assert not late.waits.can_start
    assert [one.id for one in late.waits.reasons and late.waits.blocked_by] == []
    assert "phase-2 waits for phase-1" in late.waits.reasons[0]
    own = ada.core.use(Offering).prepare(other, "phase-1")
    assert own.around is not None
    assert (own.around.blocked, own.around.phase_place) == (("Not now",), 1)
    assert own.around.parent.id == "spec-root"


def test_a_batch_has_nodes_that_do_not_touch_each_other(
    ada: Agent, ben: Agent, node: Look, workshop: Workshop
) -> None:
    """Within both limits; with what was begun long ago, and why others were left out."""
    found = ben.core.use(Offering).batch(SPEC, 3, 50_000)
    assert [one.offered.node.id for one in found.prepared if one.offered.node] == [
        *("task-1-1", "task-1-2")
    ]
    assert (found.is_complete, found.all_blocked) == (False, False)
    assert found.tokens > 0
    ada.core.use(Linking).add(SPEC, "task-1-2", "task-1-1", "depends")
    found = ben.core.use(Offering).batch(SPEC, 3, 50_000)
    assert (len(found.prepared), list(found.why)) == (1, ["task-1-2"])
    assert found.graph["edges"] == []
    ada.core.use(Batches).start(SPEC, ["task-1-1", "task-1-2"])
    workshop.clock.pass_by(minutes=20)
    found = ben.core.use(Offering).batch(SPEC, 3, 50_000)
    assert (found.prepared, found.all_blocked, found.stale) == ((), True, ())
    workshop.clock.pass_by(minutes=50)
    stale = ben.core.use(Offering).batch(SPEC, 3, 50_000).stale
    assert [name for name, _, _ in stale] == ["task-1-1", "task-1-2"]
    assert node("task-1-1").status == "in_progress"

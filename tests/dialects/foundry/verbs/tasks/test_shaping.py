"""Nodes added, moved and taken out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Agent
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.foundry.models.specs import Node
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.tasks.editing import Linking, Shaping
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    Conflict,
    CyclicDependency,
    InvalidInput,
    NotFound,
)

SPEC = "export-2026-01-02-001"
Look = Callable[[str], Node]


@pytest.fixture
def shaping(ada: Agent) -> Shaping:
    """Answer the verbs."""
    return ada.core.use(Shaping)


def test_a_node_gets_the_next_number_of_its_phase(shaping: Shaping, node: Look) -> None:
    """By its type and its parent; one that was removed is not given again; a dry run makes nothing."""
    new = NodeDraft(parent="phase-1", title="More", type="task", file_path="src/more.py")
    assert shaping.add(SPEC, new, dry_run=True).id == "task-1-3"
    made = shaping.add(SPEC, new)
    assert (made.id, made.parent, made.position) == ("task-1-3", "phase-1", 2)
    assert node("task-1-3").metadata == {"file_path": "src/more.py"}
    shaping.remove(SPEC, "task-1-3")
    assert shaping.add(SPEC, new).id == "task-1-4"
    for parent, sort, name in (
        ("phase-1", "verify", "verify-1-1"),
        ("phase-2", "research", "research-2-1"),
        ("task-1-1", "subtask", "task-1-1-1"),
        ("task-1-1", "task", "task-1-1-2"),
        ("phase-2", "subtask", "task-2-3"),
    ):
        added = NodeDraft(parent=parent, title="More", type=sort, kept={"query": "why"})
        assert shaping.add(SPEC, added).id == name
        assert node(name).type == ("subtask" if name == "task-1-1-2" else sort)
        assert node(name).metadata == {"query": "why"}


def test_a_node_is_made_at_its_place(shaping: Shaping, node: Look) -> None:
    """Counted from 0 among the nodes; below a phase or a task that has not ended."""
    new = NodeDraft(parent="phase-1", title="First", type="task", position=0)
    assert shaping.add(SPEC, new).position == 0
    assert node("phase-1").children == ("task-1-3", "task-1-1", "task-1-2")
    last = NodeDraft(parent="phase-1", title="Last", type="task", position=3)
    assert shaping.add(SPEC, last).position == 3
    for wrong, code in (
        (NodeDraft(parent="phase-1", title="x", type="task", position=9), "INVALID_POSITION"),
        (NodeDraft(parent="spec-root", title="x", type="task"), "INVALID_PARENT"),
    ):
        with pytest.raises(InvalidInput) as refusal:
            shaping.add(SPEC, wrong)
        assert refusal.value.facts["error_code"] == code
    with pytest.raises(NotFound) as missing:
        shaping.add(SPEC, NodeDraft(parent="phase-9", title="x", type="task"))
    assert missing.value.facts["error_code"] == "NOT_FOUND"


def test_nothing_is_made_below_what_has_ended(shaping: Shaping, ada: Agent, node: Look) -> None:
    """It is reopened first."""
    assert node("task-1-1").status == "pending"
    ada.core.use(Moving).complete(SPEC, "task-1-1", "done")
    with pytest.raises(Conflict):
        shaping.add(SPEC, NodeDraft(parent="task-1-1", title="x", type="task"))


def test_a_node_is_removed_with_what_waits_for_it(shaping: Shaping, ada: Agent, node: Look) -> None:
    """Its edges go, hard and soft ones; what is below it goes only if that is said; a dry run removes nothing."""
    ada.core.plans.create(Draft(kind="task", title="Part"), parent=node("task-1-1").item.id)
    linking = ada.core.use(Linking)
    linking.add(SPEC, "task-1-2", "task-1-1", "blocked_by")
    linking.add(SPEC, "task-2-1", "task-1-1", "depends")
    linking.add(SPEC, "task-2-2", "task-1-1", "depends")
    linking.add(SPEC, "task-2-2", "task-1-2", "depends")
    with pytest.raises(InvalidInput, match="1 node below it"):
        shaping.remove(SPEC, "task-1-1")
    for dry_run in (True, False):
        gone = shaping.remove(SPEC, "task-1-1", cascade=True, dry_run=dry_run)
        assert (gone.id, gone.children, gone.leaves) == ("task-1-1", 1, 1)
    assert node("phase-1").children == ("task-1-2",)
    assert node("task-1-2").blocked_by == ()
    assert node("task-2-1").depends == ()
    assert node("task-2-2").depends == ("task-1-2",)
    with pytest.raises(NotFound):
        shaping.remove(SPEC, "task-1-1")
    with pytest.raises(InvalidInput, match="no task"):
        shaping.remove(SPEC, "phase-1")


def test_what_somebody_is_at_is_not_removed(shaping: Shaping, workshop, node: Look) -> None:
    """Until it was given back."""
    assert node("task-1-1").status == "pending"
    workshop.agent("ben").core.use(Moving).start(SPEC, "task-1-1")
    with pytest.raises(AlreadyClaimed):
        shaping.remove(SPEC, "task-1-1")


def test_a_node_is_moved_and_keeps_its_id(shaping: Shaping, node: Look) -> None:
    """Below another, or to another place; places are those of the nodes that are shown."""
    for title in ("c", "d"):
        shaping.add(SPEC, NodeDraft(parent="phase-1", title=title, type="task"))
    shaping.remove(SPEC, "task-1-2")
    seen = shaping.move(SPEC, "task-1-4", position=1, dry_run=True)
    assert (seen.before, seen.after) == (3, 1)
    assert node("phase-1").children == ("task-1-1", "task-1-3", "task-1-4")
    assert shaping.move(SPEC, "task-1-4", position=2).after == 2
    assert node("phase-1").children == ("task-1-1", "task-1-4", "task-1-3")
    moved = shaping.move(SPEC, "task-1-4", "phase-2", 2)
    assert (moved.origin, moved.goal, moved.before, moved.after, moved.size) == (
        *("phase-1", "phase-2", 2, 2),
        1,
    )
    assert node("phase-2").children == ("task-2-1", "task-1-4", "task-2-2")
    assert shaping.move(SPEC, "task-1-3", "phase-2").after == 4
    assert shaping.move(SPEC, "task-1-3", "phase-2").after == 4
    # The number of one that has moved away is not given again.
    new = NodeDraft(parent="phase-1", title="e", type="task")
    assert shaping.add(SPEC, new).id == "task-1-5"


def test_a_node_is_not_moved_where_it_cannot_be(shaping: Shaping, node: Look) -> None:
    """Below itself, below what holds nothing, to a place that there is not."""
    assert node("task-1-1").status == "pending"
    shaping.add(SPEC, NodeDraft(parent="task-1-1", title="part", type="task"))
    with pytest.raises(CyclicDependency):
        shaping.move(SPEC, "task-1-1", "task-1-1-1")
    for parent, position, code in (
        ("phase-9", None, "INVALID_PARENT"),
        ("spec-root", None, "INVALID_PARENT"),
        ("phase-2", 9, "INVALID_POSITION"),
        ("", 0, "INVALID_POSITION"),
    ):
        with pytest.raises(InvalidInput) as refusal:
            shaping.move(SPEC, "task-1-1", parent, position)
        assert refusal.value.facts["error_code"] == code
    with pytest.raises(InvalidInput, match="say where to"):
        shaping.move(SPEC, "task-1-1")
    with pytest.raises(InvalidInput, match="no task"):
        shaping.move(SPEC, "phase-1", "phase-2")

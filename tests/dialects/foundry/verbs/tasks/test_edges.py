"""Dependencies of nodes, hard and soft."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Agent
from counterpoint.core.model.drafts import Draft
from counterpoint.dialects.foundry.models.specs import Node
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.tasks.editing import DependencyType, Editing, Linking, Shaping
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.kernel.errors import (
    Conflict,
    CyclicDependency,
    InvalidInput,
    NotFound,
    NotReady,
)

SPEC = "export-2026-01-02-001"
Look = Callable[[str], Node]


@pytest.fixture
def linking(ada: Agent, node: Look) -> Linking:
    """Answer the verbs, for a spec that is there."""
    assert node("task-1-1").status == "pending"
    return ada.core.use(Linking)


def test_both_sides_of_a_dependency_are_told(linking: Linking, node: Look) -> None:
    """Hard ones from either end, soft ones where they are kept; a dry run changes nothing."""
    seen = linking.add(SPEC, "task-1-1", "task-1-2", "blocks", dry_run=True)
    assert seen.source_edges.blocks == ("task-1-2",)
    assert node("task-1-1").blocks == ()
    made = linking.add(SPEC, "task-1-1", "task-1-2", "blocks")
    assert (made.source, made.target) == ("task-1-1", "task-1-2")
    assert made.target_edges.blocked_by == ("task-1-1",)
    linking.add(SPEC, "task-2-2", "task-2-1", "blocked_by")
    assert node("task-2-1").blocks == ("task-2-2",)
    assert linking.add(SPEC, "task-1-2", "task-2-2", "depends").source_edges.depends == (
        "task-2-2",
    )
    assert linking.add(SPEC, "task-1-2", "task-2-1", "depends").source_edges.depends == (
        *("task-2-2", "task-2-1"),
    )


@pytest.mark.parametrize("sort", ["blocks", "blocked_by", "depends"])
def test_a_dependency_is_made_once_and_taken_away_once(
    linking: Linking, sort: DependencyType, node: Look
) -> None:
    """Of itself nothing depends, nor on a whole spec."""
    linking.add(SPEC, "task-1-1", "task-1-2", sort)
    with pytest.raises(Conflict) as twice:
        linking.add(SPEC, "task-1-1", "task-1-2", sort)
    assert twice.value.facts["error_code"] == "DUPLICATE_ENTRY"
    linking.remove(SPEC, "task-1-1", "task-1-2", sort)
    assert node("task-1-1").blocks == node("task-1-1").blocked_by == node("task-1-1").depends == ()
    with pytest.raises(NotFound) as gone:
        linking.remove(SPEC, "task-1-1", "task-1-2", sort)
    assert gone.value.facts["error_code"] == "DEPENDENCY_NOT_FOUND"
    with pytest.raises(InvalidInput) as itself:
        linking.add(SPEC, "task-1-1", "task-1-1", sort)
    assert itself.value.facts["error_code"] == "SELF_REFERENCE"
    with pytest.raises(InvalidInput, match="the whole spec"):
        linking.add(SPEC, "task-1-1", "spec-root", sort)
    with pytest.raises(NotFound):
        linking.add(SPEC, "task-1-1", "task-9-9", sort)


@pytest.mark.parametrize("sort", ["blocked_by", "depends"])
def test_a_circle_is_refused_with_the_way(
    linking: Linking, ada: Agent, sort: DependencyType
) -> None:
    """Also over several nodes; where a parent closes it the core says so."""
    ada.core.use(Shaping).add(SPEC, NodeDraft(parent="phase-1", title="c", type="task"))
    linking.add(SPEC, "task-1-2", "task-1-1", sort)
    linking.add(SPEC, "task-1-3", "task-1-2", sort)
    linking.add(SPEC, "task-1-3", "task-1-1", sort)
    with pytest.raises(CyclicDependency, match="task-1-1 → task-1-3 → task-1-1"):
        linking.add(SPEC, "task-1-1", "task-1-3", sort)
    if sort == "blocked_by":
        with pytest.raises(CyclicDependency, match="could never be finished"):
            linking.add(SPEC, "phase-1", "task-1-1", sort)


def test_research_stops_others_only_where_it_says_so(
    linking: Linking, ada: Agent, node: Look
) -> None:
    """A hard edge from it is kept as a soft one, and becomes hard with its mode."""
    shaping, moving, editing = (
        ada.core.use(Shaping),
        ada.core.use(Moving),
        ada.core.use(Editing),
    )
    look = NodeDraft(
        parent="phase-1", title="Look", type="research", kept={"blocking_mode": "soft"}
    )
    assert shaping.add(SPEC, look).id == "research-1-1"
    linking.add(SPEC, "research-1-1", "task-1-1", "blocks")
    with pytest.raises(Conflict):
        linking.add(SPEC, "research-1-1", "task-1-1", "blocks")
    assert (node("task-1-1").blocked_by, node("task-1-1").depends) == ((), ("research-1-1",))
    linking.add(SPEC, "task-1-2", "task-1-1", "depends")
    editing.edit(SPEC, "research-1-1", {"blocking_mode": "hard"})
    assert (node("task-1-1").blocked_by, node("task-1-1").depends) == (("research-1-1",), ())
    with pytest.raises(NotReady, match="task-1-1 waits for research-1-1"):
        moving.start(SPEC, "task-1-1")
    editing.edit(SPEC, "research-1-1", {"blocking_mode": "none"})
    assert (node("task-1-1").blocked_by, node("task-1-1").depends) == ((), ("research-1-1",))
    assert moving.start(SPEC, "task-1-1").id == "task-1-1"
    linking.remove(SPEC, "research-1-1", "task-1-1", "blocks")
    assert node("task-1-1").depends == ()


def test_a_long_way_is_not_looked_for_for_ever(linking: Linking, ada: Agent, node: Look) -> None:
    """The circle is refused all the same."""
    parent = node("phase-1").item.id
    tasks = [Draft(kind="task", title="0", name="0", needs=())]
    tasks += [
        Draft(kind="task", title=str(n), name=str(n), needs=(str(n - 1),)) for n in range(1, 12)
    ]
    made = ada.core.plans.create(
        Draft(kind="task", title="many", children=tuple(tasks)), parent=parent
    )
    first, last = made.items[1].id, made.items[-1].id
    with pytest.raises(CyclicDependency, match=f"{first} → {last} → "):
        linking.add(SPEC, first, last, "blocked_by")

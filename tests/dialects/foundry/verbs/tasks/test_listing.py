"""Nodes in lists, and how far they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Agent
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Report
from counterpoint.dialects.foundry.models.specs import Node
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.nodes.queries import Naming
from counterpoint.dialects.foundry.tasks.editing import Shaping
from counterpoint.dialects.foundry.tasks.listing import Listing
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.kernel.errors import InvalidInput, NotFound

SPEC = "export-2026-01-02-001"
Look = Callable[[str], Node]
TASKS = ["task-1-3", "task-1-3-1", "task-1-3-2", "task-1-1", "task-1-2", "task-2-1", "task-2-2"]


@pytest.fixture
def listing(ada: Agent, node: Look) -> Listing:
    """Answer the verbs, for a spec with a task before the others that has two below it."""
    assert node("task-1-1").status == "pending"
    shaping = ada.core.use(Shaping)
    shaping.add(SPEC, NodeDraft(parent="phase-1", title="x", type="task", position=0))
    for title in ("a", "b"):
        shaping.add(SPEC, NodeDraft(parent="task-1-3", title=title, type="subtask"))
    return ada.core.use(Listing)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_tasks_are_listed_in_the_order_of_the_tree(listing: Listing, size: int) -> None:
    """Whatever the size of a page; each page goes on after the last node of the one before."""
    found: list[str] = []
    after = ""
    while True:
        page = listing.tasks(SPEC, after, size)
        found += [one.id for one in page.nodes]
        after = page.after
        if not after:
            break
    assert found == TASKS


def test_tasks_are_chosen_by_status_and_parent(listing: Listing, ada: Agent) -> None:
    """Those that are done are left out if that is asked for; children are only the own ones."""
    moving = ada.core.use(Moving)
    moving.complete(SPEC, "task-1-1", "done")
    moving.start(SPEC, "task-1-3-1")

    def ids(**more: object) -> list[str]:
        return [one.id for one in listing.tasks(SPEC, "", 50, **more).nodes]  # pyright: ignore[reportArgumentType] -- as the test gives them

    assert ids(status="completed") == ["task-1-1"]
    assert ids(status="in_progress") == ["task-1-3", "task-1-3-1"]
    assert ids(completed=False) == [one for one in TASKS if one != "task-1-1"]
    assert ids(parent="task-1-3") == ["task-1-3-1", "task-1-3-2"]
    assert ids(parent="phase-2", status="completed") == []
    with pytest.raises(NotFound):
        ids(parent="phase-9")


def test_a_place_of_another_spec_is_no_place(
    listing: Listing, made: Callable[..., str], node: Look
) -> None:
    """A cursor is good for its spec alone."""
    made(phases=1, tasks=1, spec="other-2026-01-02-001")
    with pytest.raises(InvalidInput):
        listing.tasks("other-2026-01-02-001", node("task-1-1").item.id, 5)


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (0, ["spec-root"]),
        (1, ["spec-root", "phase-1", "phase-2"]),
        (2, ["spec-root", "phase-1", "task-1-3", "task-1-1", "task-1-2", "phase-2"]),
    ],
)
def test_the_tree_is_shown_down_to_a_depth(
    listing: Listing, depth: int, expected: list[str]
) -> None:
    """As deep as it really is, whatever the ids look like; in pages of any size."""
    found: list[str] = []
    after = ""
    while True:
        page = listing.hierarchy(SPEC, after, 2, depth)
        found += [one.id for one in page.nodes]
        after = page.after
        assert page.total == 10
        if not after:
            break
    assert found[: len(expected)] == expected


def test_how_far_a_spec_a_phase_and_a_task_are(listing: Listing, ada: Agent) -> None:
    """Leaves are counted; the current phase is the one somebody is at, else the first that waits."""
    ada.core.use(Moving).complete(SPEC, "task-1-3-1", "done")
    whole = listing.progress(SPEC, "spec-root")
    assert (whole.tally.total, whole.tally.completed, whole.status) == (6, 1, "in_progress")
    assert [phase.id for phase in whole.phases] == ["phase-1", "phase-2"]
    assert whole.current is not None
    assert whole.current.id == "phase-1"
    phase = listing.progress(SPEC, "phase-1", phases=False)
    assert (phase.type, phase.tally.total, phase.status) == ("phase", 4, "in_progress")
    task = listing.progress(SPEC, "task-1-3", phases=False)
    assert (task.type, task.tally.total, task.tally.completed, task.phases) == ("task", 2, 1, ())
    with pytest.raises(NotFound):
        listing.progress(SPEC, "task-9-9")


def test_what_is_blocked_is_told_with_what_failed(listing: Listing, ada: Agent, node: Look) -> None:
    """The last reason of each; nothing of other specs."""
    moving = ada.core.use(Moving)
    moving.block(SPEC, "task-1-1", "first")
    moving.block(SPEC, "task-1-1", "second", "technical", "OPS-1")
    moving.block(SPEC, "phase-2", "not yet")
    item = node("task-1-2").item.id
    token = ada.core.claims.start(item).claim.token
    ada.core.tasks.finish(item, token, Report(outcome="failed", summary="no"))
    spec, found = listing.blocked(SPEC)
    assert spec == SPEC
    assert {one.id: (one.type, one.description, one.ticket) for one in found} == {
        "task-1-1": ("technical", "second", "OPS-1"),
        "phase-2": ("dependency", "not yet", ""),
        "task-1-2": ("technical", "it failed", ""),
    }


def test_an_item_is_told_by_its_spec_and_its_id(listing: Listing, ada: Agent, node: Look) -> None:
    alone = ada.core.plans.create(Draft(kind="issue", title="Alone")).root
    found = ada.core.use(Naming).names([alone, node("task-1-1").item])
    assert found == [(SPEC, "task-1-1", "Write part 1 of 1")]
    assert listing.get(SPEC, "task-1-1")[0] == SPEC

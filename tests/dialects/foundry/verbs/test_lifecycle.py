"""Specs moved between folders."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from builders import Agent
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note, Report
from counterpoint.dialects.foundry.journal.operations import Journals
from counterpoint.dialects.foundry.models.specs import Folder
from counterpoint.dialects.foundry.nodes.rules.shape import MOVES
from counterpoint.dialects.foundry.specs.operations import Lifecycle, Specs
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.dialects.foundry.tasks.offering import Batches
from counterpoint.kernel.errors import AlreadyClaimed, Conflict, CounterpointError

SPEC = "export-2026-01-02-001"
FOLDERS: tuple[Folder, ...] = get_args(Folder)
WAYS: dict[Folder, tuple[Folder, ...]] = {
    "pending": (),
    "active": ("active",),
    "completed": ("active", "completed"),
    "archived": ("archived",),
}
"""How a spec comes into each folder."""


@pytest.fixture
def life(ada: Agent) -> Lifecycle:
    """Answer the verbs that move specs."""
    return ada.core.use(Lifecycle)


def _folder(agent: Agent) -> Folder:
    return agent.core.use(Specs).get(SPEC).folder


def _item(agent: Agent, node: str) -> str:
    found = agent.core.items.find(f"{SPEC}/{node}", "node")
    assert found is not None
    return found.id


@pytest.mark.parametrize("before", FOLDERS)
@pytest.mark.parametrize("after", FOLDERS)
def test_specs_move_by_the_table(
    root: str, life: Lifecycle, ada: Agent, before: Folder, after: Folder
) -> None:
    """To stay is no move; every other move that the table does not have is refused, and changes nothing."""
    assert root
    for folder in WAYS[before]:
        life.move(SPEC, folder, force=True)
    assert _folder(ada) == before
    if before == after or after in MOVES[before]:
        moved = life.move(SPEC, after, force=True)
        assert (moved.spec, moved.before, moved.after) == (SPEC, before, after)
        assert _folder(ada) == after
    else:
        with pytest.raises(Conflict):
            life.move(SPEC, after, force=True)
        assert _folder(ada) == before


def test_a_spec_is_completed_when_all_of_it_is_done(
    made: Callable[..., str], life: Lifecycle, ada: Agent
) -> None:
    """Or by force, which skips what is open, blocked or failed, and says how much that is."""
    made(phases=2, tasks=2)
    life.move(SPEC, "active")
    blocked, failed = _item(ada, "task-1-1"), _item(ada, "task-1-2")
    ada.core.journal.append(Note(kind="blocker", body="The service is down", item=blocked))
    started = ada.core.claims.start(failed)
    ada.core.tasks.finish(failed, started.claim.token, Report(outcome="failed", summary="It broke"))
    with pytest.raises(Conflict):
        life.move(SPEC, "completed")
    assert _folder(ada) == "active"
    assert life.move(SPEC, "completed", force=True).skipped == 4
    found = ada.core.use(Specs).document(SPEC)
    assert (found["status"], found["progress_percentage"]) == ("completed", 100)
    nodes = found["hierarchy"]
    assert isinstance(nodes, dict)
    assert nodes["task-1-1"]["metadata"]["skipped"] is True
    assert "blocker_type" not in nodes["task-1-1"]["metadata"]


def test_a_finished_spec_is_completed_without_force(
    made: Callable[..., str], life: Lifecycle, ada: Agent
) -> None:
    """It became active when its first task was started, and stays so until somebody says it is completed."""
    made(phases=1, tasks=1)
    task = _item(ada, "task-1-1")
    started = ada.core.claims.start(task)
    assert _folder(ada) == "active"
    ada.core.tasks.finish(task, started.claim.token, Report(outcome="done", summary="Written"))
    assert _folder(ada) == "active"
    assert life.move(SPEC, "completed").skipped == 0
    assert _folder(ada) == "completed"


def test_nothing_of_an_archived_spec_is_offered_or_started(
    root: str, life: Lifecycle, ada: Agent
) -> None:
    """What the caller was at is given back; once the spec is active again work goes on."""
    task = _item(ada, "task-1-1")
    ada.core.claims.start(task)
    life.move(SPEC, "archived")
    assert ada.core.items.get(task).status == "open"
    assert ada.core.items.get(_item(ada, "phase-1")).status == "open"
    with pytest.raises(CounterpointError):
        ada.core.claims.start(task)
    life.move(SPEC, "active")
    ada.core.claims.start(task)
    assert ada.core.items.get(root).category == "active"


def test_what_somebody_is_at_keeps_its_spec_where_it_is(
    root: str, life: Lifecycle, ada: Agent, bob: Agent
) -> None:
    """Nobody puts a spec away from under others."""
    assert root
    bob.core.claims.start(_item(ada, "task-1-1"))
    for folder in ("pending", "archived"):
        with pytest.raises(AlreadyClaimed):
            life.move(SPEC, folder)
    with pytest.raises(AlreadyClaimed):
        life.move(SPEC, "completed", force=True)
    assert _folder(ada) == "active"


def test_a_pending_spec_stays_so_until_it_is_activated(
    root: str, life: Lifecycle, ada: Agent
) -> None:
    """Whatever is started or done in it, in whichever dialect; also one that was active before."""
    task = _item(ada, "task-1-1")
    life.move(SPEC, "active")
    ada.core.claims.start(task)
    life.move(SPEC, "pending")
    assert ada.core.items.get(task).status == "open"
    started = ada.core.claims.start(task)
    assert (_folder(ada), ada.core.items.get(root).category) == ("pending", "active")
    ada.core.tasks.finish(task, started.claim.token, Report(outcome="done", summary="Written"))
    assert _folder(ada) == "pending"
    with pytest.raises(Conflict):
        life.move(SPEC, "completed", force=True)
    life.move(SPEC, "archived")
    life.move(SPEC, "pending")
    assert _folder(ada) == "pending"
    life.move(SPEC, "active")
    assert _folder(ada) == "active"


@pytest.mark.parametrize("verb", ["start", "complete", "batch"])
def test_a_spec_that_another_dialect_made_stays_pending_too(
    life: Lifecycle, ada: Agent, verb: str
) -> None:
    """Once something of it is begun here, since nothing marked it before."""
    tasks = tuple(
        Draft(kind="task", title=name, aliases=(("node", f"{SPEC}/{name}"),))
        for name in ("task-1", "task-2")
    )
    plan = Draft(kind="plan", title="P", aliases=(("spec", SPEC),), children=tasks)
    ada.core.plans.create(plan)
    match verb:
        case "start":
            ada.core.use(Moving).start(SPEC, "task-1")
        case "complete":
            ada.core.use(Moving).complete(SPEC, "task-1", "Done")
        case _:
            ada.core.use(Batches).start(SPEC, ["task-1", "task-2"])
    assert _folder(ada) == "pending"
    life.move(SPEC, "active")
    assert _folder(ada) == "active"


def test_an_archived_spec_that_others_have_woken_is_brought_back(
    root: str, life: Lifecycle, ada: Agent
) -> None:
    """It stays in its folder until somebody says otherwise."""
    life.move(SPEC, "archived")
    ada.core.items.edit(root, Edit(status="active"))
    assert _folder(ada) == "archived"
    life.move(SPEC, "active")
    assert (_folder(ada), ada.core.items.get(root).status) == ("active", "active")


@pytest.mark.parametrize("is_finished", [False, True])
def test_no_task_of_an_archived_spec_is_moved(
    root: str, life: Lifecycle, ada: Agent, is_finished: bool
) -> None:
    """Whether or not it was completed before; the journal is open still."""
    assert root
    if is_finished:
        life.move(SPEC, "active")
        life.move(SPEC, "completed", force=True)
    life.move(SPEC, "archived")
    moving = ada.core.use(Moving)
    before = ada.core.use(Specs).document(SPEC)
    for move in (
        lambda: moving.start(SPEC, "task-1-1"),
        lambda: moving.complete(SPEC, "task-1-1", "Done"),
        lambda: moving.reopen(SPEC, "task-1-1"),
    ):
        with pytest.raises(Conflict):
            move()
    assert ada.core.use(Specs).document(SPEC) == before
    ada.core.use(Journals).add(SPEC, "note", "Why", "Nobody wants it")

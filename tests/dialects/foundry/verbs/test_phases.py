"""Phases added with their tasks, moved, worded anew and taken out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Report
from counterpoint.dialects.foundry.journal.operations import Journals
from counterpoint.dialects.foundry.models.specs import PhaseDraft, TaskDraft
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.dialects.foundry.specs.phases import Phases
from counterpoint.kernel.errors import AlreadyClaimed, Conflict, InvalidInput, NotFound

SPEC = "export-2026-01-02-001"


@pytest.fixture
def phases(ada: Agent, root: str) -> Phases:
    """Answer the verbs for the phases of a spec of two phases."""
    assert root
    return ada.core.use(Phases)


def _nodes(agent: Agent) -> dict[str, Any]:
    nodes = agent.core.use(Specs).document(SPEC)["hierarchy"]
    assert isinstance(nodes, dict)
    return nodes


def _waits(agent: Agent) -> dict[str, list[str]]:
    """Return what each phase waits for."""
    nodes = _nodes(agent)
    return {
        name: nodes[name]["dependencies"]["blocked_by"] for name in nodes["spec-root"]["children"]
    }


def _item(agent: Agent, node: str) -> str:
    found = agent.core.items.find(f"{SPEC}/{node}", "node")
    assert found is not None
    return found.id


def test_a_phase_comes_with_what_verifies_it(phases: Phases, ada: Agent) -> None:
    """It stands last, waits for the phase before it, and its review waits for its tests."""
    made = phases.add(SPEC, PhaseDraft(title="Ship", description="Out", purpose="To ship"))
    assert (made.id, made.position, made.linked) == ("phase-3", 2, "phase-2")
    assert made.scaffold == ("verify-3-1", "verify-3-2")
    nodes = _nodes(ada)
    assert nodes["spec-root"]["children"] == ["phase-1", "phase-2", "phase-3"]
    assert nodes["phase-3"]["metadata"] == {"description": "Out", "purpose": "To ship"}
    assert nodes["phase-3"]["dependencies"]["blocked_by"] == ["phase-2"]
    tests, review = nodes["verify-3-1"], nodes["verify-3-2"]
    assert (tests["title"], tests["type"]) == ("Run tests", "verify")
    assert tests["metadata"] == {
        "verification_type": "run-tests",
        "command": "pytest",
        "expected": "All tests pass",
    }
    assert review["metadata"] == {
        "verification_type": "fidelity",
        "scope": "phase",
        "target": "phase-3",
    }
    assert (review["title"], review["dependencies"]["blocked_by"]) == (
        "Fidelity review",
        ["verify-3-1"],
    )


def test_a_phase_is_put_between_others(phases: Phases, ada: Agent) -> None:
    """Places count from 0; the one after it waits for it, unless it is not linked."""
    first = phases.add(SPEC, PhaseDraft(title="Between", position=1))
    assert (first.position, first.linked) == (1, "phase-1")
    assert _waits(ada) == {"phase-1": [], "phase-3": ["phase-1"], "phase-2": ["phase-3"]}
    alone = phases.add(SPEC, PhaseDraft(title="Alone", position=0, link_previous=False))
    assert alone.linked == ""
    assert list(_waits(ada)) == ["phase-4", "phase-1", "phase-3", "phase-2"]
    with pytest.raises(InvalidInput) as refusal:
        phases.add(SPEC, PhaseDraft(title="Far", position=9))
    assert refusal.value.facts["error_code"] == "INVALID_POSITION"


def test_given_tasks_keep_what_is_said_of_them(phases: Phases, ada: Agent) -> None:
    """A command of a verification too; only what verifies and is missing is added."""
    tests = TaskDraft(
        title="Run all",
        type="verify",
        kept={"verification_type": "run-tests", "command": "make test"},
    )
    write = TaskDraft(
        title="Write",
        description="All of it",
        acceptance=("it is there",),
        file_path="src/a.py",
        kept={"task_category": "implementation", "estimated_hours": 1.5},
    )
    look = TaskDraft(title="Look", type="research", kept={"research_type": "chat"})
    made = phases.add(SPEC, PhaseDraft(title="Ship", tasks=(tests, write, look, write)))
    assert [(one.id, one.type) for one in made.tasks] == [
        ("verify-3-1", "verify"),
        ("task-3-1", "task"),
        ("research-3-1", "research"),
        ("task-3-2", "task"),
        ("verify-3-2", "verify"),
    ]
    assert made.scaffold == ("verify-3-2",)
    nodes = _nodes(ada)
    assert nodes["verify-3-1"]["metadata"]["command"] == "make test"
    assert nodes["verify-3-2"]["dependencies"]["blocked_by"] == ["verify-3-1"]
    assert nodes["research-3-1"]["type"] == "research"
    assert nodes["task-3-1"]["metadata"] == {
        "description": "All of it",
        "acceptance_criteria": ["it is there"],
        "file_path": "src/a.py",
        "task_category": "implementation",
        "estimated_hours": 1.5,
    }


def test_no_number_of_a_phase_is_used_twice(phases: Phases, ada: Agent) -> None:
    """Not that of one that was taken out, nor one that only a dry run took."""
    assert phases.add(SPEC, PhaseDraft(title="Tried"), dry_run=True).id == "phase-3"
    assert phases.add(SPEC, PhaseDraft(title="Third")).id == "phase-3"
    phases.remove(SPEC, "phase-3", force=True)
    assert "phase-3" not in _nodes(ada)
    assert phases.add(SPEC, PhaseDraft(title="Fourth")).id == "phase-4"


def test_what_is_unfinished_is_removed_by_force_only(phases: Phases, ada: Agent) -> None:
    """What waited for the phase waits for the one before it, and what was done stays in the history."""
    third = phases.add(SPEC, PhaseDraft(title="Third"))
    task = _item(ada, "task-2-1")
    ada.core.items.edit(_item(ada, "phase-2"), Edit(remove_needs=(_item(ada, "phase-1"),)))
    ada.core.items.edit(_item(ada, "task-1-2"), Edit(add_needs=(task,)))
    started = ada.core.claims.start(task)
    ada.core.tasks.finish(task, started.claim.token, Report(outcome="done", summary="Written"))
    with pytest.raises(Conflict):
        phases.remove(SPEC, "phase-2")
    assert phases.remove(SPEC, "phase-2", force=True, dry_run=True).children == 2
    assert "phase-2" in _nodes(ada)
    gone = phases.remove(SPEC, "phase-2", force=True)
    assert (gone.id, gone.children, gone.tally.total, gone.tally.completed) == ("phase-2", 2, 2, 1)
    nodes = _nodes(ada)
    assert not {"phase-2", "task-2-1", "task-2-2"} & set(nodes)
    assert nodes["spec-root"]["total_tasks"] == 4
    assert nodes["task-1-2"]["dependencies"]["blocked_by"] == []
    assert _waits(ada) == {"phase-1": [], third.id: ["phase-1"]}
    assert ada.core.items.get(task).status == "done"
    with pytest.raises(NotFound):
        ada.core.use(Journals).add(SPEC, "note", "Late", "It was there", "task-2-1")
    with pytest.raises(NotFound):
        phases.remove(SPEC, "phase-2")


def test_a_finished_phase_is_removed_without_force(phases: Phases, ada: Agent) -> None:
    """Work that somebody is at is not taken from him."""
    for name in ("task-1-1", "task-1-2"):
        task = _item(ada, name)
        started = ada.core.claims.start(task)
        ada.core.tasks.finish(task, started.claim.token, Report(outcome="done", summary="Done"))
    assert phases.remove(SPEC, "phase-1").tally.completed == 2
    assert _waits(ada) == {"phase-2": []}


def test_a_phase_somebody_is_at_is_not_removed(
    phases: Phases, ada: Agent, bob: Agent, workshop: Workshop
) -> None:
    """Not even by force."""
    bob.core.claims.start(_item(ada, "task-1-1"))
    with pytest.raises(AlreadyClaimed):
        phases.remove(SPEC, "phase-1", force=True)
    assert "task-1-1" in _nodes(ada)


def test_a_phase_moves_with_the_order_of_work(phases: Phases, ada: Agent) -> None:
    """Places count from 1; what changed of the dependencies is told; a dry run moves nothing."""
    phases.add(SPEC, PhaseDraft(title="Third"))
    tried = phases.move(SPEC, "phase-3", 1, dry_run=True)
    assert list(_waits(ada)) == ["phase-1", "phase-2", "phase-3"]
    moved = phases.move(SPEC, "phase-3", 1)
    assert moved == tried
    assert (moved.before, moved.after) == (3, 1)
    assert {(one.action, one.origin, one.target) for one in moved.relinked} == {
        ("removed", "phase-3", "phase-2"),
        ("added", "phase-1", "phase-3"),
    }
    assert _waits(ada) == {"phase-3": [], "phase-1": ["phase-3"], "phase-2": ["phase-1"]}
    unlinked = phases.move(SPEC, "phase-2", 2, link_previous=False)
    assert (unlinked.before, unlinked.after, unlinked.relinked) == (3, 2, ())
    assert list(_waits(ada)) == ["phase-3", "phase-2", "phase-1"]
    assert phases.move(SPEC, "phase-2", 2).relinked == ()
    for place in (0, 4):
        with pytest.raises(InvalidInput):
            phases.move(SPEC, "phase-2", place)


def test_removed_phases_take_no_place(phases: Phases, ada: Agent) -> None:
    """Places count those that are shown."""
    phases.add(SPEC, PhaseDraft(title="Third"))
    phases.remove(SPEC, "phase-1", force=True)
    assert phases.move(SPEC, "phase-3", 1).after == 1
    assert list(_waits(ada)) == ["phase-3", "phase-2"]
    assert phases.add(SPEC, PhaseDraft(title="Middle", position=1)).position == 1
    assert list(_waits(ada)) == ["phase-3", "phase-4", "phase-2"]


def test_a_phase_is_worded_anew(phases: Phases, ada: Agent) -> None:
    """What was there before is told; a phase that there is not has a code of its own."""
    phases.word(SPEC, "phase-1", {"purpose": "First"})
    *_, told = phases.word(SPEC, "phase-1", {"description": "Begin", "purpose": "Second"})
    assert told == [
        {"field": "description", "previous_value": None, "new_value": "Begin"},
        {"field": "purpose", "previous_value": "First", "new_value": "Second"},
    ]
    phases.word(SPEC, "phase-1", {"purpose": "Third"}, dry_run=True)
    assert _nodes(ada)["phase-1"]["metadata"] == {"description": "Begin", "purpose": "Second"}
    with pytest.raises(NotFound) as refusal:
        phases.word(SPEC, "phase-9", {"purpose": "None"})
    assert refusal.value.facts["error_code"] == "PHASE_NOT_FOUND"
    with pytest.raises(InvalidInput):
        phases.word(SPEC, "task-1-1", {"purpose": "None"})


def test_a_completed_spec_takes_no_phase(made: Callable[..., str], ada: Agent) -> None:
    """It is reopened first."""
    root = made(phases=0)
    ada.core.items.edit(root, Edit(status="done"))
    with pytest.raises(Conflict):
        ada.core.use(Phases).add(SPEC, PhaseDraft(title="Late"))


def test_an_id_that_something_else_has_is_passed_by(phases: Phases, ada: Agent) -> None:
    """Documents that came in may have named nodes as they liked."""
    for name in ("phase-3", "task-4-1"):
        odd = Draft(kind="task", title="Odd", aliases=(("node", f"{SPEC}/{name}"),))
        ada.core.plans.create(odd, parent=_item(ada, "phase-1"))
    task = TaskDraft(title="Write", description="All of it")
    made = phases.add(SPEC, PhaseDraft(title="Third", tasks=(task,)))
    assert (made.id, made.tasks[0].id) == ("phase-4", "task-4-2")


def test_numbers_go_on_from_the_highest(phases: Phases, ada: Agent) -> None:
    """Gaps, which documents that came in may have, are left."""
    odd = Draft(kind="phase", title="Odd", aliases=(("node", f"{SPEC}/phase-7"),))
    ada.core.plans.create(odd, parent=ada.core.items.get(_item(ada, "phase-1")).parent)
    assert phases.add(SPEC, PhaseDraft(title="Next")).id == "phase-8"


def test_phases_that_wait_for_nothing_go_on_so(made: Callable[..., str], ada: Agent) -> None:
    made(phases=1)
    phases = ada.core.use(Phases)
    for title in ("Second", "Third", "Fourth"):
        phases.add(SPEC, PhaseDraft(title=title, link_previous=False))
    moved = phases.move(SPEC, "phase-4", 2)
    assert [(one.action, one.origin, one.target) for one in moved.relinked] == [
        ("added", "phase-4", "phase-1")
    ]
    assert _waits(ada) == {"phase-1": [], "phase-4": ["phase-1"], "phase-2": [], "phase-3": []}

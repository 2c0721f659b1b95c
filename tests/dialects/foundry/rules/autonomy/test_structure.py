"""The structure of a spec: its digest, and what a rebase makes of a change."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given

from counterpoint.dialects.foundry.runs.rules.results import (
    Structure,
    difference,
    is_untouched,
    rebase,
    structure_of,
)
from counterpoint.kernel.errors import InvalidInput, NotFound
from fakes.spec_documents import document, odd_documents, task

WHOLE = document(2, 2)
BEFORE = structure_of(WHOLE)


def changed(*, removed=(), added=(), order=None):
    """Return the structure of the document without some tasks, with others, its phases in an order."""
    found = copy.deepcopy(WHOLE)
    nodes = found["hierarchy"]
    for name in removed:
        nodes[nodes[name]["parent"]]["children"].remove(name)
        del nodes[name]
    for name, parent in added:
        nodes[name] = task(name, parent)
        nodes[parent]["children"].append(name)
    if order:
        nodes["spec-root"]["children"] = list(order)
    return structure_of(found)


def test_the_structure_is_phases_in_order_and_tasks_with_their_phase():
    """Verifications count as tasks, and so does what lies below a task."""
    nested = changed(added=[("task-1-1-1", "task-1-1")])
    assert BEFORE.phases == ("phase-1", "phase-2")
    assert BEFORE.tasks_of("phase-1") == {"task-1-1", "task-1-2", "verify-1-1"}
    assert nested.tasks["task-1-1-1"] == "phase-1"
    loose = structure_of({"hierarchy": {**WHOLE["hierarchy"], "task-9": task("x", "nowhere")}})
    assert loose.tasks["task-9"] == ""


def test_titles_metadata_and_states_do_not_change_the_digest():
    """Only the ids and where they stand do."""
    other = copy.deepcopy(WHOLE)
    for node in other["hierarchy"].values():
        node["title"] += " again"
        node["status"] = "completed"
        node["metadata"] = {"x": 1}
    assert structure_of(other).digest == BEFORE.digest
    assert len(BEFORE.digest) == 64


@pytest.mark.parametrize(
    "change",
    [
        {"removed": ["task-1-2"]},
        {"added": [("task-1-3", "phase-1")]},
        {"removed": ["task-1-2"], "added": [("task-1-2", "phase-2")]},
        {"order": ["phase-2", "phase-1"]},
        {"added": [("tâche-1", "phase-1")]},
    ],
)
def test_whatever_changes_the_structure_changes_the_digest(change):
    """And a rebase tells that it is a change."""
    after = changed(**change)
    assert after.digest != BEFORE.digest
    assert difference(BEFORE, after).told()["result"] == "success"


@given(odd_documents())
def test_any_document_has_a_structure(made):
    """And the same one twice."""
    assert structure_of(made).digest == structure_of(made).digest
    assert not difference(structure_of(made), structure_of(made)).is_change


def test_nothing_changed_is_told_as_such():
    """All gates stay satisfied."""
    found = rebase(BEFORE, changed(), ["task-1-1"], ["phase-2", "phase-1"])
    assert found.told() == {
        "result": "no_change",
        "added_phases": [],
        "removed_phases": [],
        "added_tasks": [],
        "removed_tasks": [],
        "completed_tasks_removed": 0,
    }
    assert found.kept_gates == ("phase-1", "phase-2")


def test_what_changed_is_told_in_the_order_of_numbers():
    """Gates of phases that were touched are judged afresh."""
    added = [(f"task-1-{number}", "phase-1") for number in (10, 9)]
    after = changed(removed=["task-1-2", "verify-1-1"], added=[*added, ("task-1-1-1", "task-1-1")])
    found = rebase(BEFORE, after, ["task-1-1"], ["phase-1", "phase-2", "phase-9"])
    assert found.added_tasks == ("task-1-1-1", "task-1-9", "task-1-10")
    assert found.removed_tasks == ("task-1-2", "verify-1-1")
    assert found.kept_gates == ("phase-2",)


def test_a_task_that_moved_touches_both_phases():
    """It is neither added nor removed."""
    after = changed(removed=["task-1-2"], added=[("task-1-2", "phase-2")])
    found = difference(BEFORE, after, ["task-1-2"], ["phase-1", "phase-2"])
    assert (found.moved_tasks, found.added_tasks, found.removed_tasks) == (("task-1-2",), (), ())
    assert (found.kept_gates, found.completed_removed) == ((), ())


def test_phases_in_another_order_keep_their_gates():
    """Nothing in them changed; a phase more in between is no other order of those there were."""
    after = changed(order=["phase-2", "phase-1"])
    found = difference(BEFORE, after, satisfied=["phase-1"])
    assert found.is_reordered
    assert found.kept_gates == ("phase-1",)
    between = Structure(phases=("phase-1", "phase-9", "phase-2"), tasks=BEFORE.tasks)
    assert not difference(BEFORE, between).is_reordered
    assert difference(BEFORE, between).added_phases == ("phase-9",)
    assert difference(between, BEFORE).removed_phases == ("phase-9",)
    assert not is_untouched("phase-9", BEFORE, between)


def test_completed_work_is_not_lost_by_a_rebase_unless_it_is_forced():
    """Open tasks may go."""
    after = changed(removed=["task-1-1", "task-1-2"])
    with pytest.raises(InvalidInput) as refused:
        rebase(BEFORE, after, ["task-1-2", "task-2-1"])
    assert refused.value.facts["completed_tasks_removed"] == ["task-1-2"]
    assert refused.value.facts["error_code"] == "REBASE_COMPLETED_TASKS_REMOVED"
    assert rebase(BEFORE, after, ["task-2-1"]).told()["completed_tasks_removed"] == 0
    forced = rebase(BEFORE, after, ["task-1-2"], force=True)
    assert forced.told()["completed_tasks_removed"] == 1


def test_a_structure_that_cannot_be_found_is_taken_as_new_by_force_only():
    """Then nothing is kept."""
    with pytest.raises(NotFound) as refused:
        rebase(None, BEFORE)
    assert refused.value.facts["error_code"] == "REBASE_BACKUP_MISSING"
    found = rebase(None, BEFORE, ["task-1-1"], ["phase-1"], force=True)
    assert found.added_phases == ("phase-1", "phase-2")
    assert (found.kept_gates, found.completed_removed) == ((), ())

"""What a document derives from its leaves."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.nodes.rules.tree import Tree, percentage, rolled_up, rollup
from fakes.spec_documents import ANY_JSON, document, edited, grown, odd_documents

LEAVES = {"task", "subtask", "verify", "research"}


def naive(nodes, name):
    """Return counts and status of a node as the rules say it, by recursion."""
    node = nodes[name]
    if not node["children"]:
        counts = (1, node["status"] == "completed") if node["type"] in LEAVES else (0, 0)
        return *counts, node["status"]
    below = [naive(nodes, kid) for kid in node["children"]]
    total, completed = sum(one[0] for one in below), sum(one[1] for one in below)
    status = "pending"
    if node["status"] == "blocked" or not total:
        status = node["status"]
    elif total == completed:
        status = "completed"
    elif completed or any(one[2] == "in_progress" for one in below):
        status = "in_progress"
    return total, completed, status


@given(grown())
def test_everything_derived_is_what_a_plain_recomputation_gives(made):
    """Counts, statuses, progress, and the current phase; a second time nothing changes."""
    before = copy.deepcopy(made)
    found = rolled_up(made)
    assert made == before
    for name in made["hierarchy"]:
        total, completed, status = naive(made["hierarchy"], name)
        node = found["hierarchy"][name]
        assert (node["total_tasks"], node["completed_tasks"]) == (total, completed)
        assert node["status"] == status
    root = found["hierarchy"]["spec-root"]
    share = 100 * root["completed_tasks"] // (root["total_tasks"] or 1)
    assert found["progress_percentage"] == share
    assert rolled_up(found) == found


@given(st.one_of(odd_documents(), ANY_JSON))
def test_any_json_can_be_rolled_up(made):
    """What cannot be understood stays as it is."""
    assert isinstance(rolled_up(made), dict)


@pytest.mark.parametrize(
    ("changes", "status", "percent", "phase"),
    [
        ({}, "pending", 0, "phase-1"),
        ({"hierarchy/task-2-1/status": "in_progress"}, "in_progress", 0, "phase-2"),
        ({"hierarchy/task-1-1/status": "completed"}, "in_progress", 16, "phase-1"),
        ({"hierarchy/task-2-2/status": "blocked"}, "blocked", 0, "phase-1"),
        ({"hierarchy/phase-1/status": "blocked"}, "blocked", 0, "phase-2"),
        ({"hierarchy/spec-root/status": "archived"}, "archived", 0, "phase-1"),
    ],
)
def test_the_spec_stands_as_its_nodes_do(changes, status, percent, phase):
    """Blocked if any node is; archived stays archived."""
    found = rolled_up(edited(changes))
    assert (found["status"], found["progress_percentage"]) == (status, percent)
    assert found["current_phase"] == phase


def test_a_finished_spec_has_no_current_phase():
    """And is complete to the last percent."""
    made = document()
    for node in made["hierarchy"].values():
        node["status"] = "completed"
    found = rollup(Tree(made))
    assert (found.status, found.progress_percentage, found.current_phase) == (
        "completed",
        100,
        None,
    )
    assert percentage(999, 1000) == 99
    assert percentage(0, 0) == 0


def test_what_is_right_is_not_written_again():
    """Nodes that stay are the same objects."""
    made = document()
    found = rolled_up(made)
    assert found == made
    assert all(found["hierarchy"][name] is node for name, node in made["hierarchy"].items())
    assert rolled_up({"spec_id": "x"}) == {"spec_id": "x"}


def test_nodes_in_a_circle_keep_what_they_say():
    """There is no leaf to count from."""
    made = edited(
        {
            "hierarchy/spec-root/children": ["phase-1"],
            "hierarchy/phase-2/parent": "task-2-1",
            "hierarchy/task-2-1/children": ["phase-2"],
        }
    )
    found = rolled_up(made)
    assert found["hierarchy"]["phase-2"] is made["hierarchy"]["phase-2"]
    assert found["hierarchy"]["spec-root"]["total_tasks"] == 3

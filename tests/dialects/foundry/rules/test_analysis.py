"""What can be counted and found in a document."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.specs.rules.analysis import (
    completeness,
    dependency_report,
    stats,
    version_of,
)
from fakes.spec_documents import ANY_JSON, document, edited, link, odd_documents

TASK = "hierarchy/task-1-1"


def test_the_statistics_count_what_the_document_has():
    """Statuses are those of tasks; verify nodes are counted by themselves."""
    made = edited({f"{TASK}/status": "completed", "hierarchy/task-1-2/status": "blocked"})
    assert stats(made, 2048) == {
        "spec_id": "demo-2026-01-02-001",
        "title": "Demo",
        "version": "",
        "status": "pending",
        "totals": {"nodes": 9, "tasks": 4, "phases": 2, "verifications": 2},
        "status_counts": {"pending": 2, "in_progress": 0, "completed": 1, "blocked": 1},
        "max_depth": 2,
        "avg_tasks_per_phase": 2.0,
        "verification_coverage": 0.5,
        "progress": 0.1667,
        "file_size_kb": 2.0,
    }


def test_an_empty_document_has_statistics_too():
    """Nothing is divided by nothing."""
    found = stats([])
    assert (found["max_depth"], found["progress"], found["avg_tasks_per_phase"]) == (0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("whole", "version"),
    [
        ({"version": "2", "metadata": {"version": "1"}}, "2"),
        ({"metadata": {"version": "1"}}, "1"),
        ({"metadata": {"revision_history": [{"version": "1"}, {"version": "1.1"}, 4]}}, "1.1"),
        ({}, ""),
    ],
)
def test_the_version_is_the_last_one_said(whole, version):
    """By the spec itself, or by its last revision."""
    assert version_of(whole) == version


def test_who_holds_up_many_others_is_a_bottleneck():
    """The heaviest first; both sides of a dependency are one dependency."""
    made = document(1, 8)
    for number in range(2, 6):
        link(made["hierarchy"], "task-1-1", f"task-1-{number}")
    for number in range(3, 8):
        made["hierarchy"]["task-1-2"]["dependencies"]["blocks"].append(f"task-1-{number}")
    made["hierarchy"]["task-1-8"]["dependencies"]["depends"] = ["task-1-1"]
    found = dependency_report(made, 4)
    assert found["dependency_count"] == 10
    assert found["bottlenecks"] == [
        {"task_id": "task-1-2", "title": "Build part 1.2", "status": "pending", "blocks_count": 5},
        {"task_id": "task-1-1", "title": "Build part 1.1", "status": "pending", "blocks_count": 4},
    ]
    assert (found["circular_deps"], found["has_cycles"]) == ([], False)
    assert dependency_report(made, 6)["bottlenecks"] == []


def test_circles_of_dependencies_are_found():
    """Hard and soft ones, each once."""
    made = document()
    link(made["hierarchy"], "task-1-1", "task-2-1")
    link(made["hierarchy"], "task-2-1", "task-1-1")
    made["hierarchy"]["task-1-2"]["dependencies"]["depends"] = ["task-1-2"]
    found = dependency_report(made)
    assert found["has_cycles"]
    assert found["circular_deps"] == [
        ["task-1-1", "task-2-1", "task-1-1"],
        ["task-1-2", "task-1-2"],
    ]


def test_a_whole_document_is_complete():
    """The command of a verify node says what it is about."""
    found = completeness(document())
    assert found["completeness_score"] == 100
    assert found["categories"]["file_paths"] == {"complete": 4, "total": 4, "score": 1.0}
    assert (found["issues"], found["issue_count"]) == ([], 0)


def test_what_is_missing_lowers_the_score_by_its_weight():
    """And is told with the node that lacks it."""
    made = edited(
        {
            f"{TASK}/title": "",
            f"{TASK}/metadata/file_path": " ",
            "hierarchy/task-2-1/metadata/description": "",
            "hierarchy/verify-1-1/metadata": {"verification_type": "manual"},
        }
    )
    found = completeness(made)
    assert found["categories"] == {
        "titles": {"complete": 7, "total": 8, "score": 0.88},
        "descriptions": {"complete": 4, "total": 6, "score": 0.67},
        "file_paths": {"complete": 3, "total": 4, "score": 0.75},
    }
    assert found["completeness_score"] == 74
    assert [(one["node_id"], one["category"]) for one in found["issues"]] == [
        ("task-1-1", "titles"),
        ("task-1-1", "file_paths"),
        ("task-2-1", "descriptions"),
        ("verify-1-1", "descriptions"),
    ]


def test_what_has_nothing_to_check_counts_for_nothing():
    """A spec of phases has titles only."""
    found = completeness(document(1, 0) | {"hierarchy": {"p": {"type": "phase", "title": "P"}}})
    assert found["completeness_score"] == 100
    assert found["categories"]["descriptions"]["score"] == 1.0
    assert completeness({})["completeness_score"] == 100


@given(st.one_of(odd_documents(), ANY_JSON))
def test_any_json_can_be_analysed(made):
    """Without an error, and within bounds."""
    assert 0 <= stats(made)["progress"] <= 1
    assert 0 <= completeness(made)["completeness_score"] <= 100
    assert dependency_report(made)["dependency_count"] >= 0

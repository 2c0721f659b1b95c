"""What differs between two documents of a spec."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.documents.rules.comparing import diff, shown
from fakes.spec_documents import ANY_JSON, document, edited, odd_documents, task

TASK = "hierarchy/task-1-1"


def test_what_came_went_and_changed_is_told():
    """With the field, and its value before and after."""
    old = document()
    new = copy.deepcopy(old)
    new["hierarchy"]["task-1-10"] = task("Ten", "phase-1")
    new["hierarchy"]["task-1-9"] = task("Nine", "phase-1")
    del new["hierarchy"]["task-2-2"]
    new["hierarchy"]["task-1-1"]["status"] = "completed"
    new["hierarchy"]["task-1-1"]["metadata"]["file_path"] = "b.py"
    new["hierarchy"]["task-1-1"]["dependencies"]["blocks"] = ["task-1-2"]
    found = diff(old, new)
    assert found["summary"] == {
        "added_count": 2,
        "removed_count": 1,
        "modified_count": 1,
        "total_changes": 4,
    }
    assert found["changes"]["added"] == [
        {"node_id": "task-1-9", "type": "task", "title": "Nine"},
        {"node_id": "task-1-10", "type": "task", "title": "Ten"},
    ]
    assert [one["node_id"] for one in found["changes"]["removed"]] == ["task-2-2"]
    assert found["changes"]["modified"] == [
        {
            "node_id": "task-1-1",
            "type": "task",
            "title": "Build part 1.1",
            "field_changes": [
                {"field": "status", "old": "pending", "new": "completed"},
                {"field": "metadata.file_path", "old": "src/task-1-1.py", "new": "b.py"},
                {"field": "dependencies.blocks", "old": [], "new": ["task-1-2"]},
            ],
        }
    ]
    assert found["partial"] is False


def test_only_so_many_of_each_kind_are_told():
    """The summary counts all of them."""
    found = diff(document(1, 1), document(1, 5), limit=2)
    assert [one["node_id"] for one in found["changes"]["added"]] == ["task-1-2", "task-1-3"]
    assert found["summary"]["added_count"] == 4
    assert found["partial"] is True


def test_what_the_spec_says_of_itself_is_compared_too():
    """But not when it was written."""
    new = edited({"metadata/mission": "Other", "last_updated": "2027-01-01", "journal": [{}]})
    [found] = diff(document(), new)["changes"]["modified"]
    assert (found["node_id"], found["title"]) == ("spec", "Demo")
    assert found["field_changes"] == [
        {"field": "metadata.mission", "old": "Show how a spec lies.", "new": "Other"},
        {"field": "journal", "old": "0 entries", "new": "1 entry"},
    ]


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({f"{TASK}/dependencies": {}}, []),
        ({f"{TASK}/dependencies": None}, ["dependencies"]),
        ({f"{TASK}/metadata": 5}, ["metadata"]),
        ({f"{TASK}/completed_tasks": False}, ["completed_tasks"]),
        ({f"{TASK}/new": None}, []),
    ],
)
def test_fields_of_another_type_differ_as_a_whole(changes, fields):
    """An empty list of dependencies is no difference to none."""
    modified = diff(document(), edited(changes))["changes"]["modified"]
    assert [change["field"] for one in modified for change in one["field_changes"]] == fields


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x" * 300, f"{'x' * 200}… (300 letters)"),
        (["x"], ["x"]),
        ([[]], "a list of 1 item"),
        ([0] * 50, "a list of 50 items"),
        ({"a": "x" * 300}, "an object of 1 field"),
        ({"a": None}, {"a": None}),
        ({}, {}),
        (None, None),
    ],
)
def test_long_values_are_cut(value, said):
    """So that a difference can be read."""
    assert shown(value) == said


@given(st.one_of(odd_documents(), ANY_JSON))
def test_a_document_does_not_differ_from_itself(made):
    """Nor from a copy of it; and from any other it differs without an error."""
    found = diff(made, copy.deepcopy(made))
    assert found["summary"]["total_changes"] == 0
    assert found["changes"] == {"added": [], "removed": [], "modified": []}
    assert diff({"title": "x"}, {})["changes"]["modified"][0]["node_id"] == "spec"
    back, forth = diff(made, document()), diff(document(), made)
    assert back["summary"]["added_count"] == forth["summary"]["removed_count"]
    assert back["summary"]["modified_count"] == forth["summary"]["modified_count"]

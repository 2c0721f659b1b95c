"""Documents as drafts, and what is refused of them with its place."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.model.work import TITLE_LIMIT
from counterpoint.dialects.foundry.nodes.rules.drafting import DocumentDraft, draft_of
from counterpoint.kernel.errors import MalformedDocument
from fakes.spec_documents import ANY_JSON, document, edited, node, odd_documents

LONG = "x" * 70_000


def faults_of(made: Any) -> list[tuple[str, str]]:
    """Answer the codes and places for which a document is refused."""
    with pytest.raises(MalformedDocument) as refused:
        draft_of(made)
    return [(one["code"], one["location"]) for one in refused.value.facts["faults"]]


@given(st.one_of(odd_documents(), ANY_JSON.filter(lambda one: isinstance(one, dict))))
def test_any_json_is_a_spec_or_is_refused(made: Any):
    """There is no third."""
    before = copy.deepcopy(made)
    try:
        assert isinstance(draft_of(made), DocumentDraft)
    except MalformedDocument as refused:
        told = len(refused.facts["faults"])
        assert told
    assert repr(made) == repr(before)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"spec_id": "../x"}, ("INVALID_SPEC_ID_FORMAT", "spec_id")),
        ({"spec_id": 3}, ("INVALID_SPEC_ID_FORMAT", "spec_id")),
        ({"metadata": [1]}, ("INVALID_METADATA_TYPE", "metadata")),
        ({"journal": {"a": 1}}, ("INVALID_JOURNAL_TYPE", "journal")),
        ({"metadata/x": LONG}, ("FIELD_TOO_LONG", "metadata.x")),
        ({"x": LONG}, ("FIELD_TOO_LONG", "")),
        ({"hierarchy": []}, ("INVALID_HIERARCHY_TYPE", "hierarchy")),
        ({"hierarchy/phase-1": 3}, ("INVALID_NODE_STRUCTURE", "phase-1")),
        ({"hierarchy/ x": node("task", "x", "phase-1")}, ("INVALID_NODE_STRUCTURE", " x")),
        ({"hierarchy/task-1-1/type": "job"}, ("INVALID_NODE_TYPE", "task-1-1.type")),
        ({"hierarchy/task-1-1/status": ["done"]}, ("INVALID_STATUS", "task-1-1.status")),
        ({"hierarchy/task-1-1/title": 3}, ("EMPTY_TITLE", "task-1-1.title")),
        (
            {"hierarchy/task-1-1/title": "x" * (TITLE_LIMIT + 1)},
            ("FIELD_TOO_LONG", "task-1-1.title"),
        ),
        ({"hierarchy/task-1-1/children": "x"}, ("INVALID_CHILDREN_TYPE", "task-1-1.children")),
        ({"hierarchy/task-1-1/children": ["x"]}, ("MISSING_CHILD", "task-1-1.children")),
        ({"hierarchy/task-1-1/metadata": "x"}, ("INVALID_METADATA_TYPE", "task-1-1.metadata")),
        ({"hierarchy/task-1-1/metadata/x": LONG}, ("FIELD_TOO_LONG", "task-1-1.metadata.x")),
        ({"hierarchy/task-1-1/x": LONG}, ("FIELD_TOO_LONG", "task-1-1")),
        (
            {"hierarchy/task-1-1/dependencies": 3},
            ("INVALID_DEPENDENCIES_TYPE", "task-1-1.dependencies"),
        ),
        (
            {"hierarchy/task-1-1/dependencies/blocks": "x"},
            ("INVALID_DEPENDENCY_FIELD", "task-1-1.dependencies.blocks"),
        ),
        (
            {"hierarchy/task-1-1/dependencies/depends": ["x"]},
            ("MISSING_DEPENDENCY_TARGET", "task-1-1.dependencies.depends"),
        ),
        (
            {"hierarchy/task-1-1/dependencies/blocks": ["task-1-1"]},
            ("CIRCULAR_DEPENDENCY", "task-1-1.dependencies.blocks"),
        ),
        (
            {"hierarchy/phase-1/dependencies/blocked_by": ["task-1-1"]},
            ("CIRCULAR_DEPENDENCY", "phase-1.dependencies"),
        ),
        (
            {"hierarchy/task-2-1/dependencies/blocks": ["spec-root"]},
            ("CIRCULAR_DEPENDENCY", "spec-root.dependencies"),
        ),
        ({"hierarchy/ ": node("task", "x", "phase-1")}, ("INVALID_NODE_STRUCTURE", "hierarchy")),
        ({"hierarchy/alone": node("task", "x", "phase-1")}, ("ORPHANED_NODES", "alone")),
    ],
)
def test_what_is_wrong_is_told_with_its_place(changes: Any, fault: tuple[str, str]):
    """Together with all else."""
    assert fault in faults_of(edited(changes))


def test_a_document_without_root_is_refused():
    """Whatever else it has."""
    assert faults_of(edited({}, without=("hierarchy/spec-root",)))[-1][0] == "MISSING_SPEC_ROOT"


def test_nodes_that_hold_each_other_are_refused():
    """Each is named."""
    made = edited(
        {
            "hierarchy/spec-root/children": ["phase-1"],
            "hierarchy/phase-2/parent": "task-2-1",
            "hierarchy/task-2-1/children": ["phase-2"],
        }
    )
    assert ("CYCLE_DETECTED", "phase-2") in faults_of(made)


def test_a_tree_that_is_too_deep_is_refused():
    made = document(0, 0)
    last = "spec-root"
    for number in range(5_000):
        name = f"task-{number}"
        made["hierarchy"][name] = node("task", name, last)
        made["hierarchy"][last]["children"] = [name]
        last = name
    assert faults_of(made) == [("EXCESSIVE_NESTING", "task-49")]


def test_very_many_faults_are_counted_and_some_told():
    """The answer stays short."""
    made = document(1, 200)
    for one in made["hierarchy"].values():
        one["type"] = 3
    with pytest.raises(MalformedDocument) as refused:
        draft_of(made)
    assert refused.value.facts["fault_count"] == 203
    assert len(refused.value.facts["faults"]) == 50
    assert len(refused.value.message) < 1_000


def test_titles_become_lines():
    """A blank one is the id."""
    made = edited({"hierarchy/task-1-1/title": " ", "hierarchy/task-1-2/title": "a\n b"})
    titles = {one.aliases[0][1]: one.title for one in draft_of(made).draft.walk()}
    assert titles["demo-2026-01-02-001/task-1-1"] == "task-1-1"
    assert titles["demo-2026-01-02-001/task-1-2"] == "a b"


def test_old_files_have_their_status_in_the_metadata():
    """It is derived now."""
    made = edited({"metadata/status": "pending", "metadata/progress_percentage": 3})
    kept = draft_of(made).draft.attributes
    assert "status" not in kept
    assert "progress_percentage" not in kept

"""Every fault that a spec's document can have, and where it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.nodes.rules.faults import RULES
from counterpoint.dialects.foundry.specs.rules.validation import validate
from fakes.spec_documents import ANY_JSON, document, edited, node, odd_documents


def deep(levels):
    """Return objects in objects."""
    value = {}
    for _ in range(levels):
        value = {"x": value}
    return value


ROOT = "hierarchy/spec-root"
TASK = "hierarchy/task-1-1"
META = f"{TASK}/metadata"
VERIFY = "hierarchy/verify-1-1"
STRAY = node("group", "Stray", "gone")

SHOWN = [
    ("EXCESSIVE_NESTING", {f"{META}/labels": deep(12)}, "task-1-1"),
    ("EXCESSIVE_NESTING", {"metadata/labels": deep(12)}, "metadata"),
    ("EXCESSIVE_ARRAY_LENGTH", {f"{TASK}/children": ["task-1-2"] * 1001}, "task-1-1.children"),
    ("EXCESSIVE_JOURNAL_LENGTH", {"journal": [{}] * 1001}, "journal"),
    ("INVALID_SPEC_ID_FORMAT", {"spec_id": "demo"}, "spec_id"),
    ("INVALID_SPEC_ID_FORMAT", {"spec_id": 5}, "spec_id"),
    ("INVALID_DATE_FORMAT", {"generated": "yesterday"}, "generated"),
    ("INVALID_DATE_FORMAT", {"last_updated": 17}, "last_updated"),
    ("INVALID_JOURNAL_TYPE", {"journal": {}}, "journal"),
    ("INVALID_JOURNAL_TYPE", {"journal": [{}, 1]}, "journal[1]"),
    ("MISSING_MISSION", {"metadata/mission": " "}, "metadata.mission"),
    ("EMPTY_SUCCESS_CRITERIA", {"metadata/success_criteria": []}, "metadata.success_criteria"),
    ("EMPTY_CONSTRAINTS", {"metadata/constraints": [""]}, "metadata.constraints"),
    ("INVALID_RISK_ENTRY", {"metadata/risks": {}}, "metadata.risks"),
    ("INVALID_RISK_ENTRY", {"metadata/risks": ["x"]}, "metadata.risks[0]"),
    ("MISSING_RISK_DESCRIPTION", {"metadata/risks": [{}]}, "metadata.risks[0].description"),
    (
        "INVALID_RISK_FIELD",
        {"metadata/risks": [{"description": "x", "likelihood": "certain"}]},
        "metadata.risks[0].likelihood",
    ),
    (
        "INVALID_RISK_FIELD",
        {"metadata/risks": [{"description": "x", "impact": None, "mitigation": 3}]},
        "metadata.risks[0].mitigation",
    ),
    ("MISSING_PLAN_PATH", {"metadata/plan_path": ""}, "metadata.plan_path"),
    ("MISSING_PLAN_REVIEW_PATH", {"metadata/plan_review_path": 1}, "metadata.plan_review_path"),
    ("INVALID_METADATA_TYPE", {"metadata": "x"}, "metadata"),
    ("INVALID_METADATA_TYPE", {META: []}, "task-1-1.metadata"),
    ("INVALID_HIERARCHY_TYPE", {"hierarchy": []}, "hierarchy"),
    ("INVALID_HIERARCHY_TYPE", {"hierarchy": None}, "hierarchy"),
    ("EMPTY_HIERARCHY", {"hierarchy": {}}, "hierarchy"),
    ("MISSING_SPEC_ROOT", {"hierarchy": {"a": node("task", "A", "b")}}, "hierarchy.spec-root"),
    ("INVALID_ROOT_PARENT", {f"{ROOT}/parent": "phase-1"}, "spec-root.parent"),
    ("NULL_PARENT", {f"{TASK}/parent": None}, "task-1-1.parent"),
    ("MISSING_PARENT", {f"{TASK}/parent": "phase-9"}, "task-1-1.parent"),
    ("MISSING_PARENT", {f"{TASK}/parent": 9}, "task-1-1.parent"),
    ("INVALID_CHILDREN_TYPE", {f"{TASK}/children": "x"}, "task-1-1.children"),
    ("MISSING_CHILD", {f"{TASK}/children": ["task-9-9"]}, "task-1-1.children[0]"),
    ("MISSING_CHILD", {f"{TASK}/children": [{}]}, "task-1-1.children[0]"),
    (
        "DUPLICATE_CHILD",
        {f"{ROOT}/children": ["phase-1", "phase-2", "phase-1"]},
        "spec-root.children[2]",
    ),
    ("PARENT_CHILD_MISMATCH", {f"{TASK}/children": ["task-1-2"]}, "task-1-1.children[0]"),
    ("PARENT_CHILD_MISMATCH", {f"{TASK}/children": ["spec-root"]}, "task-1-1.children[0]"),
    ("PARENT_CHILD_MISMATCH", {f"{ROOT}/children": ["phase-2"]}, "phase-1.parent"),
    (
        "PARENT_CHILD_MISMATCH",
        {f"{TASK}/children": ["spec-root"], f"{ROOT}/parent": "task-1-1"},
        "task-1-1.children[0]",
    ),
    ("ORPHANED_NODES", {"hierarchy/group-1": STRAY}, "group-1"),
    ("CYCLE_DETECTED", {f"{TASK}/children": ["task-1-1"]}, "task-1-1.children"),
    ("CYCLE_DETECTED", {f"{TASK}/children": ["phase-1"]}, "phase-1.children"),
    ("INVALID_NODE_STRUCTURE", {TASK: "a task"}, "task-1-1"),
    ("INVALID_NODE_TYPE", {f"{TASK}/type": "chore"}, "task-1-1.type"),
    ("INVALID_STATUS", {f"{TASK}/status": "done"}, "task-1-1.status"),
    ("INVALID_STATUS", {f"{TASK}/status": "archived"}, "task-1-1.status"),
    ("INVALID_STATUS", {"status": "bogus"}, "status"),
    ("EMPTY_TITLE", {f"{TASK}/title": ""}, "task-1-1.title"),
    ("COMPLETED_EXCEEDS_TOTAL", {f"{TASK}/completed_tasks": 2}, "task-1-1.completed_tasks"),
    ("TOTAL_TASKS_MISMATCH", {"hierarchy/phase-1/total_tasks": 9}, "phase-1.total_tasks"),
    ("COMPLETED_TASKS_MISMATCH", {f"{TASK}/status": "completed"}, "phase-1.completed_tasks"),
    ("INVALID_LEAF_COUNT", {f"{TASK}/total_tasks": "1"}, "task-1-1.total_tasks"),
    ("INVALID_DEPENDENCIES_TYPE", {f"{TASK}/dependencies": None}, "task-1-1.dependencies"),
    (
        "INVALID_DEPENDENCY_FIELD",
        {f"{TASK}/dependencies": {"blocks": 1}},
        "task-1-1.dependencies.blocks",
    ),
    (
        "MISSING_DEPENDENCY_TARGET",
        {f"{TASK}/dependencies": {"depends": ["gone"]}},
        "task-1-1.dependencies.depends[0]",
    ),
    (
        "DUPLICATE_DEPENDENCY",
        {f"{TASK}/dependencies": {"depends": ["task-1-2"] * 2}},
        "task-1-1.dependencies.depends[1]",
    ),
    (
        "BIDIRECTIONAL_INCONSISTENCY",
        {f"{TASK}/dependencies": {"blocks": ["task-1-2"]}},
        "task-1-1.dependencies.blocks",
    ),
    (
        "CIRCULAR_DEPENDENCY",
        {f"{TASK}/dependencies": {"blocks": ["task-1-1"], "blocked_by": ["task-1-1"]}},
        "task-1-1.dependencies",
    ),
    (
        "CIRCULAR_SOFT_DEPENDENCY",
        {
            f"{TASK}/dependencies": {"depends": ["task-1-2"]},
            "hierarchy/task-1-2/dependencies": {"depends": ["task-1-1"]},
        },
        "task-1-1.dependencies.depends",
    ),
    (
        "MISSING_VERIFICATION_TYPE",
        {f"{VERIFY}/metadata": {}},
        "verify-1-1.metadata.verification_type",
    ),
    (
        "INVALID_VERIFICATION_TYPE",
        {f"{VERIFY}/metadata": {"verification_type": ["x"]}},
        "verify-1-1.metadata.verification_type",
    ),
    (
        "INVALID_TASK_CATEGORY",
        {f"{META}/task_category": "chore"},
        "task-1-1.metadata.task_category",
    ),
    ("MISSING_TASK_CATEGORY", {f"{META}/task_category": ""}, "task-1-1.metadata.task_category"),
    ("MISSING_TASK_DESCRIPTION", {f"{META}/description": 1}, "task-1-1.metadata.description"),
    (
        "MISSING_ACCEPTANCE_CRITERIA",
        {f"{META}/acceptance_criteria": []},
        "task-1-1.metadata.acceptance_criteria",
    ),
    (
        "INVALID_ACCEPTANCE_CRITERIA",
        {f"{META}/acceptance_criteria": "x"},
        "task-1-1.metadata.acceptance_criteria",
    ),
    (
        "INVALID_ACCEPTANCE_CRITERIA",
        {f"{META}/acceptance_criteria": ["x", ""]},
        "task-1-1.metadata.acceptance_criteria[1]",
    ),
    ("MISSING_FILE_PATH", {f"{META}/file_path": None}, "task-1-1.metadata.file_path"),
    ("INVALID_COMPLEXITY", {f"{META}/complexity": 3}, "task-1-1.metadata.complexity"),
    ("MISSING_COMPLEXITY", {f"{META}/complexity": None}, "task-1-1.metadata.complexity"),
    ("UNKNOWN_FIELD", {f"{META}/category": "x"}, "task-1-1.metadata.category"),
]

LEFT_OUT = [
    ("MISSING_REQUIRED_FIELD", "hierarchy", "hierarchy"),
    ("MISSING_REQUIRED_FIELD", "spec_id", "spec_id"),
    ("MISSING_NODE_FIELD", f"{TASK}/total_tasks", "task-1-1.total_tasks"),
    ("UNKNOWN_FIELD", f"{META}/task_category", "task-1-1.metadata.category"),
]


def test_a_whole_document_has_no_fault():
    """Nothing is said of it."""
    report = validate(document())
    assert report.as_json() == {
        "is_valid": True,
        "error_count": 0,
        "warning_count": 0,
        "info_count": 0,
        "diagnostics": [],
    }


@pytest.mark.parametrize(("code", "changes", "location"), SHOWN)
def test_each_fault_is_found_where_it_is(code, changes, location):
    """With what the table says of its code."""
    found = [one for one in validate(edited(changes)).diagnostics if one.code == code]
    assert location in [one.location for one in found]
    told = next(one for one in found if one.location == location).as_json()
    assert list(told) == [
        *("code", "message", "severity", "category"),
        *("location", "suggested_fix", "auto_fixable"),
    ]
    assert told["message"]
    assert told["auto_fixable"] is RULES[code].is_fixable


@pytest.mark.parametrize(("code", "path", "location"), LEFT_OUT)
def test_each_field_that_is_missing_is_found(code, path, location):
    """What is not there is not called wrong as well."""
    made = edited({f"{META}/category": "x"}, without=(path,))
    found = [one.location for one in validate(made).diagnostics if one.code == code]
    assert found == [location]


def test_every_code_of_the_table_is_shown():
    """There is none that no document raises."""
    assert {code for code, *_ in (*SHOWN, *LEFT_OUT)} == set(RULES)


def test_only_errors_make_a_document_invalid():
    """Warnings are counted by themselves."""
    report = validate(edited({"metadata/constraints": [], "metadata/mission": None}))
    assert not report.is_valid
    assert (report.count("error"), report.count("warning")) == (1, 1)
    assert report.codes() == {"MISSING_MISSION": 1, "EMPTY_CONSTRAINTS": 1}
    assert validate(edited({"metadata/constraints": []})).is_valid


@pytest.mark.parametrize(
    ("changes", "silent"),
    [
        ({f"{ROOT}/status": "archived"}, "INVALID_STATUS"),
        ({f"{META}/task_category": "Research", f"{META}/file_path": ""}, "MISSING_FILE_PATH"),
        ({f"{META}/task_category": " Implementation "}, "INVALID_TASK_CATEGORY"),
        ({"generated": "2026-01-02"}, "INVALID_DATE_FORMAT"),
        ({TASK: {}}, "NULL_PARENT"),
        ({TASK: {}}, "INVALID_DEPENDENCIES_TYPE"),
        ({"metadata/risks": [{"description": "x", "impact": "low"}]}, "INVALID_RISK_FIELD"),
        ({f"{TASK}/dependencies": {"depends": ["task-1-2"]}}, "BIDIRECTIONAL_INCONSISTENCY"),
        ({"hierarchy/phase-1/children": 1}, "ORPHANED_NODES"),
    ],
)
def test_what_the_format_allows_is_no_fault(changes, silent):
    """And what another fault explains is not told twice."""
    assert silent not in validate(edited(changes)).codes()


def test_a_large_circle_is_told_in_a_few_words():
    """The message names its first nodes, however long they are called."""
    made = document(1, 30)
    names = [f"task-1-{number}" for number in range(1, 31)]
    for name, other in zip(names, [*names[1:], names[0]], strict=True):
        made["hierarchy"][name]["dependencies"]["blocks"] = [other]
    told = [one for one in validate(made).diagnostics if one.code == "CIRCULAR_DEPENDENCY"]
    assert len(told) == 1
    assert "(30 nodes)" in told[0].message
    made["hierarchy"]["x" * 10_000] = 1
    assert all(len(one.message) + len(one.location) < 1000 for one in validate(made).diagnostics)


def test_an_orphan_tells_how_much_hangs_from_it():
    """One fault for a whole branch."""
    made = edited({"hierarchy/group-1": {**STRAY, "children": ["task-7-1"]}})
    made["hierarchy"]["task-7-1"] = node("task", "T", "group-1")
    told = [one for one in validate(made).diagnostics if one.code == "ORPHANED_NODES"]
    assert len(told) == 1
    assert "1 below it" in told[0].message


@given(st.one_of(odd_documents(), ANY_JSON))
def test_any_json_is_judged_without_an_error(made):
    """Whatever is in it has a code of the table."""
    assert set(validate(made).codes()) <= set(RULES)


def test_a_hostile_document_is_judged_in_a_time_that_grows_with_it():
    """Thousands of orphans, double links and missing targets are no more than that."""
    nodes = document(0, 0)["hierarchy"]
    names = [f"n-{number}" for number in range(5_000)]
    for number, name in enumerate(names):
        other = names[(number * 7919 + 1) % len(names)]
        kids = [other, names[number // 2], "gone"]
        dependencies = {"blocks": kids, "blocked_by": kids, "depends": kids}
        nodes[name] = node("x", "", name, children=kids, dependencies=dependencies)
    report = validate(document() | {"hierarchy": nodes})
    assert report.codes()["MISSING_CHILD"] == 5_000

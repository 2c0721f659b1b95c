"""Mending a document where it can be mended without a decision of anybody."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.nodes.rules.faults import RULES
from counterpoint.dialects.foundry.nodes.rules.shape import same
from counterpoint.dialects.foundry.specs.rules.editing import fixed, title_of
from counterpoint.dialects.foundry.specs.rules.validation import validate
from fakes.spec_documents import (
    ANY_JSON,
    NOW,
    TANGLED,
    document,
    edited,
    grown,
    node,
    odd_documents,
)

TASK = "hierarchy/task-1-1"
STRAY = node("group", "Stray", "gone")


def ids(actions):
    """Return the ids of what was done, but for what followed from it."""
    return [one.id for one in actions if one.id != "counts.recalculate"]


FIXES = [
    (
        {"generated": "2026/01/02 03:04"},
        "date.normalize:generated",
        "generated",
        "2026-01-02 03:04",
    ),
    ({"last_updated": "soon"}, "date.normalize:last_updated", "last_updated", NOW),
    ({"generated": "Jan 2, 2026"}, "date.normalize:generated", "generated", "2026-01-02"),
    ({"status": "Done"}, "status.normalize:spec", "status", "pending"),
    ({f"{TASK}/type": "Task"}, "node.normalize_type:task-1-1", f"{TASK}/type", "task"),
    ({f"{TASK}/type": None}, "node.normalize_type:task-1-1", f"{TASK}/type", "task"),
    (
        {"hierarchy/spec-root/type": "x"},
        "node.normalize_type:spec-root",
        "hierarchy/spec-root/type",
        "spec",
    ),
    (
        {"hierarchy/verify-1-1/type": "check"},
        "node.normalize_type:verify-1-1",
        "hierarchy/verify-1-1/type",
        "verify",
    ),
    ({f"{TASK}/status": "todo"}, "status.normalize:task-1-1", f"{TASK}/status", "pending"),
    ({f"{TASK}/status": "Done"}, "status.normalize:task-1-1", f"{TASK}/status", "completed"),
    (
        {f"{TASK}/status": "in-progress"},
        "status.normalize:task-1-1",
        f"{TASK}/status",
        "in_progress",
    ),
    (
        {f"{TASK}/status": "inprogress"},
        "status.normalize:task-1-1",
        f"{TASK}/status",
        "in_progress",
    ),
    ({f"{TASK}/status": "later"}, "status.normalize:task-1-1", f"{TASK}/status", "pending"),
    ({f"{TASK}/title": " "}, "node.generate_title:task-1-1", f"{TASK}/title", "Task 1-1"),
    (
        {"hierarchy/spec-root/parent": "x"},
        "hierarchy.fix_root_parent",
        "hierarchy/spec-root/parent",
        None,
    ),
    (
        {f"{TASK}/parent": "phase-2"},
        "hierarchy.align:phase-1->task-1-1",
        f"{TASK}/parent",
        "phase-1",
    ),
    (
        {f"{TASK}/children": ["task-1-2"]},
        "hierarchy.align:task-1-1->task-1-2",
        f"{TASK}/children",
        [],
    ),
    (
        {f"{TASK}/children": ["spec-root"]},
        "hierarchy.align:task-1-1->spec-root",
        f"{TASK}/children",
        [],
    ),
    (
        {"hierarchy/spec-root/children": ["phase-2"]},
        "hierarchy.align:spec-root->phase-1",
        "hierarchy/spec-root/children",
        ["phase-2", "phase-1"],
    ),
    (
        {"hierarchy/spec-root/children": ["phase-1", "phase-2", "phase-1"]},
        "hierarchy.dedupe_children:spec-root",
        "hierarchy/spec-root/children",
        ["phase-1", "phase-2"],
    ),
    (
        {"hierarchy/group-1": STRAY},
        "hierarchy.attach_orphans:group-1",
        "hierarchy/spec-root/children",
        ["phase-1", "phase-2", "group-1"],
    ),
    (
        {f"{TASK}/dependencies": []},
        "dependency.create_structure:task-1-1",
        f"{TASK}/dependencies",
        {"blocks": [], "blocked_by": [], "depends": []},
    ),
    (
        {f"{TASK}/dependencies": {"depends": ["task-1-2", "task-1-2"]}},
        "dependency.dedupe:task-1-1",
        f"{TASK}/dependencies",
        {"depends": ["task-1-2"]},
    ),
    (
        {f"{TASK}/dependencies": {"blocks": ["task-1-2"]}},
        "dependency.sync_bidirectional:task-1-1-task-1-2",
        "hierarchy/task-1-2/dependencies/blocked_by",
        ["task-1-1"],
    ),
    (
        {f"{TASK}/dependencies": {"blocked_by": ["task-1-2"]}},
        "dependency.sync_bidirectional:task-1-2-task-1-1",
        "hierarchy/task-1-2/dependencies/blocks",
        ["task-1-1"],
    ),
    (
        {"hierarchy/verify-1-1/metadata": {"x": 1}},
        "metadata.fix_verification_type:verify-1-1",
        "hierarchy/verify-1-1/metadata",
        {"x": 1, "verification_type": "run-tests"},
    ),
    (
        {"hierarchy/verify-1-1/metadata": {"verification_type": "auto"}},
        "metadata.fix_invalid_verification_type:verify-1-1",
        "hierarchy/verify-1-1/metadata",
        {"verification_type": "manual"},
    ),
]


def at(value, path):
    """Return what lies under a path."""
    for step in path.split("/"):
        value = value[step]
    return value


@pytest.mark.parametrize(("changes", "action", "path", "value"), FIXES)
def test_each_fault_has_its_own_action(changes, action, path, value):
    """It is told with its id, and the document has what is right."""
    made = edited(changes)
    before = copy.deepcopy(made)
    mended, actions = fixed(made, NOW)
    assert made == before
    assert action in ids(actions)
    assert at(mended, path) == value
    assert validate(mended).is_valid
    told = next(one for one in actions if one.id == action).as_json()
    assert list(told) == ["id", "description", "category"]
    assert fixed(mended, "2030-01-01") == (mended, ())


def test_wrong_counts_are_derived_again():
    """With the statuses, the progress and the phase that follow from the leaves."""
    made = edited({f"{TASK}/status": "completed", "hierarchy/phase-2/total_tasks": True})
    mended, actions = fixed(made, NOW)
    assert [one.id for one in actions] == ["counts.recalculate"]
    assert mended["hierarchy"]["phase-1"]["status"] == "in_progress"
    assert (mended["progress_percentage"], mended["status"]) == (16, "in_progress")
    assert validate(mended).diagnostics == ()


def test_fields_that_are_missing_get_their_defaults():
    """The id says what a node is and where it belongs."""
    made = document()
    made["hierarchy"] |= {
        "task-2-1-1": {},
        "verify-2-9": {},
        "phase-3": {},
        "odd": {},
        "research-9-1": {},
    }
    del made["hierarchy"]["spec-root"]["parent"]
    mended, actions = fixed(made, NOW)
    nodes = mended["hierarchy"]
    assert nodes["spec-root"]["parent"] is None
    assert (nodes["task-2-1-1"]["parent"], nodes["task-2-1-1"]["type"]) == ("task-2-1", "task")
    assert (nodes["verify-2-9"]["parent"], nodes["verify-2-9"]["type"]) == ("phase-2", "verify")
    assert (nodes["phase-3"]["parent"], nodes["phase-3"]["title"]) == ("spec-root", "Phase 3")
    assert (nodes["odd"]["parent"], nodes["research-9-1"]["parent"]) == ("spec-root", "spec-root")
    assert nodes["spec-root"]["children"] == [
        "phase-1",
        "phase-2",
        "phase-3",
        "odd",
        "research-9-1",
    ]
    assert "node.add_missing_fields:odd" in ids(actions)
    assert title_of("") == "Untitled"
    assert fixed(mended, NOW) == (mended, ())


def test_orphans_of_each_other_end_at_the_root():
    """Nobody is attached below itself."""
    made = document(0, 0)
    made["hierarchy"] |= {
        "a": node("group", "A", "b1", children=["a1"]),
        "a1": node("group", "A1", "a"),
        "b": node("group", "B", "a1", children=["b1"]),
        "b1": node("group", "B1", "b"),
    }
    mended, actions = fixed(made, NOW)
    assert sorted(ids(actions)) == ["hierarchy.align:b1->a", "hierarchy.attach_orphans:b"]
    assert mended["hierarchy"]["b"]["parent"] == "spec-root"
    assert validate(mended).codes() == validate(document(0, 0)).codes()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {TASK: "no node"},
        {f"{TASK}/children": "x"},
        {f"{TASK}/children": ["gone"]},
        {"hierarchy/phase-1/children": 7, "hierarchy/phase-1/total_tasks": 0},
        {
            f"{TASK}/dependencies": {"blocks": 5},
            "hierarchy/task-1-2/dependencies": {"blocked_by": ["task-1-1"]},
        },
        {f"{TASK}/metadata": []},
        {"hierarchy/verify-1-1/metadata": []},
        {"hierarchy": 5},
        {"metadata/mission": ""},
    ],
)
def test_what_needs_a_decision_is_left_alone(changes):
    """The document is the same, unless counts follow."""
    made = edited(changes)
    mended, actions = fixed(made, NOW)
    assert ids(actions) == []
    for name, kept in made["hierarchy"].items() if isinstance(made["hierarchy"], dict) else ():
        if isinstance(kept, dict) and not actions:
            assert mended["hierarchy"][name] is kept


def test_a_status_alone_is_nothing_broken():
    """A phase may be begun before any of its tasks is, as far as fixing goes."""
    made = edited({"hierarchy/phase-1/status": "in_progress", "progress_percentage": 3})
    assert fixed(made, NOW) == (made, ())


def test_a_duplicate_is_taken_out_beside_what_needs_a_decision():
    """The rest of the list stays as it is."""
    lists = {"depends": ["task-1-2", 7, "task-1-2", "gone"]}
    mended, _ = fixed(edited({f"{TASK}/dependencies": lists}), NOW)
    assert at(mended, f"{TASK}/dependencies") == {"depends": ["task-1-2", 7, "gone"]}


@given(st.lists(st.sampled_from(range(len(FIXES))), unique=True))
def test_a_document_with_fixable_faults_only_becomes_valid(chosen):
    """However many there are at once."""
    made = document()
    for number in chosen:
        made = _merged(made, FIXES[number][0])
    mended, _ = fixed(made, NOW)
    assert validate(mended).is_valid
    assert not any(RULES[code].is_fixable for code in validate(mended).codes())


def _merged(made, changes):
    """Set values in a document, where their places still are."""
    for path, value in changes.items():
        *way, last = path.split("/")
        holder = made
        for step in way:
            holder = holder.get(step, {}) if isinstance(holder, dict) else {}
        if isinstance(holder, dict):
            holder[last] = copy.deepcopy(value)
    return made


@given(st.one_of(odd_documents(), ANY_JSON, grown(), TANGLED))
def test_fixing_twice_changes_nothing_more(made):
    """Whatever the document is, and nothing fixable is left."""
    mended, _ = fixed(made, NOW)
    again, actions = fixed(mended, "2030-01-01")
    assert actions == ()
    assert same(again, mended)
    assert not [code for code in validate(mended).codes() if RULES[code].is_fixable]


def test_very_many_orphans_are_attached_in_one_go():
    """The list of the root is written once."""
    made = document(0, 0)
    made["hierarchy"] |= {f"n-{number}": {} for number in range(5_000)}
    mended, _ = fixed(made, NOW)
    assert len(mended["hierarchy"]["spec-root"]["children"]) == 5_000

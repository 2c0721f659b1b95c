"""Wanted documents applied to specs, under the rules of single calls."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import Agent, Workshop
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.foundry.documents.operations import Applied, Applying, Importing
from counterpoint.dialects.foundry.documents.rules.comparing import finishing_order
from counterpoint.dialects.foundry.nodes.rules.tree import Tree
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.kernel.errors import (
    InvalidInput,
    MalformedDocument,
    NotReady,
)
from fakes.spec_documents import document, link, node, put, task

SPEC = "demo-2026-01-02-001"
Document = dict[str, Any]


class Story:
    """One spec, and what becomes of documents that are applied to it."""

    def __init__(self, core: Callable[[], Core]) -> None:
        """Begin with the whole document."""
        self._core = core
        core().use(Importing).make(document())

    @property
    def now(self) -> Document:
        """The document as it is."""
        return self._core().use(Specs).document(SPEC)

    def wants(self, changes: dict[str, Any]) -> Document:
        """Answer the document with values set."""
        made = copy.deepcopy(self.now)
        for path, value in changes.items():
            put(made, path, value)
        return made

    def apply(self, wanted: Document, **more: Any) -> Applied:
        """Apply a document."""
        return self._core().use(Applying).apply(SPEC, copy.deepcopy(wanted), **more)

    def becomes(self, wanted: Document) -> None:
        """Apply a document all of which must be applied; the same again changes nothing."""
        assert not self.apply(wanted).refused
        found = self.now
        for whole in (found, wanted):
            for name in ("last_updated", "status", "progress_percentage", "current_phase"):
                whole.pop(name, None)
            for one in whole["hierarchy"].values():
                one["metadata"].pop("completed_at", None)
                for name in ("total_tasks", "completed_tasks"):
                    one.pop(name, None)
                if one["children"]:
                    one.pop("status", None)
            whole["metadata"].pop("completed_at", None)
        assert found["hierarchy"] == wanted["hierarchy"]
        assert found == wanted
        assert not self.apply({**self.now}).changes


@pytest.fixture
def story(ada: Agent) -> Story:
    """Answer a spec to apply documents to."""
    return Story(lambda: ada.core)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"title": "Another", "hierarchy/spec-root/title": "Another"},
        {"metadata/mission": "New", "metadata/more": None, "x-new": [1]},
        {"hierarchy/task-1-1/title": "Another"},
        {"hierarchy/task-1-1/metadata/description": "Another"},
        {"hierarchy/task-1-1/metadata/acceptance_criteria": ["It works", "And more"]},
        {"hierarchy/task-1-1/metadata/file_path": "src/other.py"},
        {"hierarchy/task-1-1/metadata/x": {"a": 1.5}, "hierarchy/task-1-1/y": 2},
        {"hierarchy/task-1-1/type": "research"},
        {"hierarchy/task-1-1/dependencies/depends": ["task-2-2"]},
        {"hierarchy/task-1-1/status": "completed"},
        {"hierarchy/task-1-1/status": "in_progress"},
        {"hierarchy/phase-1/children": ["verify-1-1", "task-1-2", "task-1-1"]},
    ],
)
def test_what_was_changed_in_the_document_is_changed_in_the_spec(story: Story, changes: Any):
    """And nothing else: applied again it is no change."""
    story.becomes(story.wants(changes))


def test_nodes_are_added_moved_and_taken_out(story: Story):
    """With all below them."""
    wanted = story.now
    nodes = wanted["hierarchy"]
    nodes["task-3-1"] = task("New", "phase-3", "src/n.py")
    nodes["task-3-1"]["children"] = ["task-3-1-1"]
    nodes["task-3-1-1"] = node("subtask", "Below", "task-3-1")
    nodes["phase-3"] = node("phase", "Third", "spec-root")
    nodes["phase-3"]["children"] = ["task-1-1", "task-3-1"]
    nodes["spec-root"]["children"] = ["phase-3", "phase-2", "phase-1"]
    nodes["phase-1"]["children"] = ["task-1-2", "verify-1-1"]
    nodes["task-1-1"]["parent"] = "phase-3"
    nodes["phase-2"]["children"] = ["task-2-2"]
    link(nodes, "task-3-1", "task-2-2")
    del nodes["task-2-1"], nodes["verify-2-1"]
    before = story.now
    order = Tree(wanted).reachable
    wanted["hierarchy"] = {name: nodes[name] for name in order}
    story.becomes(copy.deepcopy(wanted))
    # What was taken out comes back, and keeps its ids.
    story.becomes(before)


def test_a_whole_spec_is_completed_in_the_order_of_its_dependencies(story: Story):
    wanted = story.now
    link(wanted["hierarchy"], "task-1-2", "task-1-1")
    for one in wanted["hierarchy"].values():
        one["status"] = "completed"
    story.becomes(wanted)
    for one in (again := story.now)["hierarchy"].values():
        one["status"] = "pending"
    story.becomes(again)


def test_a_blocker_comes_and_goes_with_the_document(story: Story):
    """Of a task and of a phase."""
    for name in ("task-1-1", "phase-2"):
        at = f"hierarchy/{name}"
        story.apply(
            story.wants({f"{at}/status": "blocked", f"{at}/metadata/blocker_type": "resource"})
        )
        node_now = story.now["hierarchy"][name]
        assert (node_now["status"], node_now["metadata"]["blocker_type"]) == ("blocked", "resource")
        told = story.apply(story.wants({f"{at}/status": "pending"}))
        assert [one.field for one in told.changes] == ["status"]
        assert story.now["hierarchy"][name]["status"] == "pending"


def test_an_entry_that_somebody_added_is_written_down(story: Story):
    """Once."""
    wanted = story.now
    wanted["journal"].append(
        {"entry_type": "decision", "title": "T", "content": "C", "task_id": "task-1-1"}
    )
    assert len(story.apply(wanted).changes) == 1
    entry = story.now["journal"][-1]
    assert (entry["entry_type"], entry["title"], entry["task_id"]) == ("decision", "T", "task-1-1")


def test_what_waits_is_not_completed_by_a_document(story: Story, ada: Agent):
    """It is told, and all else is applied; or nothing, if the whole was asked for."""
    wanted = story.wants(
        {"hierarchy/task-2-1/status": "completed", "hierarchy/task-2-1/title": "Another"}
    )
    size = ada.ledger_size
    with pytest.raises(NotReady):
        story.apply(wanted, whole=True)
    assert ada.ledger_size == size
    told = story.apply(wanted)
    assert [(one.node, one.field, one.code) for one in told.refused] == [
        ("task-2-1", "status", "not_ready")
    ]
    assert "phase" in told.refused[0].reason.lower()
    found = story.now["hierarchy"]["task-2-1"]
    assert (found["title"], found["status"]) == ("Another", "pending")


def test_what_somebody_holds_is_left_to_him(workshop: Workshop):
    """No document ends a claim of another."""
    ada, ben = workshop.agent("ada"), workshop.agent("ben")
    story = Story(lambda: ada.core)
    item = ada.core.items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    ben.core.claims.start(item.id)
    told = story.apply(story.wants({"hierarchy/task-1-1/status": "completed"}))
    assert [(one.field, one.code) for one in told.refused] == [("status", "already_claimed")]
    wanted = story.now
    del wanted["hierarchy"]["task-1-1"]
    wanted["hierarchy"]["phase-1"]["children"].remove("task-1-1")
    told = story.apply(wanted)
    assert [(one.node, one.code) for one in told.refused] == [("task-1-1", "already_claimed")]
    assert ben.core.items.get(item.id).status == "active"


def test_no_document_passes_a_gate(story: Story, ada: Agent):
    """A task with a check is not completed by a word in a file."""
    item = ada.core.items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    ada.core.items.edit(item.id, Edit(checks=(("pytest",),)))
    told = story.apply(story.wants({"hierarchy/task-1-1/status": "completed"}))
    assert [(one.field, one.code) for one in told.refused] == [("status", "gate_closed")]


def test_nobody_loosens_his_own_work_by_a_document(story: Story, ada: Agent):
    """A sentence of acceptance stays, though the file has it no more."""
    item = ada.core.items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    ada.core.claims.start(item.id)
    told = story.apply(story.wants({"hierarchy/task-1-1/metadata/acceptance_criteria": ["Less"]}))
    assert [(one.field, one.code) for one in told.refused] == [("acceptance_criteria", "forbidden")]


def test_what_was_only_tried_leaves_nothing(story: Story, ada: Agent):
    """And tells what it would do."""
    size = ada.ledger_size
    told = story.apply(story.wants({"hierarchy/task-1-1/title": "Another"}), dry_run=True)
    assert [(one.node, one.before, one.after) for one in told.changes] == [
        ("task-1-1", "Build part 1.1", "Another")
    ]
    assert ada.ledger_size == size


def test_what_waits_for_another_spec_names_it_as_people_do(story: Story, ada: Agent, made: Any):
    """The whole of it by its id, a node of it by both; a document takes either away."""
    other = "other-2026-01-02-001"
    whole, node = made(1, 1, other), ada.core.items.find(f"{other}/task-1-1", "node")
    here = ada.core.items.find(f"{SPEC}/task-1-1", "node")
    assert node is not None
    assert here is not None
    ada.core.items.edit(here.id, Edit(add_needs=(whole, node.id)))
    path = "hierarchy/task-1-1/dependencies/blocked_by"
    for left in ([other, f"{other}/task-1-1"], [other], []):
        story.becomes(story.wants({path: left}))


def test_a_spec_whose_id_is_that_of_a_node_is_named_by_its_item(
    story: Story, ada: Agent, made: Any
):
    """Or a document would say that something else is waited for."""
    whole, here = made(1, 1, "task-1-2"), ada.core.items.find(f"{SPEC}/task-1-1", "node")
    assert here is not None
    ada.core.items.edit(here.id, Edit(add_needs=(whole,)))
    node = story.now["hierarchy"]["task-1-1"]
    assert node["dependencies"]["blocked_by"] == [whole]


def test_a_document_that_is_none_is_refused_whole(story: Story, ada: Agent):
    """So is one of another spec."""
    size = ada.ledger_size
    with pytest.raises(MalformedDocument):
        story.apply(story.wants({"hierarchy/task-1-1/children": ["gone"]}))
    with pytest.raises(InvalidInput, match="not of"):
        story.apply(story.wants({"spec_id": "other-2026-01-02-001"}))
    assert ada.ledger_size == size


def test_work_outside_of_the_spec_stays_what_it_waits_for(story: Story, ada: Agent):
    """It is named by its own id."""
    other = ada.core.plans.create(Draft(kind="task", title="Elsewhere")).root.id
    item = ada.core.items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    ada.core.items.edit(item.id, Edit(add_needs=(other,)))
    wanted = story.wants({"hierarchy/task-1-1/title": "Another"})
    assert other in wanted["hierarchy"]["task-1-1"]["dependencies"]["blocked_by"]
    story.becomes(wanted)
    wanted = story.wants({"hierarchy/task-1-1/dependencies/blocked_by": []})
    story.becomes(wanted)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    moves=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=4),
    gone=st.lists(st.integers(0, 20), max_size=2),
)
def test_any_wanted_tree_is_reached_or_told_of(story: Story, moves: Any, gone: Any):
    """Afterwards nothing differs but what was refused."""
    wanted = story.now
    nodes = wanted["hierarchy"]
    tasks = [name for name, one in nodes.items() if one["type"] != "spec"]
    for one, other in moves:
        name, parent = tasks[one % len(tasks)], list(nodes)[other % len(nodes)]
        if parent in Tree(wanted).below(name):
            continue
        nodes[nodes[name]["parent"]]["children"].remove(name)
        nodes[parent]["children"].append(name)
        nodes[name]["parent"] = parent
    for one in gone:
        name = tasks[one % len(tasks)]
        if name in nodes and not nodes[name]["children"]:
            nodes[nodes[name]["parent"]]["children"].remove(name)
            del nodes[name]
            for left in nodes.values():
                for kind in left["dependencies"].values():
                    if name in kind:
                        kind.remove(name)
    try:
        told = story.apply(wanted)
    except MalformedDocument:
        return
    again = story.apply(wanted)
    assert {(one.node, one.field) for one in again.changes} <= {
        (one.node, one.field) for one in told.refused
    }


def test_what_waits_for_each_other_has_an_order_all_the_same():
    """Such a document is refused elsewhere."""
    made = document(1, 2)
    link(made["hierarchy"], "task-1-1", "task-1-2")
    link(made["hierarchy"], "task-1-2", "task-1-1")
    assert sorted(finishing_order(Tree(made))) == sorted(made["hierarchy"])

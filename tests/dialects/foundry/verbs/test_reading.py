"""Nodes and documents, read from what the ledger has."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note, Report
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.nodes.queries import (
    Nodes,
    all_nodes,
    get_spec,
    node_of,
    nodes_of,
)
from counterpoint.dialects.foundry.nodes.rules.progress import document_of
from counterpoint.kernel.errors import NotFound

SPEC = "export-2026-01-02-001"


class Looking:
    """Verbs that a test looks with."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def document(self, spec: str) -> dict[str, Any]:
        """Return the document of a spec."""
        with self._context.reading() as view:
            known = Nodes(view, get_spec(view, spec))
            return document_of(known.spec, all_nodes(known))

    def singly(self, spec: str) -> dict[str, Any]:
        """Return the nodes of a spec, each read by itself."""
        with self._context.reading() as view:
            known = Nodes(view, get_spec(view, spec))
            items = known.tree()[0]
            found = [node_of(Nodes(view, known.root), item) for item in items]
            assert found == nodes_of(known, items)
            return document_of(known.spec, found)

    def item(self, spec: str, node: str) -> str:
        """Return the id of the item of a node."""
        with self._context.reading() as view:
            return Nodes(view, get_spec(view, spec)).get(node).id


@pytest.fixture
def look(ada: Agent) -> Looking:
    """Answer verbs to look with."""
    return ada.core.use(Looking)


def test_a_spec_is_read_as_its_document(root: str, look: Looking) -> None:
    """Ids of foundry, places, counts, dependencies both ways, metadata from what the core keeps."""
    document = look.document(SPEC)
    assert document["spec_id"] == SPEC
    assert (document["status"], document["progress_percentage"]) == ("pending", 0)
    assert document["current_phase"] == "phase-1"
    assert document["metadata"] == {"mission": "Let people take their data with them"}
    nodes = document["hierarchy"]
    assert list(nodes) == [
        "spec-root",
        *("phase-1", "task-1-1", "task-1-2"),
        *("phase-2", "task-2-1", "task-2-2"),
    ]
    assert nodes["spec-root"]["children"] == ["phase-1", "phase-2"]
    assert (nodes["spec-root"]["parent"], nodes["spec-root"]["total_tasks"]) == (None, 4)
    assert nodes["phase-1"]["dependencies"]["blocks"] == ["phase-2"]
    assert nodes["phase-2"]["dependencies"]["blocked_by"] == ["phase-1"]
    assert nodes["task-1-2"] == {
        "type": "task",
        "title": "Write part 2 of 1",
        "status": "pending",
        "parent": "phase-1",
        "children": [],
        "total_tasks": 1,
        "completed_tasks": 0,
        "metadata": {
            "description": "Part 2",
            "acceptance_criteria": ["part 2 is there"],
            "file_path": "src/task-1-2.py",
            "task_category": "implementation",
        },
        "dependencies": {"blocks": [], "blocked_by": [], "depends": []},
    }


def test_what_is_read_singly_is_what_is_read_at_once(root: str, ada: Agent, look: Looking) -> None:
    """Counts, ids and states too, with work of other dialects in it and some of it done, blocked and cancelled."""
    task = look.item(SPEC, "task-1-1")
    ada.core.plans.create(Draft(kind="task", title="A part of it"), parent=task)
    ada.core.plans.create(Draft(kind="task", title="Another"), parent=look.item(SPEC, "phase-2"))
    for node in ("task-1-2",):
        started = ada.core.claims.start(look.item(SPEC, node))
        ada.core.tasks.finish(
            started.item.id, started.claim.token, Report(outcome="done", summary="Written")
        )
    ada.core.items.edit(look.item(SPEC, "task-2-1"), Edit(status="cancelled", reason="not needed"))
    blocked = look.item(SPEC, "task-2-2")
    ada.core.journal.append(Note(kind="blocker", body="The service is down", item=blocked))
    whole = look.document(SPEC)
    assert look.singly(SPEC) == whole
    nodes = whole["hierarchy"]
    assert "task-2-1" not in nodes
    assert (nodes["spec-root"]["total_tasks"], nodes["spec-root"]["completed_tasks"]) == (4, 1)
    assert (nodes["phase-1"]["total_tasks"], nodes["phase-1"]["status"]) == (2, "in_progress")
    (part,) = nodes["task-1-1"]["children"]
    assert (nodes[part]["type"], nodes[part]["parent"]) == ("subtask", "task-1-1")
    assert nodes["task-2-2"]["status"] == whole["status"] == "blocked"
    assert nodes["task-2-2"]["metadata"]["blocker_description"] == "The service is down"


def test_a_plan_of_another_dialect_is_a_spec(ada: Agent, look: Looking) -> None:
    """It is called by the ids of its items."""
    tree = Draft(kind="plan", title="Plan", children=(Draft(kind="task", title="A task"),))
    made = ada.core.plans.create(tree)
    document = look.document(made.root.id)
    assert document["spec_id"] == made.root.id
    assert list(document["hierarchy"]) == ["spec-root", made.items[1].id]


def test_what_is_no_spec_and_no_node_is_not_found(root: str, look: Looking) -> None:
    with pytest.raises(NotFound) as refusal:
        look.document("nothing-2026-01-02-001")
    assert refusal.value.facts["error_code"] == "SPEC_NOT_FOUND"
    for name in ("task-9-9", look.item(SPEC, "task-1-1") + "0"):
        with pytest.raises(NotFound) as refusal:
            look.item(SPEC, name)
        assert refusal.value.facts["error_code"] == "TASK_NOT_FOUND"

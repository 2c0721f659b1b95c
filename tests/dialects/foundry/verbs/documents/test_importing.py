"""Documents that become specs, and are documents again."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import Agent
from counterpoint.core.model.work import Label
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.documents.operations import Importing
from counterpoint.dialects.foundry.nodes.queries import get_spec
from counterpoint.dialects.foundry.nodes.rules.tree import rolled_up
from counterpoint.dialects.foundry.specs.operations import whole
from counterpoint.dialects.foundry.specs.rules.editing import fixed
from counterpoint.kernel.errors import Conflict, MalformedDocument
from fakes.spec_documents import NOW, document, edited, node

COUNT = count()


class Read:
    """Reads a whole spec."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def document(self, spec: str) -> dict[str, Any]:
        with self._context.reading() as view:
            return whole(view, get_spec(view, spec))

    def take(self, made: dict[str, Any]) -> None:
        Importing(replace(self._context)).make(made)

    def is_archived(self, item: str) -> bool:
        with self._context.reading() as view:
            return view.exists(Label, item=item, name="archived")


@pytest.fixture
def read(ada: Agent) -> Read:
    """Answer what reads whole specs."""
    return ada.core.use(Read)


def test_a_document_comes_out_as_it_went_in(ada: Agent):
    """With counts, progress and order, and with what only the document knows."""
    made = document()
    nodes = made["hierarchy"]
    made["generated"] = "2025-12-27T12:00:00.000Z"
    made["x-team"] = {"a": [1.5, None]}
    made["metadata"]["x"] = None
    nodes["task-1-1"]["status"] = "completed"
    nodes["task-1-1"]["metadata"]["completed_at"] = "2025-12-28T00:00:00.000Z"
    nodes["task-1-1"]["metadata"]["type"] = "odd"
    nodes["task-1-1"]["x-note"] = "kept"
    nodes["task-2-1"]["metadata"]["file_path"] = "../../etc/passwd"
    nodes["task-2-1"]["dependencies"]["depends"] = ["task-1-2", "task-1-1"]
    nodes["task-1-2"]["type"] = "research"
    nodes["task-1-2"]["metadata"] = {"acceptance_criteria": "one", "nothing": None}
    nodes["task-2-2-1"] = node("subtask", "Below", "task-2-2")
    nodes["task-2-2"]["children"] = ["task-2-2-1"]
    made["journal"] = [
        {
            "timestamp": "2025-12-28T00:00:00.000Z",
            "entry_type": "decision",
            "title": "T",
            "content": "C",
            "author": "eve",
            "metadata": {"a": 1},
            "task_id": "task-1-1",
        }
    ]
    wanted = rolled_up(made)
    ada.core.use(Importing).make(copy.deepcopy(made))
    found = ada.core.use(Read).document(made["spec_id"])
    found["last_updated"] = wanted["last_updated"]
    assert found == wanted


def test_what_was_blocked_is_blocked_and_what_was_begun_waits(ada: Agent):
    """Whoever had begun it is not here."""
    made = edited(
        {
            "hierarchy/task-1-1/status": "in_progress",
            "hierarchy/task-1-2/status": "blocked",
            "hierarchy/task-1-2/metadata/blocker_description": "no key",
            "hierarchy/task-1-2/metadata/blocker_type": "resource",
            "hierarchy/task-1-2/metadata/blocker_ticket": "T-1",
        }
    )
    told = ada.core.use(Importing).make(made)
    nodes = ada.core.use(Read).document(told.spec)["hierarchy"]
    assert nodes["task-1-1"]["status"] == "pending"
    assert "task-1-1" in told.remarks[0]
    assert nodes["task-1-2"]["status"] == "blocked"
    assert nodes["task-1-2"]["metadata"] | made["hierarchy"]["task-1-2"]["metadata"] == {
        **nodes["task-1-2"]["metadata"]
    }


@pytest.mark.parametrize("folder", ["pending", "active", "completed", "archived"])
@pytest.mark.parametrize("is_done", [True, False])
def test_the_folder_says_how_the_whole_stands(ada: Agent, folder: Any, is_done: bool):
    """Whatever its tasks say; these stay as they are."""
    made = document()
    for name, one in made["hierarchy"].items():
        one["status"] = "completed" if is_done and name != "spec-root" else "pending"
    told = ada.core.use(Importing).make(made, folder)
    root = ada.core.items.get(told.root)
    categories = {"pending": "open", "active": "active", "completed": "done"}
    assert root.category == categories.get(folder, "done" if is_done else "open")
    assert ada.core.use(Read).is_archived(root.id) is (folder == "archived")
    tally = ada.core.use(Read).document(told.spec)["hierarchy"]["spec-root"]
    assert tally["completed_tasks"] == (6 if is_done else 0)


PARTS = st.lists(
    st.tuples(
        st.integers(0, 100),
        st.sampled_from(["phase", "group", "task", "subtask", "verify"]),
        st.sampled_from(["pending", "completed"]),
        st.dictionaries(
            st.sampled_from(["description", "file_path", "acceptance_criteria", "x", "kept"]),
            st.sampled_from(["a", "", None, 1.5, ["b"], [""], {"c": [True]}]),
            max_size=3,
        ),
        st.lists(st.integers(0, 100), max_size=2),
    ),
    max_size=10,
)
"""Of each node: below which it is, what it is and how it stands, its metadata and what it depends on, by numbers."""


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=PARTS)
def test_any_tree_of_nodes_is_the_same_again(read: Read, parts: list[Any]):
    """Up to what is derived."""
    made = document(0, 0)
    made["spec_id"] = f"any-{next(COUNT)}"
    nodes = made["hierarchy"]
    for place, (above, kind, status, metadata, needs) in enumerate(parts):
        names, name = list(nodes), f"n-{place}"
        parent = names[above % len(names)]
        nodes[name] = node(kind, f"N {place}", parent, status=status, metadata=dict(metadata))
        found = dict.fromkeys(names[need % len(names)] for need in needs)
        nodes[name]["dependencies"]["depends"] = list(found)
        nodes[parent]["children"].append(name)
    read.take(made)
    found = read.document(made["spec_id"])
    wanted = rolled_up(fixed(made, NOW)[0])
    for made_of in (found, wanted):
        made_of["metadata"].pop("completed_at", None)
        for one in made_of["hierarchy"].values():
            one["metadata"].pop("completed_at", None)
            for derived in ("status", "total_tasks", "completed_tasks"):
                if one["children"] or one["type"] in {"group", "phase", "spec"}:
                    one.pop(derived)
    assert found["hierarchy"] == wanted["hierarchy"]
    assert found["metadata"] == wanted["metadata"]


def test_a_large_document_comes_in_made_of(ada: Agent):
    made = document(3, 60)
    ada.core.use(Importing).make(copy.deepcopy(made))
    found = ada.core.use(Read).document(made["spec_id"])
    assert found["hierarchy"] == rolled_up(made)["hierarchy"]


def test_a_spec_comes_in_once(ada: Agent):
    ada.core.use(Importing).make(document())
    size = ada.ledger_size
    with pytest.raises(Conflict) as refused:
        ada.core.use(Importing).make(document())
    assert refused.value.facts["error_code"] == "DUPLICATE_ENTRY"
    assert ada.ledger_size == size


def test_what_is_looked_at_is_not_made(ada: Agent):
    """And is refused as it would be."""
    size = ada.ledger_size
    assert ada.core.use(Importing).look(document()).nodes == 9
    with pytest.raises(MalformedDocument):
        ada.core.use(Importing).look(edited({"hierarchy/task-1-1/metadata": 3}))
    assert ada.ledger_size == size


def test_a_refused_document_leaves_nothing(ada: Agent):
    made = document(3, 60)
    made["hierarchy"]["task-3-1"]["metadata"]["acceptance_criteria"] = ["fine"]
    made["hierarchy"]["phase-3"]["dependencies"]["blocked_by"].append("task-3-1")
    size = ada.ledger_size
    with pytest.raises(MalformedDocument, match="wait for each other"):
        ada.core.use(Importing).make(made)
    assert ada.ledger_size == size
    assert json.dumps(made)

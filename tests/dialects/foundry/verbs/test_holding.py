"""What others hold stays in its place, in its words, and free to be finished."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.coordinator import Core
from counterpoint.dialects.foundry.documents.operations import Applying
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.dialects.foundry.specs.phases import Phases
from counterpoint.dialects.foundry.tasks.editing import Editing, Linking, NodeFilter, Shaping
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.kernel.errors import AlreadyClaimed
from fakes.spec_documents import node, put

SPEC = "export-2026-01-02-001"
HELD = "task-1-1"
Act = Callable[[Core], object]


def _document(*, then: Callable[[dict[str, Any]], object] | None = None, **changes: Any) -> Act:
    """Answer what applies the document with values set, as an edit of its file does; all of it or nothing."""

    def act(core: Core) -> object:
        wanted = core.use(Specs).document(SPEC)
        for path, value in changes.items():
            put(wanted["hierarchy"], path.replace("__", "/").replace("_", "-"), value)
        if then is not None:
            then(wanted["hierarchy"])
        return core.use(Applying).apply(SPEC, wanted, whole=True)

    return act


def _moves(nodes: dict[str, Any]) -> None:
    nodes["phase-1"]["children"].remove(HELD)
    nodes["phase-2"]["children"].append(HELD)
    nodes[HELD]["parent"] = "phase-2"


def _adds(nodes: dict[str, Any]) -> None:
    nodes[HELD]["children"] = ["task-1-1-1"]
    nodes["task-1-1-1"] = node("subtask", "Part", HELD)


def _takes_out(nodes: dict[str, Any]) -> None:
    nodes["phase-1"]["children"].remove(HELD)
    del nodes[HELD]


def _puts_behind(nodes: dict[str, Any]) -> None:
    nodes[HELD]["dependencies"]["blocked_by"].append("task-1-2")
    nodes["task-1-2"]["dependencies"]["blocks"].append(HELD)


ACTS: dict[str, Act] = {
    "moved": lambda core: core.use(Shaping).move(SPEC, HELD, "phase-2"),
    "placed": lambda core: core.use(Shaping).move(SPEC, HELD, position=2),
    "removed": lambda core: core.use(Shaping).remove(SPEC, HELD),
    "its phase removed": lambda core: core.use(Phases).remove(SPEC, "phase-1", force=True),
    "made to wait": lambda core: core.use(Linking).add(SPEC, "task-1-2", HELD, "blocks"),
    "made to come later": lambda core: core.use(Linking).add(SPEC, HELD, "task-1-2", "depends"),
    "its phase put behind": lambda core: core.use(Phases).move(SPEC, "phase-1", 2),
    "retitled": lambda core: core.use(Editing).edit(SPEC, HELD, {"title": "Another"}),
    "one of many": lambda core: core.use(Editing).edit_many(
        SPEC, NodeFilter(pattern="task-1-.*"), {"description": "x"}
    ),
    "another moved below it": lambda core: core.use(Shaping).move(SPEC, "task-1-2", HELD),
    "moved by a document": _document(then=_moves),
    "taken out by a document": _document(then=_takes_out),
    "made to wait by a document": _document(then=_puts_behind),
    "made to come later by a document": _document(task_1_1__dependencies__depends=["task-1-2"]),
    "retitled by a document": _document(task_1_1__title="Another"),
    "given a value by a document": _document(task_1_1__metadata__x=1),
    "given a part by a document": _document(then=_adds),
}


@pytest.mark.parametrize("act", ACTS)
def test_what_another_holds_is_left_to_him(
    workshop: Workshop, ada: Agent, root: str, act: str
) -> None:
    """Nobody else changes that; who holds it does."""
    assert root
    ada.core.use(Moving).start(SPEC, HELD)
    ben = workshop.agent("ben")
    size = ada.ledger_size
    with pytest.raises(AlreadyClaimed):
        ACTS[act](ben.core)
    assert ada.ledger_size == size
    ACTS[act](ada.core)


@pytest.mark.parametrize("act", ACTS)
def test_people_change_what_an_agent_holds(
    workshop: Workshop, ada: Agent, root: str, act: str
) -> None:
    """They are asked nothing."""
    assert root
    ada.core.use(Moving).start(SPEC, HELD)
    ACTS[act](workshop.app.person())


CALLS: dict[str, dict[str, Any]] = {
    "authoring spec-find-replace": {"find": "part 1 of 1", "replace": "all of it"},
    "authoring spec-rollback": {"version": "2026-01-02T03:04:05Z"},
    "task add-requirement": {"task_id": HELD, "requirement_type": "technical", "text": "Fast"},
    "task add": {"parent": HELD, "title": "Part"},
    "task add-dependency": {
        "task_id": HELD,
        "target_id": "task-1-2",
        "dependency_type": "depends",
    },
    "task remove-dependency": {
        "task_id": HELD,
        "target_id": "task-2-1",
        "dependency_type": "depends",
    },
}


@pytest.mark.parametrize("call", CALLS)
def test_no_call_rewords_what_another_holds(
    workshop: Workshop, foundry: Agent, root: str, call: str
) -> None:
    """Nor gives it parts that it would wait for; who holds it does."""
    assert root
    edge = {"target_id": "task-2-1", "dependency_type": "depends"}
    foundry.does("task", action="add-dependency", spec_id=SPEC, task_id=HELD, **edge)
    workshop.clock.pass_by(minutes=1)
    foundry.does("task", action="start", spec_id=SPEC, task_id=HELD)
    foundry.does("task", action="update-metadata", spec_id=SPEC, task_id=HELD, description="New")
    tool, action = call.split()
    given = {"action": action, "spec_id": SPEC, **CALLS[call]}
    refused = workshop.agent("ben", surface="foundry").is_refused(tool, **given)
    assert refused["error"].startswith(f"{HELD} is held by fay")
    foundry.does(tool, **given)


def test_what_holds_nobody_up_is_open_to_all(workshop: Workshop, ada: Agent, root: str) -> None:
    """Beside what somebody holds, around it, and behind it."""
    assert root
    ada.core.use(Moving).start(SPEC, HELD)
    ben = workshop.agent("ben").core
    ben.use(Linking).add(SPEC, "task-1-2", HELD, "depends")
    ben.use(Linking).add(SPEC, HELD, "task-2-1", "blocks")
    ben.use(Editing).edit(SPEC, "task-1-2", {"title": "Another"})
    ben.use(Editing).edit(SPEC, "phase-1", {"owner": "ben"})
    _document(task_1_2__title="One more", phase_1__metadata__x=1)(ben)
    _document(phase_1__children=["task-1-2", HELD])(ben)
    children = ben.use(Specs).document(SPEC)["hierarchy"]["phase-1"]["children"]
    assert children == ["task-1-2", HELD]


def test_what_others_hold_stays_in_its_order(workshop: Workshop, ada: Agent, root: str) -> None:
    """All else may be put anywhere between."""
    assert root
    for name in (HELD, "task-1-2"):
        ada.core.use(Moving).start(SPEC, name)
    ben = workshop.agent("ben").core
    third = ben.use(Shaping).add(SPEC, _draft()).id
    with pytest.raises(AlreadyClaimed, match=r"demo-4 is held by ada.*demo-5 is held"):
        _document(phase_1__children=["task-1-2", HELD, third])(ben)
    _document(phase_1__children=[HELD, third, "task-1-2"])(ben)
    _document(phase_1__children=["task-1-2", HELD, third])(ada.core)


def _draft() -> NodeDraft:
    return NodeDraft(parent="phase-1", title="Third", type="task")

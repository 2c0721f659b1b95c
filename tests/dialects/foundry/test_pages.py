"""Whole documents, read in pages of one version."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from builders import Agent
from counterpoint.core.model.filters import Edit

SPEC = "export-2026-01-02-001"
OTHER = "other-2026-01-02-001"


def _does(agent: Agent, call: str, **given: Any) -> None:
    tool, action = call.split()
    agent.does(tool, action=action, **{"spec_id": SPEC, **given})


def _pages(agent: Agent) -> Iterator[str]:
    """Answer the text of the document, page after page."""
    cursor: dict[str, str] = {}
    while True:
        answer = agent.does("spec", action="get", spec_id=SPEC, **cursor)
        assert len(orjson.dumps(answer)) <= 10_000
        yield answer["data"]["spec"]
        pagination = answer["meta"]["pagination"]
        assert pagination["has_more"] == bool(pagination["cursor"])
        if not pagination["has_more"]:
            return
        cursor = {"cursor": pagination["cursor"]}


def test_a_whole_document_is_read_in_pages(made: Callable[..., str], foundry: Agent) -> None:
    """Their texts joined are the document as the first page showed it, whatever is written meanwhile."""
    made(phases=5, tasks=12)
    text = "".join(_pages(foundry))
    document = json.loads(text)
    assert document["spec_id"] == SPEC
    assert len(document["hierarchy"]) == 66
    joined = ""
    for page in _pages(foundry):
        joined += page
        _does(foundry, "authoring constraint-add", text=f"Not {len(joined)} bytes")
        _does(foundry, "journal add", title="Meanwhile", content="x")
    assert joined == text


def test_a_document_with_edges_to_other_specs_is_read_in_pages_too(
    made: Callable[..., str], foundry: Agent
) -> None:
    """Whichever way they go, whatever becomes of them meanwhile, and of nodes that have gone to another spec."""
    made(phases=5, tasks=12)
    made(2, 3, OTHER)

    def item(spec: str, node: str) -> str:
        found = foundry.core.items.find(f"{spec}/{node}", "node")
        assert found is not None
        return found.id

    def edit(spec: str, node: str, **fields: Any) -> None:
        foundry.core.items.edit(item(spec, node), Edit(**fields))

    for spec, node, to in ((SPEC, "task-1-2", "task-5-1"), (OTHER, "task-2-1", "task-1-2")):
        edge = {"task_id": node, "target_id": to, "dependency_type": "depends"}
        _does(foundry, "task add-dependency", spec_id=spec, **edge)
    edit(SPEC, "task-5-1", parent=item(OTHER, "phase-2"))
    edit(OTHER, "task-2-1", parent=item(SPEC, "phase-5"))
    edit(SPEC, "task-1-1", add_needs=(item(OTHER, "task-1-1"),))
    edit(OTHER, "task-2-2", add_needs=(item(SPEC, "task-1-2"),))
    text = "".join(_pages(foundry))
    nodes = json.loads(text)["hierarchy"]
    assert nodes["task-1-1"]["dependencies"]["blocked_by"] == [f"{OTHER}/task-1-1"]
    assert nodes["task-1-2"]["dependencies"]["blocks"] == [f"{OTHER}/task-2-2"]
    assert nodes[f"{OTHER}/task-2-1"]["dependencies"]["depends"] == [f"{OTHER}/task-1-2"]
    meanwhile = [
        (OTHER, "task-2-2", {"remove_needs": (item(SPEC, "task-1-2"),)}),
        (OTHER, "task-2-3", {"add_needs": (item(SPEC, "task-1-3"),)}),
        (SPEC, "task-1-1", {"remove_needs": (item(OTHER, "task-1-1"),)}),
        (SPEC, "task-1-1", {"title": "Another"}),
    ]
    joined = ""
    for page in _pages(foundry):
        joined += page
        while meanwhile:
            spec, node, fields = meanwhile.pop()
            edit(spec, node, **fields)
    assert joined == text


def test_a_document_of_which_a_text_was_taken_away_is_read_from_its_beginning(
    made: Callable[..., str], foundry: Agent
) -> None:
    """No page of it goes on: nobody has any more what the first ones showed."""
    made(phases=5, tasks=12)
    _does(foundry, "journal add", title="T", content="The name of somebody")
    cursor = foundry.does("spec", action="get", spec_id=SPEC)["meta"]["pagination"]["cursor"]
    foundry.app.person().erasing.of_words("The name of somebody", reason="private")
    call = {"action": "get", "spec_id": SPEC, "cursor": cursor}
    refusal = foundry.is_refused("spec", **call)["data"]
    assert refusal["error_code"] == "CONFLICT"
    assert "from its beginning" in refusal["remediation"]

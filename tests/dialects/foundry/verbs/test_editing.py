"""Whole documents rewritten."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.foundry.documents.operations import Editing
from counterpoint.dialects.foundry.models.specs import PhaseDraft, TaskDraft
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.dialects.foundry.specs.phases import Phases
from counterpoint.kernel.errors import NotFound, StaleVersion

SPEC = "export-2026-01-02-001"


@pytest.fixture
def editing(ada: Agent, root: str) -> Editing:
    """Answer the verbs that rewrite a spec of two phases."""
    assert root
    return ada.core.use(Editing)


def _document(agent: Agent) -> dict[str, Any]:
    return agent.core.use(Specs).document(SPEC)


def test_texts_are_replaced_wherever_they_are(editing: Editing, ada: Agent) -> None:
    """In titles and descriptions, or in one of these; a dry run tells of it and changes nothing."""
    before = _document(ada)
    tried = editing.replace(SPEC, "part", "piece", dry_run=True)
    assert _document(ada) == before
    assert editing.replace(SPEC, "part", "piece", scope="titles").as_json()["nodes_affected"] == 4
    assert tried.as_json()["nodes_affected"] == 4
    node = _document(ada)["hierarchy"]["task-1-2"]
    assert (node["title"], node["metadata"]["description"]) == ("Write piece 2 of 1", "Part 2")
    editing.replace(SPEC, "^part", "Piece", use_regex=True, case_sensitive=False)
    assert _document(ada)["hierarchy"]["task-1-2"]["metadata"]["description"] == "Piece 2"
    with pytest.raises(NotFound):
        editing.replace(SPEC, "nowhere", "x")


def test_what_is_broken_is_mended_once(editing: Editing, ada: Agent) -> None:
    """A second time there is nothing to do, and nothing is written."""
    verify = TaskDraft(title="Look", type="verify")
    ada.core.use(Phases).add(SPEC, PhaseDraft(title="More", tasks=(verify,)))
    _, tried = editing.fix(SPEC, dry_run=True)
    assert "verification_type" not in _document(ada)["hierarchy"]["verify-3-1"]["metadata"]
    made, done = editing.fix(SPEC)
    assert [one.id for one in done] == [one.id for one in tried]
    assert "metadata.fix_verification_type:verify-3-1" in [one.id for one in done]
    assert made["hierarchy"] == _document(ada)["hierarchy"]
    size = editing.position()
    assert editing.fix(SPEC)[1] == ()
    assert editing.position() == size


def test_the_hours_of_what_holds_others_are_added_up(editing: Editing, ada: Agent) -> None:
    """Only where something is said; a dry run says what would change."""
    for name, hours in (("task-1-1", 1.5), ("task-1-2", 2)):
        task = ada.core.items.find(f"{SPEC}/{name}", "node")
        assert task is not None
        ada.core.items.edit(task.id, Edit(attributes={"actual_hours": hours}))
    tried = editing.recalculate(SPEC, dry_run=True)
    assert "actual_hours" not in _document(ada)["metadata"]
    found = editing.recalculate(SPEC)
    assert found == tried
    assert found["spec_level"] == {"previous": None, "calculated": 3.5, "delta": 3.5}
    assert found["summary"] == {"total_phases": 2, "phases_changed": 1, "spec_changed": True}
    document = _document(ada)
    assert document["metadata"]["actual_hours"] == 3.5
    assert document["hierarchy"]["phase-1"]["metadata"] == {"actual_hours": 3.5}
    assert document["hierarchy"]["phase-2"]["metadata"] == {}
    again = editing.recalculate(SPEC)
    assert again["spec_level"] == {"previous": 3.5, "calculated": 3.5, "delta": 0.0}


def test_what_others_change_meanwhile_is_not_undone(editing: Editing, ada: Agent) -> None:
    """A document that was made of an older one is made anew; after some tries it is for the caller to repeat."""
    task = ada.core.items.find(f"{SPEC}/task-1-1", "node")
    assert task is not None
    tries: list[str] = []

    def titled(document: dict[str, Any]) -> tuple[dict[str, Any], int]:
        tries.append(document["title"])
        if len(tries) != 2:
            ada.core.items.edit(task.id, Edit(body=f"Changed {len(tries)}"))
        return {**document, "title": "Another"}, len(tries)

    assert editing.rewrite(SPEC, titled, "another title") == 2
    document = _document(ada)
    assert document["title"] == "Another"
    assert document["hierarchy"]["task-1-1"]["metadata"]["description"] == "Changed 1"
    editing.rewrite(SPEC, lambda found: ({**found, "title": "Export"}, 0), "back")
    with pytest.raises(StaleVersion):
        editing.rewrite(SPEC, titled, "another title")
    assert (_document(ada)["title"], len(tries)) == ("Export", 5)

"""Specs as they were, and brought back to that."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.filters import Edit
from counterpoint.dialects.foundry.documents.history import History
from counterpoint.dialects.foundry.documents.operations import Applying, Importing
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.kernel.errors import NotFound
from fakes.spec_documents import document, link, node, put, task

SPEC = "demo-2026-01-02-001"


def now(agent: Agent) -> dict[str, Any]:
    """Answer the document as it is."""
    return agent.core.use(Specs).document(SPEC)


def change(agent: Agent, changes: dict[str, Any]) -> None:
    """Change the spec by a document."""
    wanted = copy.deepcopy(now(agent))
    for path, value in changes.items():
        put(wanted, path, value)
    told = agent.core.use(Applying).apply(SPEC, wanted)
    assert told.changes
    assert not told.refused


@pytest.fixture
def spec(ada: Agent, workshop: Workshop) -> Agent:
    """Answer an agent with the whole document taken in, and some time later."""
    ada.core.use(Importing).make(document())
    workshop.clock.pass_by(minutes=5)
    return ada


def test_each_version_is_as_it_was(spec: Agent, workshop: Workshop):
    """By position, and by time."""
    versions: list[tuple[int, str, Any]] = []
    for number, changes in enumerate(
        [
            {"hierarchy/task-1-1/title": "One"},
            {"hierarchy/task-1-1/status": "completed"},
            {"hierarchy/task-1-1/metadata/acceptance_criteria": ["It works", "New"]},
            {"hierarchy/task-2-1/status": "blocked"},
            {"metadata/mission": "Another", "title": "Another"},
            {"hierarchy/task-1-2/dependencies/blocked_by": ["task-1-1"]},
            {
                "hierarchy/task-9": task("Ninth", "phase-1"),
                "hierarchy/phase-1/children": ["task-1-1", "task-1-2", "verify-1-1", "task-9"],
            },
        ]
    ):
        change(spec, changes)
        versions.append((spec.ledger_size - 1, workshop.clock.now(), now(spec)))
        workshop.clock.pass_by(minutes=1)
        assert number < spec.ledger_size
    verbs = spec.core.use(History)
    for place, at, then in versions:
        assert verbs.document(SPEC, str(place)) == then
        assert verbs.document(SPEC, at) == then
        assert verbs.document(SPEC, at[:19].replace("-", "").replace(":", "")) == then


def test_work_of_others_is_in_it_too(spec: Agent):
    """Whatever tool it was done with."""
    before = spec.ledger_size - 1
    item = spec.core.items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    spec.core.claims.start(item.id)
    then = now(spec)
    place = spec.ledger_size - 1
    spec.core.items.edit(item.id, Edit(title="Later"))
    verbs = spec.core.use(History)
    assert verbs.document(SPEC, str(place)) == then
    told = verbs.changes(SPEC)
    assert [one.position for one in told.changes[:2]] == [place + 1, place]
    assert told.changes[0].node == "task-1-1"
    assert "title" in told.changes[0].fields["task-1-1"]
    assert (told.changes[1].action, told.changes[1].agent) == ("task.started", "ada")
    assert told.changes[-1].position <= before


def test_a_large_spec_is_as_it_was_made(ada: Agent):
    """In slices, of which each is an entry."""
    ada.core.use(Importing).make(document(3, 50))
    then, place = now(ada), ada.ledger_size - 1
    change(ada, {"hierarchy/task-1-1/title": "One"})
    assert ada.core.use(History).document(SPEC, str(place)) == then
    shown = ada.core.audit.log(action="plan.created", limit=1)[0].sequence
    with pytest.raises(NotFound):
        ada.core.use(History).document(SPEC, str(shown - 1))


def test_the_history_comes_in_pages(spec: Agent):
    """Each begins where the last ended."""
    for number in range(5):
        change(spec, {"hierarchy/task-1-1/title": f"Title {number}"})
    verbs = spec.core.use(History)
    whole = verbs.changes(SPEC).changes
    pages, before = [], -1
    while True:
        page = verbs.changes(SPEC, before, 2)
        pages += page.changes
        before = page.following
        if before < 0:
            break
    assert tuple(pages) == whole


def test_what_differs_is_told(spec: Agent):
    """From the version before the last change, from any other, and from another spec."""
    first = spec.ledger_size - 1
    change(spec, {"hierarchy/task-1-1/title": "One"})
    change(spec, {"hierarchy/task-1-2/title": "Two"})
    verbs = spec.core.use(History)
    assert verbs.diff(SPEC)[1]["summary"]["total_changes"] <= 1
    place, told = verbs.diff(SPEC, str(first))
    assert place == str(first)
    assert [one["node_id"] for one in told["changes"]["modified"]] == ["task-1-1", "task-1-2"]
    other = {**document(), "spec_id": "other-2026-01-02-001"}
    spec.core.use(Importing).make(other)
    name, told = verbs.diff(SPEC, "other-2026-01-02-001")
    assert name == "other-2026-01-02-001"
    assert told["summary"]["modified_count"] == 3
    with pytest.raises(NotFound):
        verbs.diff(SPEC, "nothing")


def test_a_spec_is_rolled_back(spec: Agent):
    """What was taken out comes back, what was added goes, and it stands in the ledger as its own act."""
    place, then = spec.ledger_size - 1, now(spec)
    change(spec, {"hierarchy/task-1-1/status": "completed", "hierarchy/task-1-2/title": "Two"})
    wanted = copy.deepcopy(now(spec))
    del wanted["hierarchy"]["task-2-1"]
    wanted["hierarchy"]["phase-2"]["children"].remove("task-2-1")
    wanted["hierarchy"]["new"] = task("New", "phase-2")
    wanted["hierarchy"]["phase-2"]["children"].append("new")
    assert not spec.core.use(Applying).apply(SPEC, wanted).refused
    told, applied = spec.core.use(History).rollback(SPEC, str(place))
    assert (told, applied.refused) == (place, ())
    found = now(spec)
    for one in (found, then):
        one.pop("last_updated")
    assert found == then
    assert spec.last_entry.facts["rolled_back_to"] == place


def test_a_node_that_is_none_any_more_is_named_by_none(spec: Agent):
    """Neither by what waited for it nor by what it waited for; with it the edges come back."""
    put_back, wanted = spec.ledger_size - 1, copy.deepcopy(now(spec))
    nodes = wanted["hierarchy"]
    nodes["phase-3"] = node("phase", "Third", "spec-root", children=["new-1", "new-2"])
    nodes["spec-root"]["children"].append("phase-3")
    nodes["new-1"], nodes["new-2"] = task("One", "phase-3"), task("Two", "phase-3")
    link(nodes, "task-1-1", "phase-3")
    link(nodes, "new-1", "task-1-2")
    assert not spec.core.use(Applying).apply(SPEC, wanted).refused
    linked, place = now(spec), spec.ledger_size - 1
    spec.core.use(History).rollback(SPEC, str(put_back))
    edges = {
        name
        for one in now(spec)["hierarchy"].values()
        for some in one["dependencies"].values()
        for name in some
    }
    assert edges <= now(spec)["hierarchy"].keys()
    spec.core.use(History).rollback(SPEC, str(place))
    assert now(spec)["hierarchy"] == linked["hierarchy"]


def test_a_rollback_passes_nothing_that_others_hold(spec: Agent):
    """What it cannot do is told; what waits for other work goes on waiting."""
    place = spec.ledger_size - 1
    item = spec.core.items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    other = spec.core.items.find(f"{SPEC}/task-1-2", "node")
    assert other is not None
    spec.core.claims.start(item.id)
    spec.core.items.edit(item.id, Edit(acceptance=("It works", "And this")))
    _, applied = spec.core.use(History).rollback(SPEC, str(place))
    assert [(one.node, one.field) for one in applied.refused] == [
        ("task-1-1", "acceptance_criteria")
    ]


@pytest.mark.parametrize(
    ("version", "refusal"),
    [
        ("999999", NotFound),
        ("yesterday", NotFound),
        ("2025-02-30T00:00:00Z", NotFound),
        ("2020-01-01T00:00:00Z", NotFound),
        ("0", NotFound),
    ],
)
def test_a_version_that_there_is_not_is_refused(spec: Agent, version: str, refusal: Any):
    """In words that say which there are."""
    with pytest.raises(refusal):
        spec.core.use(History).document(SPEC, version)

"""Journals of specs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note, Report
from counterpoint.dialects.foundry.journal.operations import Journals
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.dialects.foundry.specs.phases import Phases
from counterpoint.kernel.errors import NotFound

SPEC = "export-2026-01-02-001"


@pytest.fixture
def journal(ada: Agent, root: str) -> Journals:
    """Answer the verbs for the journal of a spec."""
    assert root
    return ada.core.use(Journals)


def _item(agent: Agent, node: str) -> str:
    found = agent.core.items.find(f"{SPEC}/{node}", "node")
    assert found is not None
    return found.id


@pytest.mark.parametrize("kind", ["status_change", "deviation", "blocker", "decision", "note"])
def test_an_entry_is_read_back(journal: Journals, ada: Agent, kind: str) -> None:
    """About a task or about the spec; one that tells of a blocker blocks nothing."""
    added = journal.add(SPEC, kind, "Found", "It is slow", "task-1-1", {"seconds": 3})
    whole = journal.add(SPEC, kind, "All", "It is large")
    assert (added.entry_type, added.task, added.author) == (kind, "task-1-1", "ada")
    assert (added.title, added.content, added.metadata) == ("Found", "It is slow", {"seconds": 3})
    assert journal.list(SPEC) == [whole, added]
    assert whole.task == ""
    ada.core.claims.start(_item(ada, "task-1-1"))
    entries = ada.core.use(Specs).document(SPEC)["journal"]
    assert isinstance(entries, list)
    assert entries[0] == {
        "timestamp": added.timestamp,
        "entry_type": kind,
        "title": "Found",
        "content": "It is slow",
        "author": "ada",
        "metadata": {"seconds": 3},
        "task_id": "task-1-1",
    }
    assert "task_id" not in entries[1]


def test_an_entry_is_about_a_node_that_there_is(journal: Journals) -> None:
    """Nothing is written about any other."""
    with pytest.raises(NotFound):
        journal.add(SPEC, "note", "Found", "It", "task-9-9")
    with pytest.raises(NotFound):
        journal.list(SPEC, "task-9-9")
    assert journal.list(SPEC) == []


def test_entries_are_listed_newest_first_and_in_pages(
    journal: Journals, made: Callable[..., str]
) -> None:
    """By task and type too; another spec has a journal of its own."""
    made(spec="other-2026-01-02-001")
    journal.add("other-2026-01-02-001", "note", "Elsewhere", "Not here")
    for place in range(5):
        journal.add(
            SPEC, "note" if place % 2 else "decision", f"E{place}", "x", f"task-1-{place % 2 + 1}"
        )
    titles = [one.title for one in journal.list(SPEC)]
    assert titles == ["E4", "E3", "E2", "E1", "E0"]
    first = journal.list(SPEC, limit=2)
    assert [one.title for one in journal.list(SPEC, before=first[-1].number, limit=2)] == [
        "E2",
        "E1",
    ]
    assert [one.title for one in journal.list(SPEC, "task-1-2")] == ["E3", "E1"]
    assert [one.title for one in journal.list(SPEC, entry_type="decision", limit=2)] == ["E4", "E2"]


def test_what_other_dialects_wrote_is_in_the_journal(journal: Journals, ada: Agent) -> None:
    """With the type that fits; what they count and measure is not."""
    task = _item(ada, "task-1-1")
    kinds = ("decision", "finding", "learning", "milestone", "comment", "artifact", "blocker")
    for kind in kinds:
        ada.core.journal.append(Note(kind=kind, body=f"A {kind}", item=task))
    assert [(one.entry_type, one.content) for one in reversed(journal.list(SPEC))] == [
        ("decision", "A decision"),
        ("note", "A finding"),
        ("note", "A learning"),
        ("status_change", "A milestone"),
        ("note", "A comment"),
        ("blocker", "A blocker"),
    ]


def test_completed_nodes_without_an_entry_are_told(
    journal: Journals, ada: Agent, workshop: Workshop
) -> None:
    """An entry before the end does not tell of it; phases too; what was skipped has nothing to tell."""
    tasks = [_item(ada, name) for name in ("task-1-1", "task-1-2")]
    journal.add(SPEC, "note", "Begun", "It goes on", "task-1-1")
    workshop.clock.pass_by(minutes=1)
    for task in tasks:
        started = ada.core.claims.start(task)
        ada.core.tasks.finish(task, started.claim.token, Report(outcome="done", summary="Done"))
    ada.core.items.edit(_item(ada, "task-2-1"), Edit(status="skipped", reason="not needed"))
    found, spec = journal.unjournaled(SPEC)
    assert spec == SPEC
    assert [name for name, _ in found] == ["phase-1", "task-1-1", "task-1-2"]
    assert [
        name for name, _ in journal.unjournaled(SPEC, after=found[0][1].number, limit=1)[0]
    ] == ["task-1-1"]
    journal.add(SPEC, "note", "Done", "It is", "task-1-1")
    assert [name for name, _ in journal.unjournaled(SPEC)[0]] == ["phase-1", "task-1-2"]


def test_what_was_done_in_a_removed_phase_has_nothing_to_tell(ada: Agent) -> None:
    """And however many nodes are completed, each is looked at."""
    spec = "large-2026-01-02-001"
    phases = tuple(
        Draft(
            kind="phase",
            title=f"Phase {phase}",
            aliases=(("node", f"{spec}/phase-{phase}"),),
            children=tuple(Draft(kind="task", title=f"{n}", done=True) for n in range(110)),
        )
        for phase in (1, 2)
    )
    rest = Draft(kind="phase", title="Rest", children=(Draft(kind="task", title="Left"),))
    ada.core.plans.create(
        Draft(
            kind="spec",
            title="Large",
            lifecycle="declared",
            aliases=(("spec", spec),),
            children=(*phases, rest),
        )
    )
    journal = ada.core.use(Journals)
    assert len(journal.unjournaled(spec, limit=300)[0]) == 222
    ada.core.use(Phases).remove(spec, "phase-1")
    found = journal.unjournaled(spec, limit=300)[0]
    assert (len(found), found[0][0]) == (111, "phase-2")

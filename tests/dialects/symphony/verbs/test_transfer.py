"""Transfer an issue to another project: each step once, whatever comes between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit, Note
from counterpoint.dialects.symphony.nouns import IssueDraft, LearningDraft, PolicyEdit
from counterpoint.dialects.symphony.rules.contracts import Contract
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.learnings import Learnings
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.verbs.transfer import Transfer
from counterpoint.kernel.errors import (
    AlreadyClaimed,
    Conflict,
    GateClosed,
    IllegalMove,
    InvalidInput,
    NotFound,
    Unexpected,
)

PATTERN = "The hull of a ship must be dry before it is painted, or the paint falls off"


@pytest.fixture
def api(studio):
    """Give the system's core in another project of the database."""
    core = Core(replace(studio.ports, project="api"), studio.system.caller)
    core.projects.open("An interface")
    return core


@pytest.fixture
def issue(studio, ada):
    """Give an issue with a text, records and values; answer its id."""
    contract = Contract(
        phase="research", version=1, profile="researcher", instructions="", source="", digest="",
        artifact="docs/tickets/{identifier}/research.md",
    )  # fmt: skip
    studio.cabinet.contracts = {"research": contract, "party": contract}
    made = ada.use(Issues).open(
        IssueDraft(title="Hull", description="Dry", priority=1, labels=("ui",))
    )
    studio.tree.write("docs/tickets/DEMO-001/research.md", "see docs/tickets/DEMO-001/research.md")
    studio.tree.write("docs/tickets/DEMO-001/more/notes.md", "n")
    place = "docs/tickets/DEMO-001/research.md"
    kept = {"size": "small", "artifacts": {"research": {"path": place}}}
    ada.items.edit(made.id, Edit(attributes=kept))
    ada.journal.append(Note(kind="finding", item=made.id, body="a leak", details={"run": "r"}))
    ada.use(Learnings).keep(LearningDraft(item=made.id, pattern=PATTERN))
    return made.id


def test_an_issue_goes_with_all_that_was_written_for_it(studio, ada, api, issue):
    """Texts, labels, values, records; its former name means the new one; the old one says where."""
    moved = ada.use(Transfer).move("DEMO-001", "api", "it belongs there")
    assert (moved.item.id, moved.item.status, moved.item.priority) == ("api-1", "open", 1)
    assert moved.labels == ("moved-from:DEMO-001", "phase:research", "skip:research", "ui")
    assert moved.artifacts == (
        "docs/tickets/API-001/more/notes.md", "docs/tickets/API-001/research.md",
    )  # fmt: skip
    text = studio.tree.files["docs/tickets/API-001/research.md"]
    assert text == "see docs/tickets/API-001/research.md"
    there = api.use(Issues).details("demo-1")
    assert (there.item.id, there.attributes["size"]) == ("api-1", "small")
    assert there.names == {"identifier": "demo-1"}
    kept = api.items.attributes("api-1")
    assert kept["artifacts"] == {"research": {"path": "docs/tickets/API-001/research.md"}}
    (finding,) = api.use(Issues).records("api-1", "finding", 0, 10)
    assert "demo-r1" in finding.details
    (comment,) = api.use(Issues).records("api-1", "comment", 0, 10)
    assert comment.body == "Moved here from DEMO-001 of demo: it belongs there"
    here = ada.use(Issues).details(issue)
    assert (here.item.status, here.attributes["moved_to"]) == (
        "cancelled",
        {"project": "api", "item": "api-1"},
    )
    assert api.audit.rebuild().differences == ()
    assert api.audit.verify().faults == ()


@pytest.mark.parametrize("step", ["_copy", "_close_original"])
def test_a_move_that_was_interrupted_goes_on_from_there(studio, ada, api, issue, monkeypatch, step):
    """After each step: there is one issue there in the end, with one comment."""

    def broken(*_words):
        raise Unexpected

    with monkeypatch.context() as patched:
        patched.setattr(Transfer, step, broken)
        with pytest.raises(Unexpected):
            ada.use(Transfer).move(issue, "api", "why")
    assert ada.use(Issues).named(issue).status == "backlog"
    assert ada.use(Transfer).move(issue, "api", "why").item.id == "api-1"
    assert len(api.use(Issues).records("api-1", "comment", 0, 10)) == 1
    assert ada.use(Issues).named(issue).status == "cancelled"


def test_a_phase_that_the_other_project_lacks_gives_way_to_its_first(ada, api, issue):
    """Its own phases count, also for what may be skipped."""
    api.use(Policies).edit(PolicyEdit(phases=("plan", "ready")))
    moved = ada.use(Transfer).move(issue, "api", "why")
    assert moved.labels == ("moved-from:DEMO-001", "phase:plan", "ui")


def test_a_file_that_lies_there_already_is_not_written_over(studio, ada, api, issue):
    """It may have been worked on since."""
    studio.tree.write("docs/tickets/API-001/research.md", "mine")
    ada.use(Transfer).move(issue, "api", "why")
    assert studio.tree.files["docs/tickets/API-001/research.md"] == "mine"


def test_those_who_waited_are_let_go_and_told(ada, api, issue):
    ada.use(Issues).open(IssueDraft(title="Sail", needs=(issue,)))
    moved = ada.use(Transfer).move(issue, "api", "why")
    assert moved.warnings == ("demo-2 do not wait for it any more",)
    assert ada.use(Issues).details("demo-2").needs == ()
    (said,) = ada.use(Issues).records("demo-2", "comment", 0, 10)
    assert said.body.endswith("any more: it goes on as API-001 of api")


def test_moves_that_make_no_sense_are_refused(studio, ada, bob, api, issue, person):
    """The same project, one that is not there, closed work, no label, open parts, others' work."""
    studio.refuses(InvalidInput, lambda: ada.use(Transfer).move(issue, "demo", "why"))
    studio.refuses(NotFound, lambda: ada.use(Transfer).move(issue, "nope", "why"))
    person.items.edit(issue, Edit(status="open", remove_labels=("phase:research",)))
    studio.refuses(Conflict, lambda: ada.use(Transfer).move(issue, "api", "why"))
    person.items.edit(issue, Edit(add_labels=("multi-repo",)))
    bob.claims.start(issue)
    studio.refuses(AlreadyClaimed, lambda: ada.use(Transfer).move(issue, "api", "why"))
    part = bob.use(Issues).open_below(issue, IssueDraft(title="part"))
    studio.refuses(GateClosed, lambda: bob.use(Transfer).move(issue, "api", "why"))
    person.items.edit(part.id, Edit(status="cancelled"))
    bob.claims.start(issue)
    assert bob.use(Transfer).move(issue, "api", "why").item.id == "api-1"
    third = Core(replace(studio.ports, project="web"), studio.system.caller)
    third.projects.open("A web")
    fault = studio.refuses(IllegalMove, lambda: ada.use(Transfer).move(issue, "web", "why"))
    assert fault.facts["item"] == "api-1"
    person.items.edit("demo-2", Edit(status="open", add_labels=("multi-repo",)))
    person.items.edit("demo-2", Edit(status="cancelled"))
    studio.refuses(IllegalMove, lambda: ada.use(Transfer).move("demo-2", "api", "why"))

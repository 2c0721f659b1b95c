"""Moving an issue to another project through the tool."""

from __future__ import annotations

import pytest

from counterpoint.core.model.filters import Edit
from counterpoint.dialects.symphony.verbs.issues import Issues


@pytest.fixture
def api(workshop):
    """Give another project of the same database."""
    assert workshop.app.ports
    opened = workshop.project("api")
    assert opened.ports
    return opened


def test_a_planner_moves_an_issue_with_its_artifacts(workshop, seat, make, api):
    """A new identifier, todo, labels that tell; the old identifier still leads there."""
    issue = make(labels=["phase:grooming", "ui"])
    folder = workshop.root / "docs" / "tickets" / issue
    folder.mkdir(parents=True)
    (folder / "research.md").write_text(f"# Of docs/tickets/{issue}/research.md")
    worker = seat("will", "researcher", issue)
    worker.does("add_finding", category="gap", summary="Elsewhere")
    worker.core.claims.start("demo-1")
    worker.core.use(Issues).report("demo-1", "open")
    planner = seat("pat", "planner", issue)
    arguments = {"target_project_id": "api", "reason": "It belongs there"}
    moved = planner.does("move_issue", **arguments)
    assert moved["identifier"] == "API-001"
    assert (moved["status"], moved["project"], moved["movedFrom"]) == ("todo", "api", issue)
    assert moved["labels"] == ["moved-from:DEMO-001", "phase:grooming", "skip:research", "ui"]
    assert moved["artifacts"] == ["docs/tickets/API-001/research.md"]
    text = (workshop.root / moved["artifacts"][0]).read_text()
    assert text == "# Of docs/tickets/API-001/research.md"
    assert planner.does("move_issue", **arguments) == moved
    here = planner.does("get_issue")
    assert (here["status"], here["moved_to"]) == (
        "cancelled", {"project": "api", "identifier": "API-001"},
    )  # fmt: skip
    there = seat("peg", "planner", issue, app=api).does("get_issue")
    assert (there["identifier"], there["former_names"]) == ("API-001", ["DEMO-001"])
    assert [one["summary"] for one in there["findings"]] == ["Elsewhere"]
    assert planner.last_entry.action == "comment.recorded"


def test_moves_that_make_no_sense_are_refused(workshop, seat, make, api):
    """The same project, none, closed work, no label, open sub-tasks."""
    person = workshop.app.person()
    planner = seat("pat", "planner", make())

    def refused(target="api"):
        words = {"target_project_id": target, "reason": "why"}
        return planner.is_refused("move_issue", **words)["code"]

    assert refused("demo") == "VALIDATION_ERROR"
    assert refused("nope") == "NOT_FOUND"
    person.items.edit("demo-1", Edit(remove_labels=("phase:research",)))
    assert refused() == "CONFLICT"
    person.items.edit("demo-1", Edit(add_labels=("cross-project",)))
    planner.does("create_subtask", title="Part")
    assert refused() == "INVALID_STATE"
    person.items.edit("demo-2", Edit(status="cancelled"))
    person.items.edit("demo-1", Edit(status="cancelled"))
    assert refused() == "INVALID_STATE"
    assert planner.is_refused("move_issue", target_project_id="api")["code"] == "VALIDATION_ERROR"


def test_a_keyed_move_is_done_once(seat, make, api):
    """Its answer is kept."""
    planner = seat("pat", "planner", make())
    words = {"target_project_id": "api", "reason": "why", "idempotency_key": "k"}
    assert planner.does("move_issue", **words) == planner.does("move_issue", **words)

"""Moving an issue to another project through the tool."""

from __future__ import annotations

import pytest

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
    sizes = planner.ledger_size, api.person().overview.state().ledger_size
    assert planner.does("move_issue", **arguments) == moved
    assert (planner.ledger_size, api.person().overview.state().ledger_size) == sizes
    here = planner.does("get_issue")
    assert (here["status"], here["moved_to"]) == (
        "cancelled", {"project": "api", "identifier": "API-001"},
    )  # fmt: skip
    there = seat("peg", "planner", issue, app=api).does("get_issue")
    assert (there["identifier"], there["former_names"]) == ("API-001", ["DEMO-001"])
    assert [one["summary"] for one in there["findings"]] == ["Elsewhere"]
    assert planner.last_entry.action == "comment.recorded"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"target_project_id": "demo"}, "VALIDATION_ERROR"),
        ({"target_project_id": "nope"}, "NOT_FOUND"),
        ({"reason": ""}, "VALIDATION_ERROR"),
    ],
)
def test_moves_that_make_no_sense_are_refused(seat, make, api, more, code):
    """To the same or no project, without a reason; the rest is refused by the verb."""
    words = {"target_project_id": "api", "reason": "why"} | more
    assert seat("pat", "planner", make()).is_refused("move_issue", **words)["code"] == code


def test_a_keyed_move_is_done_once(seat, make, api):
    """Its answer is kept."""
    planner = seat("pat", "planner", make())
    words = {"target_project_id": "api", "reason": "why", "idempotency_key": "k"}
    assert planner.does("move_issue", **words) == planner.does("move_issue", **words)

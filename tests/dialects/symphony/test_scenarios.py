"""The stories that need a dispatcher: its steps are verbs of the core, taken here one by one.

The others are where their tools are: approved and rejected changes in `test_requests`, phases in
`test_phases`, scopes in `test_scope_of_connections`, sub-tasks in `test_issues`, moves in `test_moves`,
learnings in `test_records`, memory in `test_knowledge`, run events in `test_runs`; and from the first
phase to the approved change, with real processes, in `tests/e2e/test_deliveries.py`.
"""

from __future__ import annotations

import pytest

from counterpoint.core.model.filters import Edit, ReadyFilter, Report
from counterpoint.kernel.errors import ClaimLost

ISSUES = ReadyFilter(kinds=("issue",))


def test_an_intake_makes_issues_that_wait_in_the_first_phase(seat, workshop):
    """They are in the backlog, so nobody is given one before it is refined or opened."""
    intake = seat("ivy", "intake")
    for number in range(3):
        made = intake.does("create_issue", title=f"Requirement {number}")
        assert made["identifier"] == f"DEMO-00{number + 1}"
    listed = intake.does("list_issues", status="backlog")["issues"]
    assert [issue["labels"] for issue in listed] == [["phase:research"]] * 3
    assert workshop.agent("dispatcher").core.ready.offers(ISSUES, 5) == []


def test_the_work_of_an_agent_that_died_goes_to_the_next(workshop, seat, make):
    """When its lease has run out; what the dead one still had on its way is refused."""
    name = make()
    dead = seat("dan", "worker", name)
    dead.does("add_finding", category="bug", summary="It leaks")
    claim = dead.core.overview.facets("demo-1").claim
    assert seat("eve", "worker", name).does("get_issue_status")["status"] == "in_progress"
    workshop.clock.pass_by(minutes=31)
    next_one = workshop.agent("next")
    started, offer = next_one.core.claims.take_next(ISSUES)
    assert (started.item.id, started.taken_over_from) == ("demo-1", "dan")
    assert any("has run out" in why for why in offer.why)
    with pytest.raises(ClaimLost):
        dead.core.tasks.finish("demo-1", claim.token, Report(outcome="done", summary="late"))
    assert seat("fay", "worker", name).does("get_issue")["findings"][0]["summary"] == "It leaks"


def test_a_person_ends_what_a_judge_has_approved(workshop, seat, make):
    """No tool closes an issue; whoever merged the change does, and what waits for it is free."""
    name = make()
    waiting = make("Then this", depends_on=[name])
    seat("will", "worker", name).does("update_issue_status", status="review", reason="done")
    person = workshop.app.person()
    person.items.edit("demo-1", Edit(status="done", reason="merged"))
    assert seat("liz", "planner", waiting).does("get_issue", issue_id=name)["status"] == "done"
    offered = workshop.agent("dispatcher").core.ready.offers(ISSUES, 5)
    assert [offer.item.id for offer in offered] == ["demo-2"]

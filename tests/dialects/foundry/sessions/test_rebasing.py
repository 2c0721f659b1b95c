"""Runs whose specs were changed meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Agent
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Judgment
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.nodes.queries import get_spec
from counterpoint.dialects.foundry.runs.rows import shape_of
from counterpoint.dialects.foundry.runs.rules.results import structure_of
from counterpoint.dialects.foundry.runs.starting import Rebasing
from counterpoint.dialects.foundry.specs.operations import whole
from fakes.run_party import SPEC, Party, add_step, run_row, set_run


def paused(party: Party) -> str:
    """Begin a run and let it pause, so that others may change its spec."""
    session = party.start()
    party.does("pause")
    return session


def change(party: Party, action: str, **given: Any) -> dict[str, Any]:
    """Change the spec."""
    return party.fay.does("task", action=action, spec_id=SPEC, **given)["data"]


def add_phase(party: Party) -> None:
    """Add a phase with what belongs to one."""
    party.fay.does("authoring", action="phase-add", spec_id=SPEC, title="Third")


def test_a_spec_that_did_not_change_changes_nothing(party: Party) -> None:
    """The run goes on."""
    session = paused(party)
    told = party.does("rebase")
    assert (told["status"], told["rebase_result"]["result"]) == ("running", "no_change")
    assert run_row(party.fay, session).structure == told_structure(party)


def told_structure(party: Party) -> str:
    """Answer the digest of the document as it is."""
    found = party.fay.does("spec", action="get", spec_id=SPEC)["data"]
    return structure_of(json.loads(found["spec"])).digest


def test_what_was_added_and_removed_is_told(party: Party) -> None:
    """Phases and tasks by the ids of their nodes, and the run knows the spec as it is."""
    session = paused(party)
    add_phase(party)
    change(party, "add", parent="phase-1", title="More")
    change(party, "remove", task_id="task-2-2")
    told = party.does("rebase")["rebase_result"]
    assert told == {
        "result": "success",
        "added_phases": ["phase-3"],
        "removed_phases": [],
        "added_tasks": ["task-1-3", "verify-3-1", "verify-3-2"],
        "removed_tasks": ["task-2-2"],
        "completed_tasks_removed": 0,
    }
    assert run_row(party.fay, session).structure == told_structure(party)
    party.does("pause")
    assert party.does("rebase")["rebase_result"]["result"] == "no_change"


@pytest.mark.parametrize("status", ["paused", "failed"])
def test_completed_work_is_not_lost_without_a_word(party: Party, status: str) -> None:
    """By force it is, and the run counts it no more."""
    session = party.start()
    add_step(party.fay, session, "task-1-1", outcome="success", consumed_at="2026-01-02")
    set_run(party.fay, session, status=status, tasks_completed=2)
    change(party, "remove", task_id="task-1-1")
    refused = party.fay.is_refused("task", action="session", command="rebase", session_id=session)
    assert refused["data"]["error_code"] == "REBASE_COMPLETED_TASKS_REMOVED"
    assert refused["data"]["details"]["completed_tasks_removed"] == ["task-1-1"]
    told = party.does("rebase", session_id=session, force=True)
    assert told["rebase_result"]["completed_tasks_removed"] == 1
    assert told["counters"]["tasks_completed"] == 1


def test_a_structure_that_the_ledger_does_not_tell_asks_for_force(party: Party) -> None:
    """Then everything counts as added."""
    session = paused(party)
    change(party, "add", parent="phase-1", title="More")
    set_run(party.fay, session, structure="0" * 64)
    assert party.code("rebase") == "REBASE_BACKUP_MISSING"
    told = party.does("rebase", force=True)["rebase_result"]
    assert told["added_phases"] == ["phase-1", "phase-2"]


def gate(party: Party, phase: str) -> str:
    """Answer how the gate of a phase stands."""

    def read(context: Any) -> str:
        with context.reading() as view:
            found = view.find(Gate, party.item(phase), "manual_review")
            assert found is not None
            return found.status

    return party.fay.core.use(read)


def test_gates_of_phases_that_nobody_touched_stay_open_and_others_are_judged_afresh(
    party: Party, ada: Agent
) -> None:
    """A phase that was done is open again with its gate, and what waits for it waits again."""
    session = party.start()
    party.ends(party.fay, "task-1-1", "task-1-2", session_id=session)
    judge = Judgment(approves=True, reason="well")
    ada.core.reviews.review(party.item("phase-1"), judge)
    party.does("pause")
    change(party, "add", parent="phase-2", title="More")
    party.does("rebase")
    assert (gate(party, "phase-1"), gate(party, "phase-2")) == ("met", "closed")
    party.does("pause")
    change(party, "move", task_id="task-1-2", parent="phase-2")
    party.does("rebase", force=True)
    assert (gate(party, "phase-1"), gate(party, "phase-2")) == ("closed", "closed")
    assert party.does("status")["active_phase_id"] == "phase-1"
    ada.core.reviews.review(party.item("phase-1"), judge)
    assert party.does("status")["resume_context"]["completed_phases"] == ["phase-1"]


def test_a_gate_that_was_waived_is_asked_for_again_where_its_phase_was_touched(
    party: Party, ada: Agent
) -> None:
    session = party.start()
    party.ends(party.fay, "task-1-1", "task-1-2", session_id=session)
    waive = Edit(waive=("manual_review",), reason="not needed")
    party.workshop.app.person().items.edit(party.item("phase-1"), waive)
    assert gate(party, "phase-1") == "waived"
    party.does("pause")
    change(party, "move", task_id="task-1-2", parent="phase-2")
    party.does("rebase", force=True)
    assert gate(party, "phase-1") == "closed"


def test_counters_of_what_is_gone_are_gone(party: Party) -> None:
    """And errors in a row begin anew."""
    session = paused(party)
    kept = '{"phase_retries":{"phase-1":1},"task_retries":{"task-1-1":1,"task-2-2":4}}'
    set_run(party.fay, session, retries=Prose(kept), consecutive_errors=2)
    change(party, "remove", task_id="task-2-2")
    counts = party.does("rebase")["retry_counters"]
    assert counts["task_retry_counts"] == {"task-1-1": 1}
    assert (counts["phase_retry_counts"], counts["consecutive_errors"]) == ({"phase-1": 1}, 0)


def test_a_run_that_was_changed_meanwhile_is_looked_at_again(
    party: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody else did between the look and the change is not written over."""
    session = paused(party)
    before = Rebasing._load_structure

    def slow(self: Any, row: Any) -> Any:
        set_run(party.gus, session, version=row.version + 1)
        return before(self, row)

    monkeypatch.setattr(Rebasing, "_load_structure", slow)
    reply = party.fay.call("task", {"action": "session", "command": "rebase"}).answer["data"]
    assert reply["error_code"] == "VERSION_CONFLICT"


def test_the_shape_of_a_spec_is_that_of_its_document(party: Party, ada: Agent) -> None:
    """Phases, groups, tasks below tasks, tasks beside phases, and what was removed."""
    add_phase(party)
    for given in (
        {"parent": "phase-1", "title": "Below", "task_type": "task"},
        {"parent": "task-1-1", "title": "Below a task"},
        {"parent": "phase-2", "title": "Research", "task_type": "research"},
    ):
        change(party, "add", **given)
    change(party, "remove", task_id="task-2-1")
    ada.core.plans.create(Draft(kind="task", title="Beside the phases"), spec_item(party))

    def read(context: Any) -> None:
        with context.reading() as view:
            root = get_spec(view, SPEC)
            shape, document = shape_of(view, root), structure_of(whole(view, root))
            assert shape.structure.phases == document.phases
            assert dict(shape.structure.tasks) == dict(document.tasks)
            assert "" in document.tasks.values()
            assert [shape.verifies(phase) for phase in shape.phases] == [False, False, True]

    ada.core.use(read)


def spec_item(party: Party) -> str:
    """Answer the root of the spec."""
    found = party.fay.core.items.find(SPEC)
    assert found is not None
    return found.id

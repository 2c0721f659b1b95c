"""Gates that people open, and send back."""

from __future__ import annotations

import pytest

from builders import Workshop
from counterpoint.core.model.filters import Judgment
from counterpoint.dialects.foundry.models.runs import GateEvidence
from fakes.gates import Begin, extra_verification, person_of
from fakes.run_party import set_run


def test_who_worked_on_a_phase_does_not_open_its_gate_in_any_dialect(
    done: Begin, workshop: Workshop
) -> None:
    """Somebody else may, and the run sees it: the gate is one of the core."""
    run = done()
    phase = run.item("phase-1").id
    fay = workshop.agent("fay")
    refused = fay.is_refused("review", id=phase, verdict="approve", reason="good")
    assert refused["kind"] == "forbidden"
    shown = workshop.agent("eve").does("show", id=phase)
    assert [gate["name"] for gate in shown["gates"]] == ["fidelity"]
    eve = workshop.agent("eve")
    eve.does("review", id=phase, verdict="approve", reason="I have seen it")
    assert run.gates()[0].status == "passed"
    assert run.item("phase-1").status == "done"
    run.prove()


@pytest.mark.parametrize("phase", [1, 2])
def test_a_gate_that_waits_for_a_person_is_opened_by_an_approval(
    phase: int, run_of: Begin, workshop: Workshop
) -> None:
    """Under the policy `manual` every gate, and else that of a phase without a verification."""
    run = run_of(gate_policy="manual" if phase == 1 else "strict")
    run.work(1)
    run.verify()
    if phase == 2:
        asked = run.issue()
        run.report(asked, run.review(**asked)["gate_attempt_id"])
        run.work(2)
    asked = run.issue(f"phase-{phase}")
    found = run.review(**asked)
    assert (found["verdict"], found["gate_passed_preview"]) == ("pass", False)
    assert run.report(asked, found["gate_attempt_id"]) == "pending"
    waiting = run.gates()[phase - 1]
    assert waiting.awaits_person
    assert waiting.attempt == found["gate_attempt_id"]
    person = person_of(workshop)
    person.reviews.review(run.item(f"phase-{phase}").id, Judgment(approves=True, reason="seen"))
    assert run.gates()[phase - 1].status == "passed"
    run.prove()


def test_a_gate_that_a_person_sends_back_has_failed(run_of: Begin, workshop: Workshop) -> None:
    """So that the run goes on with what is to be put right, and the next attempt waits for a person again."""
    run = run_of(gate_policy="manual")
    run.work()
    run.verify()
    asked = run.issue()
    run.report(asked, run.review(**asked)["gate_attempt_id"])
    person = person_of(workshop)
    phase = run.item("phase-1").id
    person.reviews.review(phase, Judgment(approves=False, reason="no", fixes=("more tests",)))
    assert run.gates()[0].status == "failed"
    person.reviews.review(phase, Judgment(approves=True, reason="well"))
    assert run.gates()[0].status == "passed"


def test_where_a_project_asks_for_people_no_reviewer_opens_a_gate(
    done: Begin, workshop: Workshop
) -> None:
    """Whatever the policy of the run says."""
    run = done(gate_policy="lenient")
    person_of(workshop).projects.ask_of_reviews("person")
    asked = run.issue()
    found = run.review(**asked)
    assert (found["gate_policy"], found["gate_passed_preview"]) == ("manual", False)
    assert run.report(asked, found["gate_attempt_id"]) == "pending"
    assert run.item("phase-1").status == "active"


def test_a_verification_that_is_added_later_does_not_get_round_a_person(
    run_of: Begin, workshop: Workshop
) -> None:
    """A phase that a person was to review stays one."""
    run = run_of()
    core = workshop.agent("ada").core
    core.plans.create(extra_verification(), run.item("phase-2").id)
    assert [gate.required for gate in run.gates()] == ["fidelity", "manual_review"]


def test_a_run_goes_on_once_somebody_else_has_seen_the_gate(
    run_of: Begin, workshop: Workshop
) -> None:
    """Who worked on the phase cannot say that it was reviewed; who did not approves it with that word."""
    run = run_of(gate_policy="manual")
    run.work()
    run.verify()
    asked = run.issue()
    attempt = run.review(**asked)["gate_attempt_id"]
    run.report(asked, attempt)
    set_run(run.agent, run.session, status="paused", pause_reason="gate_review_required")
    seen = {"acknowledge_gate_review": True, "acknowledged_gate_attempt_id": attempt}
    resume = {"action": "session", "command": "resume", "session_id": run.session}
    refused = run.agent.is_refused("task", **resume, **seen)
    assert refused["data"]["error_code"] == "FORBIDDEN"
    other = workshop.agent("eve", surface="foundry")
    assert other.is_refused("task", **resume)["data"]["error_code"] == "MANUAL_GATE_ACK_REQUIRED"
    other.does("task", **resume, **seen)
    assert run.gates()[0].status == "passed"
    run.prove()


@pytest.mark.parametrize("policy", ["strict", "manual"])
def test_a_phase_that_is_taken_up_again_is_judged_anew(
    policy: str, done: Begin, workshop: Workshop
) -> None:
    """What was found of it before, and who approved it, says nothing of what comes now."""
    run = done(gate_policy=policy)
    asked = run.issue()
    run.report(asked, run.review(**asked)["gate_attempt_id"])
    if policy == "manual":
        judgment = Judgment(approves=True, reason="seen")
        person_of(workshop).reviews.review(run.item("phase-1").id, judgment)
    assert run.gates()[0].status == "passed"
    workshop.clock.pass_by(minutes=60 * 24 * 700)
    again = {**run.run, "task_id": "task-1-1", "status": "pending"}
    run.agent.does("task", action="update-status", **again)
    assert run.item("phase-1").status == "active"
    gate = run.gates()[0]
    assert (gate.status, gate.verdict) == ("pending", "")


def test_evidence_that_was_edited_after_its_report_opens_nothing(done: Begin) -> None:
    """The gate of the core is closed still, whatever stands beside it."""
    run = done("false")
    asked = run.issue()
    attempt = run.review(**asked)["gate_attempt_id"]
    assert run.report(asked, attempt) == "failed"
    run.edit(GateEvidence, {"id": attempt}, verdict="pass")
    assert run.gates()[0].status == "pending"

"""Phases that are reviewed for their gates, as agents call the tool."""

from __future__ import annotations

import pytest

from builders import Workshop, commit
from fakes.gates import PROOF, Begin, types


def test_a_phase_that_kept_its_promises_passes_and_ends(done: Begin) -> None:
    """The server looks at receipts, files and criteria itself; the gate opens with the report, and the phase closes."""
    run = done()
    asked = run.issue()
    found = run.review(**asked, step_proof=PROOF)
    assert (found["verdict"], found["findings"]) == ("pass", [])
    assert found["gate_passed_preview"] is True
    assert {name: found[name] for name in ("spec_id", "session_id", "phase_id", "step_id")} == asked
    assert run.item("phase-1").status == "active"
    assert run.report(asked, found["gate_attempt_id"]) == "passed"
    assert run.item("phase-1").status == "done"
    assert [gate.status for gate in run.gates()] == ["passed", "pending"]
    assert run.events()[:2] == ["gate_passed", "gate_reviewed"]
    run.prove()


@pytest.mark.parametrize(("policy", "opens"), [("strict", "failed"), ("lenient", "passed")])
def test_a_warning_passes_only_where_the_policy_is_lenient(
    policy: str, opens: str, done: Begin
) -> None:
    """Here what was verified was edited after that."""
    run = done(gate_policy=policy)
    commit(run.workshop.root, "src/part1.py", "PART = 11\n")
    found = run.review(**(asked := run.issue()))
    assert (found["verdict"], types(found)) == ("warn", ["verification_stale"])
    assert found["gate_passed_preview"] is (opens == "passed")
    assert run.report(asked, found["gate_attempt_id"]) == opens
    assert run.gates()[0].status == opens


def test_what_fails_is_told_and_judged_anew_once_it_is_put_right(done: Begin) -> None:
    """A second attempt is a second piece of evidence; the first stays."""
    run = done("test -f src/part2.py")
    found = run.review(**(asked := run.issue()))
    assert (found["verdict"], types(found)) == ("fail", ["verification_failed"])
    assert found["findings"][0] == {
        "type": "verification_failed",
        "weight": "fail",
        "description": "verify-1-1 ended with exit code 1",
    }
    assert run.report(asked, found["gate_attempt_id"]) == "failed"
    assert run.item("phase-1").status == "active"
    commit(run.workshop.root, "src/part2.py", "PART = 2\n")
    run.agent.does("verification", action="execute", verify_id="verify-1-1", **run.run)
    again = run.review(**(asked := run.issue()))
    assert (again["verdict"], again["findings"]) == ("pass", [])
    assert again["gate_attempt_id"] != found["gate_attempt_id"]
    assert run.report(asked, again["gate_attempt_id"]) == "passed"
    run.prove()


def test_what_was_promised_and_not_done_is_found(run_of: Begin) -> None:
    """Work that is open, files that are not there, commands that nobody ran here."""
    run = run_of()
    found = run.review(**run.issue())
    heavy = ["task_open", "file_missing", "task_open", "verification_unproved"]
    assert types(found) == [*heavy, "criterion_open"]
    assert found["verdict"] == "fail"


def test_an_attempt_is_judged_once(done: Begin) -> None:
    """Asked again it hears the same, and nothing is written: what is put right is judged in the next attempt."""
    run = done("test -f src/part2.py")
    asked = run.issue()
    found = run.review(**asked)
    commit(run.workshop.root, "src/part2.py", "PART = 2\n")
    run.agent.does("verification", action="execute", verify_id="verify-1-1", **run.run)
    size = run.agent.ledger_size
    assert run.review(**asked) == found
    assert run.agent.ledger_size == size


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"step_id": "step_9"}, "STEP_MISMATCH"),
        ({"phase_id": "phase-2"}, "STEP_MISMATCH"),
        ({"phase_id": "phase-9"}, "PHASE_NOT_FOUND"),
        ({"phase_id": "task-1-1"}, "PHASE_NOT_FOUND"),
        ({"session_id": "ses_none"}, "NO_ACTIVE_SESSION"),
        ({"spec_id": "nope"}, "SPEC_NOT_FOUND"),
        ({"step_proof": "cd" * 32}, "STEP_PROOF_MISMATCH"),
    ],
)
def test_a_review_is_for_the_step_that_is_out(
    changed: dict[str, str], code: str, done: Begin
) -> None:
    """And for nothing else."""
    run = done()
    assert run.fails(**{**run.issue(), **changed}) == code


def test_no_review_is_made_for_a_step_that_was_reported_or_of_a_run_that_stands_still(
    done: Begin,
) -> None:
    """Each is told how it is."""
    run = done()
    asked = run.issue()
    run.report(asked, run.review(**asked)["gate_attempt_id"])
    assert run.fails(**asked) == "STEP_MISMATCH"
    asked = run.issue(kind="address_fidelity_feedback")
    assert run.fails(**asked) == "STEP_MISMATCH"
    asked = run.issue()
    run.agent.does("task", action="session", command="pause", session_id=run.session)
    assert run.fails(**asked) == "INVALID_STATE_TRANSITION"


def test_only_who_has_the_run_has_its_phase_reviewed(done: Begin, workshop: Workshop) -> None:
    """Somebody else with the same words is refused."""
    run = done()
    asked = run.issue()
    other = workshop.agent("eve", surface="foundry")
    refused = other.is_refused("review", action="fidelity-gate", **asked)
    assert refused["data"]["error_code"] == "FORBIDDEN"


def test_a_verification_that_was_made_easier_since_the_run_began_is_told(done: Begin) -> None:
    """Whoever works in a run may word its nodes anew, but not past the reviewer."""
    run = done("false")
    asked = {**run.run, "task_id": "verify-1-1"}
    run.agent.does("task", action="update-metadata", command="true", **asked)
    run.agent.does("verification", action="execute", verify_id="verify-1-1", **run.run)
    found = run.review(**run.issue())
    assert (found["verdict"], types(found)) == ("warn", ["promise_changed"])


def test_a_task_that_nobody_started_is_compared_with_the_beginning_of_the_run(
    run_of: Begin, workshop: Workshop
) -> None:
    """What lies there when it is completed was written in the run, committed or not."""
    run = run_of()
    commit(workshop.root, "src/part1.py", "PART = 1\n")
    asked = {**run.run, "task_id": "task-1-1"}
    run.agent.does("task", action="complete", completion_note="written", **asked)
    run.verify()
    assert run.review(**run.issue())["findings"] == []

"""Attempts to get past a step without having done what it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

from builders import Workshop
from counterpoint.core.model.work import Gate
from counterpoint.dialects.foundry.models.runs import GateEvidence, SessionStep, SpecSession
from counterpoint.kernel.canonical import text_digest
from fakes.gates import SPEC, gated_draft
from fakes.stepping import Stepper

Begin = Callable[..., Stepper]
BLOCKED: Final = "blocked_runtime"


def refused(run: Stepper, code: str, **changed: Any) -> dict[str, Any]:
    """Check that the step that is out cannot be reported so, and that a supervisor stops for it."""
    told = run.fails(last_step_result=run.result(**changed))
    assert (told["error_code"], told["loop_signal"]) == (code, BLOCKED), told
    assert told["details"]["remediation"] == told["remediation"]
    return told


def test_no_proof_but_its_own_reports_a_step(run: Stepper, workshop: Workshop) -> None:
    """Neither that of a step before, nor that of another run, nor the digest that the ledger keeps."""
    run.does()
    first = run.step["step_proof"]
    run.reports()
    refused(run, "STEP_PROOF_CONFLICT", step_proof=first)
    workshop.agent("ada").core.plans.create(gated_draft(spec="other-2026-01-02-001"))
    eve = workshop.agent("eve", surface="foundry")
    begun = eve.does("task", action="session", command="start", spec_id="other-2026-01-02-001")
    other = Stepper(workshop=workshop, agent=eve, session=begun["data"]["session_id"])
    other.does()
    refused(run, "STEP_PROOF_MISMATCH", step_proof=other.step["step_proof"])
    kept = text_digest(run.step["step_proof"])
    refused(run, "STEP_PROOF_MISMATCH", step_proof=kept)


def test_a_proof_that_somebody_wrote_into_the_database_is_none(run: Stepper) -> None:
    """What counts is what the key of the project makes of the step; asked again, it comes with a fresh proof."""
    run.does()
    own = "ab" * 32
    run.edit(SessionStep, {"session": run.session, "number": 1}, proof=text_digest(own))
    refused(run, "STEP_PROOF_MISMATCH", step_proof=own)
    run.does("replay")
    assert run.reports()["next_step"]["task_id"] == "verify-1-1"


def test_no_proof_is_kept_anywhere(run: Stepper, workshop: Workshop) -> None:
    """Neither in the database nor in what is kept of a call with an idempotency key."""
    told = run.does(idempotency_key="one")
    proofs = [run.step["step_proof"]]
    assert run.does(idempotency_key="one") == told
    given = {"last_step_result": run.result(), "idempotency_key": "two"}
    told = run.does(**given)
    proofs.append(run.step["step_proof"])
    assert run.does(**given) == told
    workshop.app.store.purge()
    files = [path for path in workshop.app.folder.rglob("*") if path.is_file()]
    kept = b"".join(path.read_bytes() for path in files)
    assert SPEC.encode() in kept
    assert not [proof for proof in proofs if proof.encode() in kept]


FORGED: Final[list[tuple[str, Mapping[str, Any]]]] = [
    ("another exit code", {"exit_code": 1}),
    ("an exit code that is none", {"exit_code": False}),
    ("another output", {"output_digest": text_digest("all is well")}),
    ("a digest in capitals", {"output_digest": "AB" * 32}),
    ("another command", {"command_hash": text_digest("true ")}),
    ("another time", {"issued_at": "2026-01-02T03:04:06.001Z"}),
    ("a time before the step", {"issued_at": "2026-01-02T03:04:00Z"}),
    ("a time to come", {"issued_at": "2026-01-02T04:04:00Z"}),
    ("a time without an offset", {"issued_at": "2026-01-02T03:04:06"}),
    ("another step", {"step_id": "step_x"}),
    ("one field more", {"receipt_id": "demo-c1"}),
    ("one field less", {"exit_code": None}),
]


@pytest.mark.parametrize("changes", [one for _, one in FORGED], ids=[name for name, _ in FORGED])
def test_a_receipt_that_says_something_else_is_none(
    changes: Mapping[str, Any], run: Stepper
) -> None:
    """As it came it is taken, with the same proof."""
    run.goes_on_to("execute_verification")
    receipt = run.executes()
    refused(run, "VERIFICATION_RECEIPT_INVALID", verification_receipt={**receipt, **changes})
    told = run.reports(verification_receipt=receipt)
    assert told["next_step"]["type"] == "run_fidelity_gate"


def test_a_command_that_was_changed_since_the_step_was_issued_does_not_count(run: Stepper) -> None:
    run.goes_on_to("execute_verification")
    given = {"command": "echo well", "session_id": run.session, "task_id": "verify-1-1"}
    run.agent.does("task", action="update-metadata", spec_id=SPEC, **given)
    receipt = run.executes()
    refused(run, "VERIFICATION_RECEIPT_INVALID", verification_receipt=receipt)
    run.reports("skipped")
    assert run.reports(verification_receipt=run.executes())["status"] == "running"


EDITED: Final[list[dict[str, Any]]] = [
    {"verdict": "pass"},
    {"integrity": ""},
    {"integrity": "ab" * 32},
    {"reviewer": "a person"},
    {"issued_at": "2026-01-02T03:04:05.001Z"},
    {"step": "step_x"},
    {"session": "ses_x"},
]


@pytest.mark.parametrize("columns", EDITED, ids=[next(iter(one)) for one in EDITED])
def test_evidence_that_somebody_edited_is_none(columns: dict[str, Any], run: Stepper) -> None:
    """It is judged anew, and then says what the reviewer says."""
    run.does()
    run.reports()
    run.works()
    assert run.reviews()["verdict"] == "fail"
    run.edit(GateEvidence, {"id": run.step["gate_attempt_id"]}, **columns)
    told = refused(run, "GATE_INTEGRITY_CHECKSUM")
    assert told["recommended_actions"][0]["action"] == "rerun_gate_with_fresh_evidence"
    assert run.reviews()["verdict"] == "fail"
    assert run.reports()["next_step"]["type"] == "address_fidelity_feedback"


def test_a_gate_that_somebody_opened_in_the_database_ends_no_phase(run: Stepper) -> None:
    run.does()
    run.reports()
    run.works()
    assert run.type == "run_fidelity_gate"
    about = {"item": run.item("phase-1").id, "name": "fidelity"}
    run.edit(Gate, about, status="met", proof=run.step["gate_attempt_id"])
    assert run.reports("failure")["pause_reason"] == "blocked"


ROWS: Final[list[dict[str, Any]]] = [
    {"policy": "lenient"},
    {"policy": "none"},
    {"status": "completed"},
    {"consecutive_errors": 0, "tasks_completed": 0},
    {"phase": ""},
    {"evidence_faults": 1},
]


@pytest.mark.parametrize("columns", ROWS, ids=[next(iter(one)) for one in ROWS])
def test_a_run_whose_row_somebody_edited_fails(
    columns: dict[str, Any], run: Stepper, workshop: Workshop
) -> None:
    """It is not what the ledger says; a supervisor stops, and `audit verify` finds it."""
    run.does()
    run.reports("failure")
    run.edit(SpecSession, {"session": run.session}, **columns)
    assert "spec_sessions" in str(workshop.app.itself().audit.verify().faults)
    reply = run.asks(last_step_result=run.result())
    told = reply.answer["data"]
    assert (told["error_code"], told["loop_signal"]) == ("SESSION_UNRECOVERABLE", "failed")
    named = [one["action"] for one in told["recommended_actions"]]
    assert named == ["collect_failure_context", "reset_or_restart_session"]
    stood = run.status()
    assert (stood["status"], stood["failure_reason"]) == ("failed", "state_corrupt")


@pytest.mark.parametrize("command", ["pause", "resume", "rebase"])
def test_no_command_makes_an_edited_row_the_products_own(command: str, run: Stepper) -> None:
    """Nor does a sign of life; but the run can be ended, and another be started."""
    run.does()
    if command != "pause":
        run.manages("pause")
    run.edit(SpecSession, {"session": run.session}, policy="lenient")
    asked = {"action": "session", "command": command, "session_id": run.session}
    told = run.agent.is_refused("task", **asked)["data"]
    assert told["error_code"] == "SESSION_UNRECOVERABLE"
    assert run.fails("heartbeat")["error_code"] == "SESSION_UNRECOVERABLE"
    assert run.manages("end", reason_code="corrupt_state")["status"] == "ended"
    run.agent.does("task", action="session", command="start", spec_id=SPEC)


def test_a_run_that_failed_for_an_edited_row_is_not_revived(run: Stepper) -> None:
    """By a rebase, or by force."""
    run.does()
    run.edit(SpecSession, {"session": run.session}, policy="lenient")
    assert run.asks(last_step_result=run.result()).is_error
    for given in ({"command": "rebase"}, {"command": "resume", "force": True}):
        asked = {"action": "session", "session_id": run.session, **given}
        told = run.agent.is_refused("task", **asked)["data"]
        assert told["error_code"] == "SESSION_UNRECOVERABLE"
    assert run.manages("reset", reason_code="corrupt_state")["status"] == "ended"

"""Every way to cheat in an unattended run, by calls of tools: each is refused, or found by the audit, or both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.work import Gate, Item
from counterpoint.dialects.foundry.models.runs import GateEvidence, SessionStep, SpecSession
from counterpoint.kernel.canonical import text_digest
from fakes.run_yard import PAUSED, Yard
from fakes.stepping import Stepper

FORGED: Final = "ab" * 32
LATER: Final = "2026-01-02T03:04:09.000Z"


@dataclass(frozen=True, kw_only=True)
class Cheat:
    """What somebody has done, and the report with which he tries to get on.

    code: what that is refused with; empty if it is taken. table: where the audit finds that a row is not what the ledger says; empty if none was edited.
    """

    run: Stepper
    report: Mapping[str, Any] | None
    code: str = ""
    table: str = ""


def out(yard: Yard, kind: str = "implement_task", command: str = "true") -> Stepper:
    """Answer a run with a step of a type out."""
    run = yard.begin(command)
    run.goes_on_to(kind)
    return run


def forged_proof(yard: Yard) -> Cheat:
    """A proof that is made up."""
    run = out(yard)
    return Cheat(run=run, report=run.result(step_proof=FORGED), code="STEP_PROOF_MISMATCH")


def written_proof(yard: Yard) -> Cheat:
    """The same, and its digest is written into the row of the step."""
    run = out(yard)
    run.edit(SessionStep, {"session": run.session, "number": 1}, proof=text_digest(FORGED))
    report = run.result(step_proof=FORGED)
    return Cheat(run=run, report=report, code="STEP_PROOF_MISMATCH", table="session_steps")


def reused_proof(yard: Yard) -> Cheat:
    """The proof of the step before."""
    run = out(yard)
    proof = run.step["step_proof"]
    run.reports()
    return Cheat(run=run, report=run.result(step_proof=proof), code="STEP_PROOF_CONFLICT")


def foreign_proof(yard: Yard) -> Cheat:
    """The proof of another run."""
    run, other = out(yard), out(yard)
    report = run.result(step_proof=other.step["step_proof"])
    return Cheat(run=run, report=report, code="STEP_PROOF_MISMATCH")


def no_receipt(yard: Yard) -> Cheat:
    """A verification that nobody has executed."""
    run = out(yard, "execute_verification")
    return Cheat(run=run, report=run.result(), code="VERIFICATION_RECEIPT_MISSING")


def forged_receipt(yard: Yard) -> Cheat:
    """A receipt that is made up, down to the last field."""
    run = out(yard, "execute_verification")
    receipt = {
        "command_hash": text_digest("true"),
        "exit_code": 0,
        "output_digest": text_digest(""),
        "issued_at": yard.workshop.clock.now(),
        "step_id": run.step["step_id"],
    }
    report = run.result(verification_receipt=receipt)
    return Cheat(run=run, report=report, code="VERIFICATION_RECEIPT_INVALID")


def foreign_receipt(yard: Yard) -> Cheat:
    """The receipt of the same command for the verification of another run, executed while this one was out."""
    run, other = out(yard, "execute_verification"), out(yard, "execute_verification")
    receipt = {**other.executes(), "step_id": run.step["step_id"]}
    report = run.result(verification_receipt=receipt)
    return Cheat(run=run, report=report, code="VERIFICATION_RECEIPT_INVALID")


def early_receipt(yard: Yard) -> Cheat:
    """The receipt of a command that was executed before the step was issued."""
    run = out(yard)
    asked = {"spec_id": run.spec, "verify_id": "verify-1-1", "session_id": run.session}
    told = run.agent.does("verification", action="execute", **asked)["data"]["receipt"]
    run.works()
    report = run.result(verification_receipt={**told, "step_id": run.step["step_id"]})
    return Cheat(run=run, report=report, code="VERIFICATION_RECEIPT_INVALID")


def failed_command(yard: Yard) -> Cheat:
    """The receipt of a command that failed, for a success."""
    run = out(yard, "execute_verification", "false")
    report = run.result(verification_receipt=run.executes())
    return Cheat(run=run, report=report, code="VERIFICATION_RECEIPT_INVALID")


def another_exit_code(yard: Yard) -> Cheat:
    """The same, with the exit code that it should have."""
    run = out(yard, "execute_verification", "false")
    report = run.result(verification_receipt={**run.executes(), "exit_code": 0})
    return Cheat(run=run, report=report, code="VERIFICATION_RECEIPT_INVALID")


def edited_receipt(yard: Yard) -> Cheat:
    """The same, and the row of the receipt says so too: the server takes it, and the audit does not."""
    run = out(yard, "execute_verification", "false")
    receipt = {**run.executes(), "exit_code": 0}
    with yard.workshop.app.store.reading(yard.workshop.app.project) as view:
        (kept,) = view.select(Receipt, item=run.item("verify-1-1").id)
    run.edit(Receipt, {"id": kept.id}, exit_code=0)
    return Cheat(run=run, report=run.result(verification_receipt=receipt), table="receipts")


def no_review(yard: Yard) -> Cheat:
    """A gate that nobody has reviewed."""
    run = yard.at_gate()
    return Cheat(run=run, report=run.result(), code="INVALID_GATE_EVIDENCE")


def skipped_gate(yard: Yard) -> Cheat:
    """A gate that is said to be waived."""
    run = yard.at_gate()
    return Cheat(run=run, report=run.result("skipped"), code="REQUIRED_GATE_UNSATISFIED")


def edited_evidence(yard: Yard, **columns: Any) -> Cheat:
    """A verdict that somebody made better."""
    run = yard.at_gate()
    run.writes("1")
    run.reviews()
    columns = columns or {"verdict": "pass"}
    run.edit(GateEvidence, {"id": run.step["gate_attempt_id"]}, **columns)
    report = run.result()
    return Cheat(run=run, report=report, code="GATE_INTEGRITY_CHECKSUM", table="gate_evidence")


def unsigned_evidence(yard: Yard) -> Cheat:
    """Evidence whose integrity was taken away."""
    return edited_evidence(yard, integrity="")


def foreign_evidence(yard: Yard) -> Cheat:
    """The verdict and the integrity of evidence of another run, which passes."""
    other, app = yard.at_gate(), yard.workshop.app
    other.reviews()
    with app.store.reading(app.project) as view:
        kept = view.find(GateEvidence, other.step["gate_attempt_id"])
    assert kept is not None
    return edited_evidence(yard, verdict=kept.verdict, integrity=kept.integrity)


def opened_gate(yard: Yard) -> Cheat:
    """A gate that somebody opened in the database."""
    run = PAUSED["gate_review_required"](yard)
    about = {"item": run.item("phase-2").id, "name": "manual_review"}
    run.edit(Gate, about, status="met", proof=run.data["gate_attempt_id"])
    run.manages("resume")
    return Cheat(run=run, report=run.result(), code="GATE_AUDIT_FAILURE", table="gates")


def edited_run(yard: Yard) -> Cheat:
    """A run that may suddenly do more."""
    run = out(yard)
    run.edit(SpecSession, {"session": run.session}, policy="lenient")
    return Cheat(run=run, report=run.result(), code="SESSION_UNRECOVERABLE", table="spec_sessions")


def edited_step(yard: Yard) -> Cheat:
    """A step that nobody reported, and that is said to have succeeded: the next one asks for the same work."""
    run = out(yard)
    key = {"session": run.session, "number": 1}
    run.edit(SessionStep, key, consumed_at=LATER, outcome="success")
    return Cheat(run=run, report=None, table="session_steps")


def edited_task(yard: Yard) -> Cheat:
    """A task that is done by a word in the database."""
    run = out(yard)
    run.edit(Item, {"id": run.item("task-1-1").id}, status="done", category="done")
    return Cheat(run=run, report=run.result(), table="items")


CHEATS: Final[tuple[Callable[[Yard], Cheat], ...]] = (
    *(forged_proof, written_proof, reused_proof, foreign_proof),
    *(no_receipt, forged_receipt, foreign_receipt, early_receipt),
    *(failed_command, another_exit_code, edited_receipt),
    *(no_review, skipped_gate, edited_evidence, unsigned_evidence, foreign_evidence, opened_gate),
    *(edited_run, edited_step, edited_task),
)


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda one: one.__name__)
def test_every_cheat_is_refused_or_found(cheat: Callable[[Yard], Cheat], yard: Yard) -> None:
    """With its code, and by `audit verify` with the table; what was honest before is found to be sound."""
    found = cheat(yard)
    assert found.code or found.table
    given = {"last_step_result": found.report} if found.report else {}
    before = found.run.agent.ledger_size
    reply = found.run.asks(**given)
    told = reply.answer["data"]
    assert (told.get("error_code", "") if reply.is_error else "") == found.code
    # A run that fails for its edited row, and evidence that is none, are written down.
    is_noted = found.code in {"SESSION_UNRECOVERABLE", "INVALID_GATE_EVIDENCE"}
    assert found.run.agent.ledger_size == before or is_noted or not reply.is_error
    faults = " ".join(one.message for one in yard.workshop.app.itself().audit.verify().faults)
    assert found.table in faults
    assert bool(faults) == bool(found.table)

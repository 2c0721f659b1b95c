"""Every code of refusals that unattended runs have, and which rule gives it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.dialects.foundry.envelope import code_of, refuse
from counterpoint.dialects.foundry.models.environment import TYPES
from counterpoint.dialects.foundry.models.runs import Limits
from counterpoint.dialects.foundry.runs.rules.commands import (
    PhaseGate,
    RunRef,
    beginning,
    only_run,
    refuse_auto_mode,
    refuse_command,
    refuse_locked,
    refuse_unacknowledged,
    refuse_unproven,
    refuse_unsatisfied,
)
from counterpoint.dialects.foundry.runs.rules.deciding import PAUSE_CODES, Fail, decide
from counterpoint.dialects.foundry.runs.rules.limits import Denials, Terms, refuse_call
from counterpoint.dialects.foundry.runs.rules.results import Structure, judge, rebase, report_digest
from counterpoint.kernel.clock import later
from counterpoint.kernel.errors import CounterpointError
from fakes.runs import ISSUED, NOW, evidence, known, report, situation, step

RUN = RunRef(session="s-1", spec="export", status="running")
REVIEWED = RunRef(
    session="s-1",
    spec="export",
    status="paused",
    pause_reason="gate_review_required",
    attempt="a1",
)
FAILED = replace(RUN, status="failed")
PASSED = PhaseGate(phase="phase-1", status="passed", attempt="a1")
DIGEST = report_digest(report())
LATE = later(NOW, -31)


def judging(kind="implement_task", facts=None, **told):
    """Answer what judges a report of a step."""
    return lambda: judge(report(kind, **told), known(kind, **(facts or {})))


def denied_ten_times():
    """Come back after ten denials."""
    found = Denials()
    for time in range(10):
        found = found.denied(float(time))
    found.refuse(10.0)


RAISED = {
    "SPEC_SESSION_EXISTS": lambda: beginning(RUN, "", force=False),
    "NO_ACTIVE_SESSION": lambda: only_run([]),
    "AMBIGUOUS_ACTIVE_SESSION": lambda: only_run([RUN, RUN]),
    "INVALID_STATE_TRANSITION": lambda: refuse_command("resume", RUN),
    "SPEC_REBASE_REQUIRED": lambda: refuse_command(
        "resume", FAILED, force=True, same_structure=False
    ),
    "REBASE_COMPLETED_TASKS_REMOVED": lambda: rebase(
        Structure(phases=("p",), tasks={"t": "p"}), Structure(phases=("p",)), ["t"]
    ),
    "REBASE_BACKUP_MISSING": lambda: rebase(None, Structure()),
    "AUTONOMY_WRITE_LOCK_ACTIVE": lambda: refuse_locked(RUN, "", "maintainer", Terms()),
    "STEP_RESULT_REQUIRED": lambda: judge(None, known()),
    "STEP_MISMATCH": judging(step_id="step-2"),
    "STEP_STALE": judging(facts={"now": later(ISSUED, 3_601)}),
    "STEP_PROOF_MISSING": judging(step_proof=""),
    "STEP_PROOF_MISMATCH": judging(step_proof="f" * 64, facts={"proven": None}),
    "STEP_PROOF_CONFLICT": judging(
        note="x", facts={"proven": step(consumed_at=NOW, report=DIGEST)}
    ),
    "STEP_PROOF_EXPIRED": judging(facts={"proven": step(consumed_at=LATE, report=DIGEST)}),
    "INVALID_GATE_EVIDENCE": judging("run_fidelity_gate", {"evidence": None}),
    "GATE_INTEGRITY_CHECKSUM": judging(
        "run_fidelity_gate", {"evidence": replace(evidence(), verdict="fail")}
    ),
    "GATE_AUDIT_FAILURE": lambda: refuse_unproven([PASSED], []),
    "REQUIRED_GATE_UNSATISFIED": lambda: refuse_unsatisfied([PhaseGate(phase="phase-1")]),
    "MANUAL_GATE_ACK_REQUIRED": lambda: refuse_unacknowledged(REVIEWED, "", is_acknowledged=False),
    "INVALID_GATE_ACK": lambda: refuse_unacknowledged(REVIEWED, "a2", is_acknowledged=True),
    "VERIFICATION_RECEIPT_MISSING": judging("execute_verification", verification_receipt=None),
    "VERIFICATION_RECEIPT_INVALID": judging("execute_verification", verification_receipt={}),
    "SESSION_UNRECOVERABLE": lambda: decide(situation(status="failed")),
    "AUTO_MODE_SPEC_REQUIRED": lambda: refuse_auto_mode(""),
    "AUTHORIZATION": lambda: refuse_call("observer", "task session start"),
    "RATE_LIMITED": denied_ten_times,
}
"""What raises each code."""
TOLD_OF_PAUSES = {"GATE_BLOCKED", "ALL_TASKS_BLOCKED", "HEARTBEAT_STALE"}
"""What says beside a pause what it is; the call is not refused."""
ELSEWHERE = {"VERSION_CONFLICT", "LOCK_TIMEOUT", "INVALID_CURSOR"}
"""What storage and pages refuse."""
CODES = [
    "SPEC_SESSION_EXISTS",
    "NO_ACTIVE_SESSION",
    "AMBIGUOUS_ACTIVE_SESSION",
    "INVALID_STATE_TRANSITION",
    "SPEC_REBASE_REQUIRED",
    "REBASE_COMPLETED_TASKS_REMOVED",
    "REBASE_BACKUP_MISSING",
    "VERSION_CONFLICT",
    "LOCK_TIMEOUT",
    "AUTONOMY_WRITE_LOCK_ACTIVE",
    "STEP_RESULT_REQUIRED",
    "STEP_MISMATCH",
    "STEP_STALE",
    "STEP_PROOF_MISSING",
    "STEP_PROOF_MISMATCH",
    "STEP_PROOF_CONFLICT",
    "STEP_PROOF_EXPIRED",
    "INVALID_GATE_EVIDENCE",
    "GATE_INTEGRITY_CHECKSUM",
    "GATE_AUDIT_FAILURE",
    "REQUIRED_GATE_UNSATISFIED",
    "MANUAL_GATE_ACK_REQUIRED",
    "INVALID_GATE_ACK",
    "GATE_BLOCKED",
    "ALL_TASKS_BLOCKED",
    "VERIFICATION_RECEIPT_MISSING",
    "VERIFICATION_RECEIPT_INVALID",
    "INVALID_CURSOR",
    "SESSION_UNRECOVERABLE",
    "AUTO_MODE_SPEC_REQUIRED",
    "HEARTBEAT_STALE",
    "AUTHORIZATION",
    "RATE_LIMITED",
]
"""Those of the reference about runs, and both of roles."""


@pytest.mark.parametrize("code", CODES)
def test_each_code_is_given_by_a_rule_or_known_to_come_from_elsewhere(code):
    """In `data.error_code`, with what to do about it."""
    assert code in TYPES
    if code not in RAISED:
        assert code in TOLD_OF_PAUSES | ELSEWHERE
        return
    with pytest.raises(CounterpointError) as refused:
        RAISED[code]()
    assert code_of(refused.value) == code
    answer = refuse(refused.value)
    assert answer["data"]["error_code"] == code
    assert answer["data"]["remediation"]


@pytest.mark.parametrize("code", [one for one in CODES if "PROOF" in one or "RECEIPT" in one])
def test_what_is_wrong_with_proofs_and_receipts_comes_with_a_remedy_in_its_details(code):
    """As the reference promises; the proof of a step is not among them."""
    with pytest.raises(CounterpointError) as refused:
        RAISED[code]()
    details = refuse(refused.value)["data"]["details"]
    assert details["remediation"]
    assert "a1a1a1" not in repr(refuse(refused.value))


def test_the_codes_of_pauses_and_failures_are_those_of_refusals():
    """A supervisor looks them up in one table."""
    assert set(PAUSE_CODES.values()) - {"STEP_STALE"} == TOLD_OF_PAUSES
    failed = decide(situation(structure="changed"))
    assert isinstance(failed, Fail)
    assert failed.code == "SPEC_REBASE_REQUIRED"
    assert Limits() == Terms().limits

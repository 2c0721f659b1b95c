"""What a supervisor is told: signals, and what to do."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.models.environment import TYPES
from counterpoint.dialects.foundry.models.runs import LOOP_SIGNALS, PAUSE_REASONS, STATUSES
from counterpoint.dialects.foundry.runs.rules.signals import (
    CODE_SIGNALS,
    PAUSE_SIGNALS,
    Place,
    Standing,
    loop_signal,
    recommended_actions,
)

BLOCKED = {
    *("REQUIRED_GATE_UNSATISFIED", "GATE_AUDIT_FAILURE", "GATE_INTEGRITY_CHECKSUM"),
    *("AUTHORIZATION", "STEP_PROOF_MISSING", "STEP_PROOF_MISMATCH", "STEP_PROOF_CONFLICT"),
    *("STEP_PROOF_EXPIRED", "VERIFICATION_RECEIPT_MISSING", "VERIFICATION_RECEIPT_INVALID"),
}
CODE_ACTIONS = {
    "SPEC_REBASE_REQUIRED": ["rebase_session_to_spec"],
    "AUTHORIZATION": ["use_authorized_role"],
    "REQUIRED_GATE_UNSATISFIED": ["satisfy_or_waive_required_gate"],
    "GATE_AUDIT_FAILURE": ["rerun_gate_with_fresh_evidence"],
    "GATE_INTEGRITY_CHECKSUM": ["rerun_gate_with_fresh_evidence"],
    "INVALID_GATE_EVIDENCE": ["request_fresh_gate_evidence"],
    "STEP_STALE": ["replay_or_reset_stale_step"],
    "STEP_PROOF_MISSING": ["request_fresh_step_proof"],
    "STEP_PROOF_MISMATCH": ["request_fresh_step_proof"],
    "STEP_PROOF_CONFLICT": ["request_fresh_step_proof"],
    "STEP_PROOF_EXPIRED": ["request_fresh_step_proof"],
    "VERIFICATION_RECEIPT_MISSING": ["regenerate_verification_receipt"],
    "VERIFICATION_RECEIPT_INVALID": ["regenerate_verification_receipt"],
    "SESSION_UNRECOVERABLE": ["collect_failure_context", "reset_or_restart_session"],
}
PAUSE_ACTIONS = {
    "user": [],
    "context_limit": ["resume_in_fresh_context"],
    "error_threshold": ["inspect_recent_failures", "reset_session_if_needed"],
    "blocked": ["resolve_task_blockers"],
    "gate_failed": ["review_gate_findings"],
    "gate_review_required": ["acknowledge_manual_gate_review"],
    "task_limit": ["start_followup_session"],
    "heartbeat_stale": ["refresh_heartbeat_or_resume"],
    "step_stale": ["replay_or_reset_stale_step"],
    "phase_complete": [],
    "fidelity_cycle_limit": ["escalate_fidelity_cycle_limit"],
    "something else": ["manual_triage"],
}


def actions(**standing):
    """Return the names of what is recommended."""
    return [one["action"] for one in recommended_actions(Standing(**standing))]


@pytest.mark.parametrize("code", sorted(TYPES))
def test_each_refusal_has_the_signal_of_the_contract(code):
    """Whatever state the run is in: most have none."""
    wanted = "blocked_runtime" if code in BLOCKED else None
    wanted = {
        "SESSION_UNRECOVERABLE": "failed",
        "SPEC_REBASE_REQUIRED": "paused_needs_attention",
    }.get(code, wanted)
    for status in ("", *STATUSES):
        assert loop_signal(Standing(status=status, error_code=code)) == wanted
    assert actions(error_code=code) == CODE_ACTIONS.get(code, [])


@pytest.mark.parametrize(
    ("faults", "signal"), [(1, None), (2, None), (3, "blocked_runtime"), (9, "blocked_runtime")]
)
def test_invalid_evidence_needs_help_from_the_third_time_on(faults, signal):
    """Once may be a mistake."""
    standing = Standing(error_code="INVALID_GATE_EVIDENCE", evidence_faults=faults)
    assert loop_signal(standing) == signal


@pytest.mark.parametrize("reason", [*PAUSE_REASONS, "something else"])
def test_each_pause_has_its_signal_and_its_actions(reason):
    """A supervisor goes on at the end of a phase only; a pause that somebody made says nothing."""
    wanted = {"user": None, "phase_complete": "phase_complete"}.get(
        reason, "paused_needs_attention"
    )
    assert loop_signal(Standing(status="paused", pause_reason=reason)) == wanted
    assert actions(status="paused", pause_reason=reason) == PAUSE_ACTIONS[reason]


def test_each_state_has_its_signal_and_its_actions():
    """A run that goes on says nothing, and neither does one that somebody ended."""
    assert {status: loop_signal(Standing(status=status)) for status in STATUSES} == {
        "running": None,
        "paused": "paused_needs_attention",
        "completed": "spec_complete",
        "failed": "failed",
        "ended": None,
    }
    failed = ["collect_failure_context", "reset_or_restart_session"]
    assert actions(status="failed") == failed
    changed = actions(status="failed", failure_reason="spec_structure_changed")
    assert changed == ["rebase_session_to_spec", *failed]
    assert not actions(status="running")
    assert not actions(status="completed")


def test_the_tables_know_every_word_and_no_other():
    """So that a reason or a code that is added has to be thought of here."""
    assert set(PAUSE_SIGNALS) == set(PAUSE_REASONS)
    assert set(CODE_SIGNALS) <= set(TYPES)
    assert set(CODE_SIGNALS.values()) <= set(LOOP_SIGNALS)


RESUMED = "task session resume session_id=s-1"
HERE = Place(session="s-1", spec="pier", phase="phase-2", attempt="gate_1")


@pytest.mark.parametrize(
    ("standing", "wanted"),
    [
        ({"pause_reason": "context_limit"}, RESUMED),
        ({"pause_reason": "blocked"}, "task list-blocked spec_id=pier"),
        ({"pause_reason": "task_limit"}, "task session start spec_id=pier force=true"),
        ({"pause_reason": "gate_failed"}, "review fidelity spec_id=pier phase_id=phase-2"),
        (
            {"pause_reason": "gate_review_required"},
            f"{RESUMED} acknowledge_gate_review=true acknowledged_gate_attempt_id=gate_1",
        ),
        (
            {"error_code": "GATE_AUDIT_FAILURE"},
            "review fidelity-gate session_id=s-1 spec_id=pier phase_id=phase-2",
        ),
    ],
)
def test_an_action_says_the_whole_call(standing, wanted):
    """With what the action needs, so that it is not refused for what it lacks."""
    told = recommended_actions(Standing(status="paused", **standing), HERE)[0]
    assert set(told) == {"action", "description", "command"}
    assert told["command"] == wanted


def test_what_nobody_knows_is_left_out_of_a_call():
    """It is refused then with what it takes."""
    (told,) = recommended_actions(Standing(status="paused", pause_reason="gate_failed"))
    assert told["command"] == "review fidelity"


@pytest.mark.parametrize("reason", ["gate_review_required", "fidelity_cycle_limit"])
def test_where_a_person_opens_a_gate_his_command_is_named(reason):
    """Only where the phase is known."""
    standing = Standing(status="paused", pause_reason=reason)
    (told,) = recommended_actions(standing, HERE)
    assert "`counterpoint approve pier/phase-2`" in told["description"]
    (less,) = recommended_actions(standing, Place(session="s-1", spec="pier"))
    assert "counterpoint" not in less["description"]


def test_commands_that_are_refused_are_named_before_all_else_where_steps_failed():
    """As a person lets them be run."""
    standing = Standing(status="paused", pause_reason="error_threshold")
    first, *rest = recommended_actions(standing, Place(session="s-1", lacking="--allow pytest"))
    assert first["command"] == "counterpoint trust --allow pytest"
    assert rest == recommended_actions(standing, Place(session="s-1"))


def test_the_examples_of_the_reference_are_answered_as_they_stand_there():
    """Its own words are what a supervisor was written for."""
    failed = Standing(status="paused", pause_reason="gate_failed")
    (told,) = recommended_actions(failed)
    said = "Review fidelity findings and apply remediation before retry."
    assert told["description"] == said
    (denied,) = recommended_actions(Standing(error_code="AUTHORIZATION"))
    assert denied["description"] == "Switch to a role authorized for session-step actions."
    first = recommended_actions(Standing(status="failed"))[0]
    assert first["description"] == (
        "Inspect failure details and recent session events before retry."
    )

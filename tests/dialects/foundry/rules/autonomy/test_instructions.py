"""What an agent is told to call for a step."""

from __future__ import annotations

import pytest

from counterpoint.dialects.foundry.models.runs import STEP_TYPES
from counterpoint.dialects.foundry.runs.rules.deciding import StepPlace, instructions

PLACE = StepPlace(
    spec="export-2026-01-02-001",
    session="s-1",
    step="step-1",
    task="task-1-1",
    phase="phase-1",
    attempt="attempt-1",
    has_command=True,
)
EXPECTED = {
    "implement_task": ["task prepare", "task update-status", "task complete"],
    "execute_verification": ["task info", "verification execute", "task complete"],
    "run_fidelity_gate": ["review fidelity-gate", "task session-step"],
    "address_fidelity_feedback": ["review fidelity", "task prepare", "task session-step"],
    "pause": ["task session-step"],
    "complete_spec": ["task session-step"],
}


@pytest.mark.parametrize("kind", STEP_TYPES)
def test_each_step_names_its_calls_and_the_session_in_each(kind):
    """Else the run's own lock would refuse them."""
    told = [one.told() for one in instructions(kind, PLACE)]
    assert [f"{one['tool']} {one['action']}" for one in told] == EXPECTED[kind]
    for one in told:
        assert set(one) == {"tool", "action", "description"}
        assert "session_id=s-1" in one["description"]


def test_a_gate_names_the_attempt_that_is_to_be_reported():
    """It is that of the step, which is known before the review."""
    review, report = instructions("run_fidelity_gate", PLACE)
    assert "step_id=step-1" in review.description
    assert "gate_attempt_id=attempt-1" in report.description


def test_a_verification_without_a_command_is_judged_by_hand():
    """There is nothing to execute, and no receipt."""
    place = StepPlace(spec="x", session="s-1", step="step-1", task="verify-1-1")
    told = instructions("execute_verification", place)
    assert [one.action for one in told] == ["info", "complete"]
    assert not any("receipt" in one.description for one in told)
    with_receipt = instructions("execute_verification", PLACE)
    assert "verification_receipt" in with_receipt[-1].description

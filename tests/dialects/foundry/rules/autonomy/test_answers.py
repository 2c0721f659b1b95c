"""What is told of a run, as a supervisor reads it."""

from __future__ import annotations

import orjson
import pytest

from counterpoint.dialects.foundry.envelope import code_of
from counterpoint.dialects.foundry.models.runs import IssuedStep
from counterpoint.dialects.foundry.runs.rules.commands import PhaseGate
from counterpoint.dialects.foundry.runs.rules.deciding import (
    PAUSE_CODES,
    Fail,
    RunState,
    answer,
    pause_code,
    refusal_in,
    refused,
    step_of,
)
from counterpoint.kernel.clock import Timestamp

NOW = Timestamp("2026-02-03T04:00:00.000Z")
STEP = IssuedStep(
    id="step_1", type="implement_task", proof="", issued_at=NOW, task="task-1-1", phase="phase-1"
)


def state(**more):
    """Answer a run that runs."""
    return RunState(session="ses_1", spec="spec-1", status="running", version=3, **more)


def test_an_answer_has_what_the_contract_names():
    """Neither more nor less, while a run goes on; the proof is put in where it is told."""
    told = answer(state(), STEP, "Write it")
    assert list(told) == [
        *("session_id", "spec_id", "status", "state_version", "next_step"),
        *("required_phase_gates", "satisfied_gates", "missing_required_gates"),
        *("loop_signal", "recommended_actions"),
    ]
    assert list(step_of(told)) == [
        *("step_id", "type", "task_id", "phase_id", "task_title", "gate_attempt_id"),
        *("instructions", "reason", "message", "step_proof"),
    ]
    assert step_of(told)["step_proof"] is None
    assert step_of(answer(state(), None)) == {}


def test_gates_are_told_by_how_they_stand():
    """The one that a person has to review with its attempt."""
    gates = (
        PhaseGate(phase="phase-1", status="passed"),
        PhaseGate(phase="phase-2", status="waived"),
        PhaseGate(phase="phase-3", verdict="warn", attempt="gate_3"),
    )
    told = answer(state(gates=gates), None)
    assert told["required_phase_gates"] == ["phase-1", "phase-2", "phase-3"]
    assert told["satisfied_gates"] == ["phase-1", "phase-2"]
    assert told["missing_required_gates"] == ["phase-3"]
    assert (told["phase_id"], told["gate_attempt_id"]) == ("phase-3", "gate_3")


def test_the_gates_of_a_long_spec_fit_into_an_answer():
    """The first of them are named."""
    gates = tuple(PhaseGate(phase=f"{'ö' * 90}-{number}") for number in range(2_000))
    told = answer(state(gates=gates), STEP, "x" * 500)
    assert len(orjson.dumps(told)) < 8_000
    assert told["missing_required_gates"]


@pytest.mark.parametrize(
    "code", ["SPEC_NOT_FOUND", "SPEC_REBASE_REQUIRED", "SESSION_UNRECOVERABLE"]
)
def test_a_failure_is_answered_and_read_as_its_refusal(code):
    """With its code, its session and what to do."""
    told = refused(Fail(reason="state_corrupt", code=code, message="so it is"), "ses_1")
    refusal = refusal_in(told)
    assert refusal is not None
    assert (code_of(refusal), refusal.message) == (code, "so it is")
    assert refusal.facts["session_id"] == "ses_1"
    assert refusal.facts["remediation"]


def test_an_answer_is_no_refusal():
    """And what is none of ours is neither."""
    assert refusal_in(answer(state(), STEP)) is None
    assert refusal_in(None) is None


@pytest.mark.parametrize("reason", ["blocked", "phase_complete", ""])
def test_a_pause_has_the_code_that_it_is_called(reason):
    told = answer(state(pause_reason=reason), None)
    assert pause_code(told) == PAUSE_CODES.get(reason, "")

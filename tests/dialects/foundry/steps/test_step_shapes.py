"""The shapes of what is answered about steps of unattended runs."""

from __future__ import annotations

from typing import Final

from fakes.shapes import faults, parsed, row
from fakes.stepping import Stepper

STEP: Final = (
    "{step_id: str, type: str, task_id: str|null, phase_id: str|null, task_title: str|null,"
    " gate_attempt_id: str|null, instructions: [{tool: str, action: str, description: str}],"
    " reason: str|null, message: str, step_proof: str}"
)
TOLD: Final = (
    "{session_id: str, spec_id: str, status: str, state_version: int,"
    f" next_step: {STEP}, required_phase_gates: [str], satisfied_gates: [str],"
    " missing_required_gates: [str], loop_signal: str|null,"
    " recommended_actions: [{action: str, description: str, command: str}],"
    " pause_reason?: str, failure_reason?: str, phase_id?: str, gate_attempt_id?: str}"
)
ROWS = (
    row("task session-step next", TOLD),
    row("task session-step report", TOLD),
    row("task session-step replay", TOLD),
    row(
        "task session-step heartbeat",
        "{session_id: str, heartbeat_at: str, context_usage_pct: int, context_source: str}",
    ),
)


def test_every_answer_about_steps_has_its_shape(run: Stepper) -> None:
    while run.type != "pause":
        run.data = run.data or run.does()
        assert faults(run.data, parsed(TOLD)) == []
        run.works()
    assert faults(run.data, parsed(TOLD)) == []
    assert faults(run.does("replay"), parsed(TOLD)) == []
    assert faults(run.does("report", **run.result()), parsed(TOLD)) == []
    assert faults(run.does("heartbeat"), parsed(ROWS[-1].shape)) == []

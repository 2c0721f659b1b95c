"""The shapes of what reviews and waivers answer."""

from __future__ import annotations

from collections.abc import Callable

from builders import Agent, Workshop
from counterpoint.settings import Settings
from fakes.gates import SPEC as GATED
from fakes.gates import Begin
from fakes.shapes import SPEC, faults, misshapen, parsed, row

ROWS = (
    row(
        "review fidelity",
        "{spec_id: str, title: str, scope: str, verdict: str, deviations: [{*id: any}],"
        " recommendations: [str], consensus: {mode: str, threshold: int, provider_id: null,"
        " model_used: null, synthesis_performed: bool}, review_path: null}",
        spec_id=SPEC,
    ),
)
GATE = row(
    "review fidelity-gate",
    "{spec_id: str, session_id: str, phase_id: str, step_id: str, gate_attempt_id: str,"
    " verdict: str, gate_policy: str, gate_passed_preview: bool, findings: [{type: str,"
    " description: str, weight: str}], reviewer: str, review_path: null}",
)
WAIVER = row(
    "task gate-waiver",
    "{session_id: str, phase_id: str, gate_status: str, reason_code: str, reason_detail: str,"
    " waived_at: str, waived_by_role: str, waiver_id: str, spec_id?: str}",
)


def test_every_answer_of_a_review_has_its_shape(made: Callable[..., str], foundry: Agent) -> None:
    """In one page."""
    assert list(misshapen(ROWS, "review", made, foundry)) == []


def test_what_is_answered_at_a_gate_has_its_shape(run_of: Begin, workshop: Workshop) -> None:
    """Reviewed with findings, and waived then."""
    run = run_of("false")
    run.work()
    told = run.review(**run.issue())
    assert told["findings"]
    assert faults(told, parsed(GATE.shape)) == []
    settings = Settings(posture="supervised")
    asked = {"phase_id": "phase-1", "reason_code": "testing", "reason_detail": "so"}
    waived = workshop.agent("max", surface="foundry", settings=settings).does(
        "task", action="gate-waiver", spec_id=GATED, **asked
    )
    assert faults(waived["data"], parsed(WAIVER.shape)) == []

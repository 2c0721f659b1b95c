"""The shapes of what is answered about gates of unattended runs."""

from __future__ import annotations

from builders import Workshop, let_run
from counterpoint.settings import Settings
from fakes.gates import SPEC, Gated, gated_draft
from fakes.shapes import faults, parsed, row

FOUND = "{type: str, weight: str, description: str}"
ROWS = (
    row(
        "review fidelity-gate",
        "{spec_id: str, session_id: str, phase_id: str, step_id: str, gate_attempt_id: str,"
        " verdict: str, gate_policy: str, gate_passed_preview: bool,"
        f" findings: [{FOUND}], reviewer: str, review_path: null}}",
    ),
    row(
        "review fidelity",
        f"{{spec_id: str, title: str, scope: str, verdict: str, deviations: [{FOUND}],"
        " recommendations: [str], consensus: {mode: str, threshold: int, provider_id: null,"
        " model_used: null, synthesis_performed: bool}, review_path: null}",
    ),
    row(
        "task gate-waiver",
        "{session_id: str|null, spec_id: str, phase_id: str, gate_status: str, waiver_id: str,"
        " reason_code: str, reason_detail: str, waived_at: str, waived_by_role: str}",
    ),
)


def test_every_answer_about_gates_has_its_shape(workshop: Workshop) -> None:
    """Of a phase in which something is wrong."""
    let_run(workshop.root)
    workshop.agent("ada").core.plans.create(gated_draft())
    fay = workshop.agent("fay", surface="foundry")
    begun = fay.does("task", action="session", command="start", spec_id=SPEC)["data"]
    run = Gated(workshop=workshop, agent=fay, session=begun["session_id"])
    max_ = workshop.agent("max", surface="foundry", settings=Settings(posture="supervised"))
    waiver = {"spec_id": SPEC, "phase_id": "phase-1", "reason_code": "testing"}
    answers = (
        run.review(**run.issue()),
        fay.does("review", action="fidelity", spec_id=SPEC)["data"],
        max_.does("task", action="gate-waiver", **waiver)["data"],
    )
    for one, answer in zip(ROWS, answers, strict=True):
        assert faults(answer, parsed(one.shape)) == [], one.call

"""Work beside its spec, and the gates of runs, as the tool of reviews tells them."""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.rules.autonomy.gating import GateStep
from counterpoint.dialects.foundry.tools.reviews import words
from counterpoint.dialects.foundry.tools.shown import SAID, in_pages
from counterpoint.dialects.foundry.verbs.gates.comparing import Comparing
from counterpoint.dialects.foundry.verbs.gates.reviewing import Reviewing
from counterpoint.dialects.foundry.words import Cursor, PhaseId, SpecId, TaskId
from counterpoint.dialects.paging import clip
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action

_SHOWN: Final = 10
"""How many findings are told, the heaviest first."""


@action(reads=False, hidden=("step_proof",))
def fidelity_gate(
    call: Call,
    spec_id: SpecId,
    phase_id: PhaseId,
    session_id: words.RunId,
    step_id: words.StepId,
    step_proof: words.StepProof = "",
) -> Json:
    """Judge a phase for its gate; keeps evidence for the step's report."""
    asked = GateStep(
        spec=spec_id, session=session_id, step=step_id, phase=phase_id, proof=step_proof
    )
    found = call.core.use(Reviewing).review(asked)
    left = len(found.findings) - _SHOWN
    return present(
        {
            "spec_id": found.spec,
            "session_id": found.session,
            "phase_id": found.phase,
            "step_id": found.step,
            "gate_attempt_id": found.attempt,
            "verdict": found.verdict,
            "gate_policy": found.policy,
            "gate_passed_preview": found.opens,
            "findings": list(found.findings[:_SHOWN]),
            "review_path": None,
        },
        warnings=[f"{left} more findings, none heavier, are not shown."] if left > 0 else (),
    )


@action(reads=True)
def fidelity(
    call: Call,
    spec_id: SpecId,
    phase_id: PhaseId = "",
    task_id: TaskId = "",
    session_id: words.RunId = "",
    cursor: Cursor = "",
) -> Json:
    """Compare work with its spec, or one phase or task; keeps nothing."""
    found = call.core.use(Comparing).compare(spec_id, phase_id, task_id, session_id)
    report: dict[str, Json] = {
        "spec_id": found.spec,
        "title": clip(found.title, 500),
        "scope": found.scope,
        "verdict": found.verdict,
        "deviations": list(found.findings),
        "recommendations": [clip(one, SAID) for one in found.asked],
        "consensus": {
            "mode": "deterministic",
            "threshold": 1,
            "provider_id": None,
            "model_used": None,
            "synthesis_performed": False,
        },
    }
    query = ("review fidelity", spec_id, phase_id, task_id, session_id)
    return in_pages(call, query, cursor, report, "deviations", "recommendations")

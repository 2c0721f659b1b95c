"""Gates of phases, waived by maintainers."""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import present
from counterpoint.dialects.foundry.rules.autonomy.configured import is_started_as_maintainer
from counterpoint.dialects.foundry.tools.sessions.lifecycle import configured_of
from counterpoint.dialects.foundry.tools.sessions.words import (
    ReasonCode,
    ReasonDetail,
    SessionId,
)
from counterpoint.dialects.foundry.verbs.gates.waiving import Waiving
from counterpoint.dialects.foundry.verbs.sessions.views import Ending, RunSelector
from counterpoint.dialects.foundry.words import PhaseId, SpecId
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.actions import action


@action(reads=False, destructive=True)
def gate_waiver(
    call: Call,
    phase_id: PhaseId,
    reason_code: ReasonCode,
    reason_detail: ReasonDetail = "",
    spec_id: SpecId = "",
    session_id: SessionId = "",
) -> Json:
    """Let a phase's gate be open; for a maintainer who did not work on it."""
    settings, configured = call.settings, configured_of(call)
    waived = call.core.use(Waiving).waive(
        RunSelector(session=session_id, spec=spec_id),
        phase_id,
        Ending(code=reason_code, detail=reason_detail),
        configured,
        is_maintainer=is_started_as_maintainer(settings.role, settings.posture),
    )
    return present(
        {
            "session_id": waived.session or None,
            "spec_id": waived.spec,
            "phase_id": waived.phase,
            "gate_status": "waived",
            "waiver_id": waived.waiver,
            "reason_code": waived.reason_code,
            "reason_detail": waived.reason_detail,
            "waived_at": waived.waived_at,
            "waived_by_role": configured.role,
        }
    )


WAIVING: Final = (gate_waiver,)
"""The actions, in the order of the list."""

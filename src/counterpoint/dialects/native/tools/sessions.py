"""The tool `handoff`: pausing, ending, resuming and continuing a session."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from counterpoint.core.model.filters import Action, Handover
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.native.words import (
    Body,
    Id,
    Lines,
    Summary,
    present_claim,
    present_handoff,
)
from counterpoint.dialects.paging import sparse
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool


@tool(reads=False, idempotent=False)
def handoff(
    call: Call,
    action: Annotated[Action, Field(description="Action")],
    summary: Annotated[Summary, Field(description="State")] = "",
    next_steps: Annotated[Lines, Field(description="To do")] = (),
    blockers: Annotated[Lines, Field(description="Obstacles")] = (),
    context: Annotated[Body, Field(description="More")] = "",
    session: Annotated[Id, Field(description="Whose")] = "",
) -> Json:
    """Pause, end (gives claims back) or resume; or continue another's session."""
    asked = Handover(
        action=action,
        summary=summary,
        next_steps=next_steps,
        blockers=blockers,
        context=context,
        session=session,
    )
    done = call.core.sessions.hand_over(asked)
    # Of a session that others write in too he need not be who began what it holds.
    is_told = action == "continue" or not call.core.caller.is_shared
    handed_over = present_handoff(done.handoff, 5_000) if done.handoff else None
    return {
        "session": sparse(
            id=done.session.id, status=done.session.status, continues=done.session.continues
        ),
        "claims": [
            present_claim(claim) if is_told else {"item": claim.item} for claim in done.claims[:20]
        ],
        **sparse(handoff=handed_over, note=DATA if handed_over and action == "continue" else ""),
    }

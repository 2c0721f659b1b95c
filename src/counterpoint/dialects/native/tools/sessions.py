"""The tool `handoff`: pausing, ending, resuming and continuing a session."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from counterpoint.core.model.filters import Action, Handover
from counterpoint.dialects.call import Call
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
    action: Annotated[Action, Field(description="continue: take up what `session` left")],
    summary: Annotated[Summary, Field(description="Where the work stands")] = "",
    next_steps: Annotated[Lines, Field(description="What to do next, in order")] = (),
    blockers: Annotated[Lines, Field(description="What is in the way")] = (),
    context: Annotated[Body, Field(description="Anything else that the next one must know")] = "",
    session: Annotated[Id, Field(description="For continue: the session that was left")] = "",
) -> Json:
    """Pause, end (gives claims back) or resume your session; or continue another's."""
    handover = Handover(
        action=action,
        summary=summary,
        next_steps=next_steps,
        blockers=blockers,
        context=context,
        session=session,
    )
    done = call.core.sessions.hand_over(handover)
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
        **sparse(handoff=handed_over),
    }

"""What a session holds and has left behind, for whoever looks."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.operations.recording.connection_sessions import list_left_sessions
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.sessions import may_write

_OPENED: Final = 5
"""How many open sessions of a connection are offered to it."""


def live_claims(view: Reading, session: str) -> list[Claim]:
    """Return what a session holds, also with a lease that has run out but was not taken over."""
    return view.select(Claim, session=session, state="live", order="claimed_at,item")


def list_resumable_sessions(view: Reading, context: Context) -> list[Session]:
    """Return the sessions that the caller can go on in: the one it writes in, those it had before, those it opened or paused.

    None where others whom nothing tells from it write in the same session: any of them may have begun what is in it.
    """
    caller = context.caller
    if caller.is_shared:
        return []
    present = view.find(Session, caller.actor.session)
    sessions = [present] if present is not None else []
    sessions += list_left_sessions(view, context)
    if caller.capability:
        sessions += view.select(
            Session,
            capability=caller.capability,
            status=("active", "paused"),
            purpose=("work", "audit"),
            order="entered desc,id desc",
            limit=_OPENED,
        )
    last = last_handoff(view)
    left_session = view.find(Session, last.session) if last is not None else None
    # By its name it could be that of another window: only who may write in it left it.
    if left_session is not None and left_session.status == "paused":
        sessions += (
            [left_session] if may_write(left_session, caller.actor, caller.capability) else []
        )
    return list({session.id: session for session in sessions}.values())


def last_handoff(view: Reading, session: str = "") -> Handoff | None:
    """Return the last handoff of a session, or of anybody."""
    if session:
        handoffs = view.select(Handoff, session=session, order="number desc", limit=1)
    else:
        handoffs = view.select(Handoff, order="number desc", limit=1)
    return handoffs[0] if handoffs else None

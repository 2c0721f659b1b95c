"""The core session of a run: who holds it, and how it ends.

Rules: (1) whoever begins a run is not at it: whoever asks for its steps is, as the core's own rules let him. (2) A run that stops hands
its session over, and one that is over ends it. (3) Whoever may not have the session of somebody else stops the run all the same; but the
session, and what is held in it, stays with him who is at it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from counterpoint.core.model.sessions import Session
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.operations.recording.handover import close, let_go
from counterpoint.core.operations.recording.held import live_claims
from counterpoint.core.operations.sessions import reason_for, refuse_live, taken_up
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.sessions import may_write
from counterpoint.core.rules.trust.succession import OWN

_TO_END: Final = (*OWN, "handed_over")
"""Why somebody may end the session of a run: nobody is at one that was handed over, and whoever comes may have it."""
Over = Literal["completed", "failed"]


def begin(change: Change, spec: str) -> Session:
    """Open the core session of a run, in a change that is written in it; the first caller that steps takes it over."""
    session = change.get(Session, change.open_session())
    paused = replace(session, purpose="work", item=spec).moved("paused", change.now)
    change.put(paused)
    return paused


def take_up(change: Change, session: str) -> Session:
    """Take over the session of a run for the caller, in a change that is written in it.

    Raises AlreadyClaimed or Forbidden while another agent holds it.
    """
    core_session = change.get(Session, session)
    caller = change.context.caller
    if core_session.status == "active" and may_write(core_session, caller.actor, caller.capability):
        return change.enter(core_session)
    reason = "handed_over" if core_session.status == "paused" else reason_for(change, core_session)
    if reason is None:
        refuse_live(change, core_session)
    return taken_up(change, core_session, reason)


def is_own(view: Reading, session: str, caller: Caller) -> bool:
    """Whether the session of a run is the caller's, or nobody's yet; one that the caller may only take over is not."""
    core_session = view.find(Session, session)
    is_taken = core_session is not None and core_session.status == "active"
    return (
        core_session is None
        or not is_taken
        or may_write(core_session, caller.actor, caller.capability)
    )


def other_at(change: Change, session: str) -> str:
    """Return the agent that holds a run's session and cannot be replaced by the caller; empty for none."""
    core_session = change.get(Session, session)
    if is_own(change.writing, session, change.context.caller):
        return ""
    return core_session.agent if reason_for(change, core_session) is None else ""


def hand_over(change: Change, session: str) -> None:
    """Hand over the session of a run that stopped to whoever comes first, if it is the caller's to hand over."""
    core_session = change.find(Session, session)
    if core_session is None or core_session.status != "active":
        return
    caller = change.context.caller
    is_mine = may_write(core_session, caller.actor, caller.capability)
    if is_mine or reason_for(change, core_session) is not None:
        change.put(core_session.moved("paused", change.now))


def end(change: Change, session: str, how: Over) -> None:
    """End the session of a run that is over, if it is the caller's to end; its claims are released with it."""
    core_session = change.find(Session, session)
    if core_session is None or core_session.has_ended:
        return
    caller = change.context.caller
    is_mine = may_write(core_session, caller.actor, caller.capability)
    reason = None if is_mine else reason_for(change, core_session)
    if is_mine or reason in _TO_END:
        close(change, core_session, how)
    elif reason is not None and not live_claims(change.writing, session):
        change.put(core_session.moved(how, change.now))


def give_way(change: Change, session: str) -> None:
    """Release the claims of a failed run that another one follows, if its session is the caller's to end.

    The session stays: once no other run of its spec goes on, the failed one can still be rebased.
    """
    core_session = change.find(Session, session)
    if core_session is None or core_session.has_ended:
        return
    caller = change.context.caller
    is_mine = may_write(core_session, caller.actor, caller.capability)
    if is_mine or reason_for(change, core_session) in _TO_END:
        let_go(change, session)

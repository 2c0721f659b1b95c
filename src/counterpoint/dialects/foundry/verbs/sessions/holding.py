"""The session of the core that a run is: who is at it, and what becomes of it.

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
    """Return the session that a run is, in a change that is written in it: open for whoever steps first."""
    begun = change.get(Session, change.open_session())
    opened = replace(begun, purpose="work", item=spec).moved("paused", change.now)
    change.put(opened)
    return opened


def take_up(change: Change, session: str) -> Session:
    """Return the session of a run, at which the caller is from now on, in a change that is written in it.

    Raises AlreadyClaimed or Forbidden while somebody else is at it.
    """
    found = change.get(Session, session)
    caller = change.context.caller
    if found.status == "active" and may_write(found, caller.actor, caller.capability):
        return change.enter(found)
    reason = "handed_over" if found.status == "paused" else reason_for(change, found)
    if reason is None:
        refuse_live(change, found)
    return taken_up(change, found, reason)


def is_own(view: Reading, session: str, caller: Caller) -> bool:
    """Whether the session of a run is a caller's, or nobody's yet; what he may have of somebody who is gone is not."""
    found = view.find(Session, session)
    is_taken = found is not None and found.status == "active"
    return found is None or not is_taken or may_write(found, caller.actor, caller.capability)


def other_at(change: Change, session: str) -> str:
    """Return who is at the session of a run that is not the caller's, and that he may not have either; empty for nobody."""
    found = change.get(Session, session)
    if is_own(change.writing, session, change.context.caller):
        return ""
    return found.agent if reason_for(change, found) is None else ""


def hand_over(change: Change, session: str) -> None:
    """Let whoever comes first have the session of a run that stopped, if it is the caller's to hand over."""
    found = change.find(Session, session)
    if found is None or found.status != "active":
        return
    caller = change.context.caller
    is_mine = may_write(found, caller.actor, caller.capability)
    if is_mine or reason_for(change, found) is not None:
        change.put(found.moved("paused", change.now))


def end(change: Change, session: str, how: Over) -> None:
    """End the session of a run that is over, if it is the caller's to end; what is held in it is given back with that."""
    found = change.find(Session, session)
    if found is None or found.has_ended:
        return
    caller = change.context.caller
    is_mine = may_write(found, caller.actor, caller.capability)
    reason = None if is_mine else reason_for(change, found)
    if is_mine or reason in _TO_END:
        close(change, found, how)
    elif reason is not None and not live_claims(change.writing, session):
        change.put(found.moved(how, change.now))


def give_way(change: Change, session: str) -> None:
    """Give back what is held in the session of a failed run that another one follows, if it is the caller's to end.

    The session stays: once no other run of its spec goes on, the failed one can still be rebased.
    """
    found = change.find(Session, session)
    if found is None or found.has_ended:
        return
    caller = change.context.caller
    is_mine = may_write(found, caller.actor, caller.capability)
    if is_mine or reason_for(change, found) in _TO_END:
        let_go(change, session)

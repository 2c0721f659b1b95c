"""Decide in which role a caller acts, and refuse what only a person may do."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from counterpoint.core.model.access import Principal
from counterpoint.core.model.identity import Authority, Connection, Key
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.callers import PEOPLE, authority, may_be_agent
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Forbidden

_SERVED: Final = (
    "what a server has started acts for one of its callers, and nobody can tell for which"
)
_ONE_OF_THEM: Final = (
    "nothing tells {name} here from the agents that were seen since this machine started"
)


def authority_of(view: Reading, caller: Caller) -> Authority:
    """Return the role in which a caller acts."""
    return authority(
        caller.actor, caller.scopes, caller.origin, lambda: _may_be_agent(view, caller)
    )


def unsigned(caller: Caller) -> Caller:
    """Return a caller as he is without his signature, for what his own signature cannot allow."""
    process = caller.origin.process
    principal = Principal(strength="connection", id=process.id) if process else None
    return replace(caller, actor=replace(caller.actor, principal=principal))


def acting(change: Change) -> Authority:
    """Return as what the caller of a change acts."""
    return authority_of(change.writing, change.context.caller)


def refuse_agent(change: Change, act: str, instead: Act | str) -> None:
    """Raise Forbidden unless it is a person who acts, as far as anything tells."""
    if acting(change) not in PEOPLE:
        raise refusal(change.writing, change.context.caller, act, instead)


def refuse_unsigned_act(change: Change, act: str, instead: Act | str) -> None:
    """Raise Forbidden unless a person acts, and signs where anybody has a key."""
    refuse_agent(change, act, instead)
    is_asked = change.writing.exists(Key, revoked_at="")
    if is_asked and acting(change) == "person":
        raise Forbidden(
            f"people sign here: without a signature nobody can {act}",
            hint="Run this in a terminal, with a key that is in force; `counterpoint key list` tells whose are.",
        )


def refuse_untold(change: Change, act: str, instead: Act | str) -> None:
    """Raise Forbidden to whoever may be any agent that is known, and to what a server has started."""
    caller = change.context.caller
    found = acting(change)
    is_untold = found == "agent" and caller.actor.kind != "agent"
    if found == "nobody" or (is_untold and not _is_known(change.writing, caller)):
        raise refusal(change.writing, caller, act, instead)


def refusal(view: Reading, caller: Caller, act: str, instead: Act | str) -> Forbidden:
    """Return the error for whoever is no person; for one that says to be, with why and what to do."""
    if caller.actor.kind == "agent":
        return Forbidden(f"an agent cannot {act}", hint=f"{instead}.")
    why = why_no_person(view, caller)
    # Nobody signs for what a server has started: not even who could.
    also = "" if caller.origin.doubt == "served" else f" {Act.SIGN}."
    return Forbidden(f"{why}, and an agent cannot {act}", hint=f"{instead}.{also}")


def why_no_person(view: Reading, caller: Caller) -> str:
    """Return why whoever sits at the command line counts as no person; empty if he does."""
    found = authority_of(view, caller)
    if found in PEOPLE:
        return ""
    if found == "nobody":
        return _SERVED
    if _is_known(view, caller):
        return f"an agent stands behind {caller.actor.name} here"
    return _ONE_OF_THEM.format(name=caller.actor.name)


def _is_known(view: Reading, caller: Caller) -> bool:
    principal = caller.actor.principal
    is_agent = caller.actor.kind == "agent"
    return is_agent or (principal is not None and view.find(Connection, principal.id) is not None)


def _may_be_agent(view: Reading, caller: Caller) -> bool:
    if _is_known(view, caller):
        return True
    return may_be_agent(caller.origin, view.select(Connection, boot=caller.origin.boot))

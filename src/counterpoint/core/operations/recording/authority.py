"""Decide in which role a caller acts, and refuse what only a person may do."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from counterpoint.core.model.access import Principal
from counterpoint.core.model.identity import COVERED, Authority, Connection, Key
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.confirming import SERVED
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.identity import is_unseen
from counterpoint.core.rules.trust.callers import PEOPLE, authority, is_agent, may_be_agent
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Forbidden

_ONE_OF_THEM: Final = "Counterpoint cannot tell you ({name}) from the agents that it has seen since this machine started"
_OVER_HTTP: Final = (
    "Counterpoint cannot tell you ({name}) from those who have worked over HTTP since this machine started, unless you"
    " sign with a key (`counterpoint key add` makes one, at a terminal)"
)


def authority_of(view: Reading, context: Context, *, beside_unseen: bool = False) -> Authority:
    """Return the role in which the caller of a context acts.

    beside_unseen: whether those count for nothing whose process nobody saw.
    """
    caller = context.caller
    return authority(
        caller.actor,
        caller.scopes,
        caller.origin,
        lambda: _may_be_agent(view, context, beside_unseen=beside_unseen),
    )


def without_signature(context: Context) -> Context:
    """Return a context with its caller as he is without his signature, for what that cannot allow."""
    caller = context.caller
    process = caller.origin.process
    principal = Principal(strength="connection", id=process.id) if process else None
    return replace(
        context,
        caller=replace(caller, actor=replace(caller.actor, principal=principal), confirmation=None),
    )


def caller_authority(change: Change) -> Authority:
    """Return as what the caller of a change acts; looked for once, since all agents of this boot are asked about."""
    if change.authority is None:
        change.authority = authority_of(change.writing, change.context)
    return change.authority


def refuse_agent(change: Change, act: str, instead: Act | str) -> None:
    """Raise Forbidden unless it is a person who acts, as far as anything tells."""
    if caller_authority(change) not in PEOPLE:
        raise refusal(change.writing, change.context, act, instead)


def refuse_others(
    view: Reading, context: Context, act: str, instead: Act | str, *, signs: bool = True
) -> None:
    """Raise Forbidden unless it is a person who acts, also where there is no transaction yet.

    signs: whether a signature would help.
    """
    if authority_of(view, context) not in PEOPLE:
        raise refusal(view, context, act, instead, signs=signs)


def refuse_agents_of_all(context: Context, act: str, instead: Act | str) -> None:
    """Raise Forbidden unless it is a person, whichever project of the database is asked, for what all of them share.

    Those over HTTP whose process nobody saw count in the caller's own project alone.
    """
    store = context.ports.store
    for project in store.projects():
        with store.reading(project.project) as view:
            is_own = project.project == context.project
            if authority_of(view, context, beside_unseen=not is_own) not in PEOPLE:
                raise refusal(view, context, act, instead)


def refuse_first_key(view: Reading, context: Context, act: str) -> None:
    """Raise Forbidden unless it is a person who would bring the first key, as far as any process tells.

    Beside callers over HTTP nobody could decide anything any more without a key, nor ever have one. So these do not
    count here, for whoever is attested himself.
    """
    if not may_bring_first_key(view, context):
        raise refusal(view, context, act, Act.BY_PERSON, signs=False)


def may_bring_first_key(view: Reading, context: Context) -> bool:
    """Return whether whoever asks may bring the first key of a project."""
    is_attested = context.caller.origin.process is not None
    return authority_of(view, context, beside_unseen=is_attested) in PEOPLE


def refuse_unsigned_act(change: Change, act: str, instead: Act | str) -> None:
    """Raise Forbidden unless a person acts, and signs where anybody has a key."""
    refuse_agent(change, act, instead)
    is_asked = change.writing.exists(Key, revoked_at="")
    if is_asked and caller_authority(change) == "person":
        raise Forbidden(
            f"people sign here: without a signature nobody can {act}",
            hint="Run this in a terminal, with a key that is in force; `counterpoint key list` tells whose are.",
        )


def refuse_untold(change: Change, act: str, instead: Act | str) -> None:
    """Raise Forbidden to whoever may be any agent that is known, and to what a server has started."""
    context = change.context
    authority = caller_authority(change)
    is_untold = authority == "agent" and context.caller.actor.kind != "agent"
    if authority == "nobody" or (is_untold and not _is_known(change.writing, context)):
        raise refusal(change.writing, context, act, instead)


def refusal(
    view: Reading, context: Context, act: str, instead: Act | str, *, signs: bool = True
) -> Forbidden:
    """Return the error for whoever is no person; for one that says to be, with why and what to do."""
    # Beside callers over HTTP no terminal helps.
    is_over_http = signs and _is_over_http(view, context)
    hint = f"{Act.SIGN}." if is_over_http else way_on(view, context, instead, signs=signs)
    if context.caller.actor.kind == "agent":
        return Forbidden(f"an agent cannot {act}", hint=hint)
    return Forbidden(f"{why_no_person(view, context)}, and an agent cannot {act}", hint=hint)


def way_on(view: Reading, context: Context, instead: Act | str, *, signs: bool = True) -> str:
    """Return what helps whoever is no person.

    To an agent that is what others do instead; at the command line it is the very act that was refused, by a person.
    """
    caller = context.caller
    if caller.actor.kind == "agent":
        return f"{instead}."
    # Nobody signs for what a server has started: not even who could.
    if not signs or caller.origin.doubt == "served":
        return f"{Act.BY_PERSON}."
    if _may_sign(view, context):
        return f"{Act.BY_PERSON}. {Act.SIGN}."
    # Without a key a signature helps only whoever may make one.
    return f"{Act.BY_PERSON}. {Act.FIRST_KEY}."


def _may_sign(view: Reading, context: Context) -> bool:
    """Return whether a key is in force, or the first may be made by whoever asks."""
    if view.exists(Key, revoked_at=""):
        return True
    return not view.exists(Key) and may_bring_first_key(view, without_signature(context))


def way_past_doubt(view: Reading, context: Context) -> str:
    """Return what helps whoever sits at the command line and counts as no person."""
    is_over_http = _is_over_http(view, context)
    return f"{Act.SIGN}." if is_over_http else way_on(view, context, Act.BY_PERSON)


def why_no_person(view: Reading, context: Context) -> str:
    """Return why whoever sits at the command line counts as no person; empty if he does."""
    authority = authority_of(view, context)
    if authority in PEOPLE:
        return ""
    if authority == "nobody":
        return SERVED
    name = context.caller.actor.name
    if _is_known(view, context):
        return f"an agent has started this command, under the name {name}"
    return (_OVER_HTTP if _is_over_http(view, context) else _ONE_OF_THEM).format(name=name)


def _is_over_http(view: Reading, context: Context) -> bool:
    """Return whether somebody would be a person, were there not those whose process nobody saw."""
    return authority_of(view, context, beside_unseen=True) in PEOPLE


def _is_known(view: Reading, context: Context) -> bool:
    caller = context.caller
    if caller.actor.kind == "agent" or _has_written(view, context):
        return True
    return is_agent(caller.origin, context.ports.connected())


def _may_be_agent(view: Reading, context: Context, *, beside_unseen: bool) -> bool:
    if _has_written(view, context):
        return True
    origin = context.caller.origin
    connections = view.select(Connection, boot=(origin.boot, COVERED))
    if beside_unseen:
        connections = [connection for connection in connections if not is_unseen(connection)]
    return may_be_agent(origin, [*connections, *context.ports.connected()])


def _has_written(view: Reading, context: Context) -> bool:
    principal = context.caller.actor.principal
    return principal is not None and view.find(Connection, principal.id) is not None

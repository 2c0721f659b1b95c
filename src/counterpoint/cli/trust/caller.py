"""The identity of whoever runs a command, or why there is none."""

from __future__ import annotations

from typing import Final

from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.model.identity import Doubt
from counterpoint.core.rules.identity import doubt_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.client_session import CREDENTIAL
from counterpoint.kernel.errors import Unavailable

ADVICE: Final = f"An agent is known in any place by a credential: `counterpoint agent create NAME`, passed as {CREDENTIAL}."

_WHY: Final[dict[Doubt, str]] = {
    "unseen": "the kernel shows no process behind this command",
    "foreign": "its processes are counted in another namespace, as in a container",
    "covered": "something is mounted over `/proc`, or it was started in user or mount namespaces of its own",
    "cut": "the processes above it cannot be seen to the end",
    "orphan": "the program that started it has ended",
    "served": "a server of this ledger has started it, for one of its callers",
}


def why_unattested(app: App) -> str:
    """Return why nothing attests whoever runs this command; empty if something does."""
    doubt = None if app.credential else doubt_of(app.own_peer)
    return "" if doubt is None else _WHY[doubt]


def _why_no_person(core: Core) -> str:
    """Return why whoever runs this command counts as no person, also while a server does not say who is connected."""
    try:
        return core.identities.why_no_person()
    except Unavailable as silent:
        return silent.message


def caller_to_json(app: App, core: Core) -> dict[str, Json]:
    """Return who runs this command, why nothing attests him, and why he counts as no person."""
    actor = core.caller.actor
    principal = actor.principal
    return {
        "kind": actor.kind,
        "name": actor.name,
        "principal": principal.id if principal else "",
        "strength": principal.strength if principal else "",
        "why_unattested": "" if principal else why_unattested(app),
        "why_no_person": _why_no_person(core),
    }


def caller_in_words(app: App, core: Core) -> str:
    """Return the same in words, and what that lets whoever runs it do."""
    actor = core.caller.actor
    principal, who = actor.principal, f"{actor.name} ({actor.kind})"
    why = _why_no_person(core) if actor.kind != "agent" else ""
    if principal is None:
        by = f"whom nothing attests: {why_unattested(app)}"
    else:
        by = f"attested by a {principal.strength}: {principal.id}"
    if not why:
        return f"{who}, {by}"
    # Nobody signs for what a server has started.
    unless = "" if core.caller.origin.doubt == "served" else " unless you sign it with a key"
    return f"{why} ({by}). What only people may do is refused here{unless}."

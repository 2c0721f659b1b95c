"""Who whoever runs a command is known as, or why nobody is."""

from __future__ import annotations

from typing import Final

from counterpoint.app import CREDENTIAL, App
from counterpoint.core.coordinator import Core
from counterpoint.core.model.identity import Doubt
from counterpoint.core.rules.identity import doubt_of
from counterpoint.kernel.canonical import Json

ADVICE: Final = f"An agent is known in any place by a credential: `counterpoint agent create NAME`, passed as {CREDENTIAL}."

_WHY: Final[dict[Doubt, str]] = {
    "unseen": "the kernel shows no process behind this command",
    "foreign": "its processes are counted in another namespace, as in a container",
    "cut": "the processes above it cannot be seen to the end",
    "orphan": "whoever had started it is gone",
    "served": "a server of this ledger has started it, for one of its callers",
}


def why_unattested(app: App) -> str:
    """Return why nothing attests whoever runs this command; empty if something does."""
    doubt = None if app.credential else doubt_of(app.own_peer)
    return "" if doubt is None else _WHY[doubt]


def shown(app: App, core: Core) -> dict[str, Json]:
    """Return who runs this command, why nothing attests him, and why he counts as no person."""
    actor = core.caller.actor
    principal = actor.principal
    return {
        "kind": actor.kind,
        "name": actor.name,
        "principal": principal.id if principal else "",
        "strength": principal.strength if principal else "",
        "why_unattested": "" if principal else why_unattested(app),
        "why_no_person": core.identities.why_no_person(),
    }


def said(app: App, core: Core) -> str:
    """Return the same in words."""
    actor = core.caller.actor
    principal, who = actor.principal, f"{actor.name} ({actor.kind})"
    if principal is None:
        found = f"{who}, whom nothing attests: {why_unattested(app)}"
    else:
        found = f"{who}, attested by a {principal.strength}: {principal.id}"
    why = core.identities.why_no_person() if actor.kind != "agent" else ""
    return f"{found}; no person here: {why}" if why else found

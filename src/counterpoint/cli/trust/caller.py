"""Who whoever runs a command is known as, or why nobody is."""

from __future__ import annotations

import os
from typing import Final

from counterpoint.app import CREDENTIAL, App
from counterpoint.core.model.access import Actor
from counterpoint.core.model.identity import Doubt
from counterpoint.core.rules.identity import doubt_of
from counterpoint.evidence.processes import peer
from counterpoint.kernel.canonical import Json

ADVICE: Final = f"An agent is known in any place by a credential: `counterpoint agent create NAME`, passed as {CREDENTIAL}."

_WHY: Final[dict[Doubt, str]] = {
    "unseen": "the kernel shows no process behind this command",
    "foreign": "its processes are counted in another namespace, as in a container",
    "cut": "the processes above it cannot be seen to the end",
    "orphan": "whoever had started it is gone",
}


def why_unattested(app: App) -> str:
    """Return why nothing attests whoever runs this command; empty if something does."""
    doubt = None if app.credential else doubt_of(peer(os.getpid()))
    return "" if doubt is None else _WHY[doubt]


def shown(actor: Actor, why: str) -> dict[str, Json]:
    """Return who an actor is; why: why nothing attests that."""
    principal = actor.principal
    return {
        "kind": actor.kind,
        "name": actor.name,
        "principal": principal.id if principal else "",
        "strength": principal.strength if principal else "",
        "why_unattested": "" if principal else why,
    }


def said(actor: Actor, why: str) -> str:
    """Return the same in words."""
    principal = actor.principal
    if principal is None:
        return f"{actor.name} ({actor.kind}), whom nothing attests: {why}"
    return f"{actor.name} ({actor.kind}), attested by a {principal.strength}: {principal.id}"

"""What a person decides: signed where that can be done, else unconfirmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import click

from counterpoint.cli.context import CommandContext
from counterpoint.cli.trust.enrolling import add_made
from counterpoint.cli.trust.signing import has_terminal, signed, usable
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Issued, TokenRequest
from counterpoint.core.model.identity import ProposedAct
from counterpoint.evidence.trust.personal import HeldKey

_UNCONFIRMED: Final = "Not confirmed by a signature"
_QUESTION: Final = "Make a key under a passphrase now, and sign with it? y: yes; w: go on without one; n: stop, nothing is done"
_ANSWERS: Final = click.Choice(("y", "w", "n"), case_sensitive=False)
_OPENS_NONE: Final = ", so it opens no gate that asks for a person"


def confirmed(
    context: CommandContext,
    proposed: Callable[[], ProposedAct],
    reason: str = "",
    *,
    offers: bool = True,
    opens: bool = False,
) -> Core:
    """Return the core for one act: as the person who signs it now, or unconfirmed.

    proposed: says what is decided; asked only if somebody can sign it. offers: whether a terminal without
    a key of one's own is offered one, and can stop there. opens: whether the act can open a gate. Forbidden if the key is not unlocked.
    """
    unconfirmed = f"{_UNCONFIRMED}{_OPENS_NONE if opens else ''}"
    if not has_terminal():
        context.remarks.append(f"{unconfirmed}: there is no terminal here to sign at.")
        return context.core
    key = usable(context) or (offered(context) if offers else None)
    if key is None:
        context.remarks.append(
            f"{unconfirmed}: you have no key in this project; `counterpoint key add` makes one."
        )
        return context.core
    return signed(context, proposed(), key, reason)


def create_token(context: CommandContext, request: TokenRequest) -> Issued:
    """Return a token that was made now, signed by whoever has a key here."""
    tokens = context.core.tokens
    draft = tokens.draft(request.kind)
    core = confirmed(context, lambda: tokens.proposed(request, draft), offers=False)
    return core.tokens.create(request, draft)


def offered(context: CommandContext) -> HeldKey | None:
    """Return a key that was made and enrolled because the person said yes; None to go on without; Exit with 1 for a no."""
    if any(key.is_in_force for key in context.core.people.list()):
        return None
    context.out.aside("You have no key, so this would be recorded as unconfirmed.")
    # A no is one to the act: who has a key made is asked by the way, and hears "trust" or "approve" in it.
    said = click.prompt(_QUESTION, type=_ANSWERS, show_choices=False, default="n", err=True)
    if said == "n":
        context.out.aside("Nothing was done.")
        raise click.exceptions.Exit(1)
    return None if said == "w" else add_made(context, context.core.caller.actor.name)

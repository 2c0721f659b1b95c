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

_UNCONFIRMED: Final = "Not confirmed, so it opens no gate that asks for a person"


def confirmed(
    context: CommandContext,
    proposed: Callable[[], ProposedAct],
    reason: str = "",
    *,
    offers: bool = True,
) -> Core:
    """Return the core for one act: as the person who signs it now, or unconfirmed.

    proposed: says what is decided; asked only if somebody can sign it. offers: whether a terminal without
    a key of one's own is offered one. Forbidden if the key is not unlocked.
    """
    if not has_terminal():
        _say_unconfirmed(context, "there is no terminal here to sign at")
        return context.core
    key = usable(context) or (offered(context) if offers else None)
    if key is None:
        _say_unconfirmed(
            context, "you have no key in this project; `counterpoint key add` makes one"
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
    """Return a key that was made and enrolled because the person said yes; None if not."""
    if any(key.is_in_force for key in context.core.people.list()):
        return None
    context.out.aside("You have no key, so this would be recorded as unconfirmed.")
    if not click.confirm("Make a key under a passphrase now?", default=False, err=True):
        return None
    return add_made(context, context.core.caller.actor.name)


def _say_unconfirmed(context: CommandContext, why: str) -> None:
    context.out.aside(f"{_UNCONFIRMED}: {why}.")

"""What a person decides: signed where that can be done, else unconfirmed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from counterpoint.cli.context import CommandContext
from counterpoint.cli.trust.enrolling import add_made
from counterpoint.cli.trust.signing import find_key, has_terminal, sign_act
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Issued, Token, TokenKind, TokenRequest
from counterpoint.core.model.identity import ProposedAct
from counterpoint.evidence.replacing import replace_file
from counterpoint.evidence.trust.personal import HeldKey
from counterpoint.kernel.errors import Forbidden, Unavailable

_UNCONFIRMED: Final = "Not confirmed by a signature"
_QUESTION: Final = "Make a key under a passphrase now, and sign with it? y: yes; w: go on without one; n: stop, nothing is done"
_SIGNED_ONLY: Final = (
    "Make a key under a passphrase now, and sign with it? y: yes; n: stop, nothing is done"
)
_OPENS_NONE: Final = ", so it opens no gate that asks for a person"
_UNSIGNED: Final = "without-a-key"
"""The file that keeps the answer to go on without a key, in the folder of what this account keeps of a project."""
_NO_KEY_YET: Final = "key-to-be-made"
"""Stands for a key that is not made yet, while it is tried out what its signature would allow."""


def confirm_act(
    context: CommandContext,
    proposed: Callable[[], ProposedAct],
    decide: Callable[[Core], object],
    reason: str = "",
    *,
    offers: bool = True,
    opens: bool = False,
) -> Core:
    """Return the core for one act: as the person who signs it now, or unconfirmed.

    proposed: says what is decided; asked only if somebody can sign it. decide: the act, or the part of it that may be
    refused; it is tried out and undone before anything is asked at a terminal. offers: whether a terminal without
    a key of one's own is offered one, and can stop there. opens: whether the act can open a gate. Raises what the act
    would if no answer changes that; Forbidden if the key is not unlocked.
    """
    unconfirmed = f"{_UNCONFIRMED}{_OPENS_NONE if opens else ''}"
    context.decided.append(reason)
    if not has_terminal():
        context.remarks.append(f"{unconfirmed}: there is no terminal here to sign at.")
        return context.core
    key = find_key(context.app, context.core)
    if key is None and not (offers and may_offer(context)):
        context.core.try_out(decide)
    else:
        act = proposed()
        _try_signed(context, act, key.id if key else _NO_KEY_YET, decide)
        if key := key or _offer(context, decide):
            return sign_act(context, act, key, reason)
    # Where no key can be made, none is advised.
    makes = "; `counterpoint key add` makes one" if context.core.people.may_bring_first() else ""
    context.remarks.append(f"{unconfirmed}: you have no key in this project{makes}.")
    return context.core


def refuse_undecidable(
    context: CommandContext, proposed: Callable[[], ProposedAct], decide: Callable[[Core], object]
) -> None:
    """Raise what an act would, signed or not, whoever sits here; for a question that comes before it.

    Without a terminal nobody is asked anything, and nothing is tried out.
    """
    if not has_terminal():
        return
    key = find_key(context.app, context.core)
    if key is not None or may_offer(context):
        _try_signed(context, proposed(), key.id if key else _NO_KEY_YET, decide)
    else:
        context.core.try_out(decide)


EXPIRES: Final = click.option(
    "--expires",
    metavar="SPAN",
    default="30d",
    show_default=True,
    help="Expires after this time: 90m, 12h, 30d, 8w or 1y; or never.",
)
"""The option of what makes or renews a token or a credential."""


def create_token(context: CommandContext, request: TokenRequest) -> Issued:
    """Return a token that was made now, signed by whoever has a key here."""
    tokens = context.core.tokens
    draft = tokens.draft(request.kind)
    core = confirm_act(
        context,
        lambda: tokens.proposed(request, draft),
        lambda core: core.tokens.create(request, draft),
        offers=False,
    )
    return core.tokens.create(request, draft)


def renew_token(context: CommandContext, which: str, kind: TokenKind, lasts_seconds: int) -> Token:
    """Return a token that lasts from now on, signed by whoever has a key here."""
    tokens = context.core.tokens

    def renew(core: Core) -> Token:
        return core.tokens.renew(which, kind, lasts_seconds=lasts_seconds)

    core = confirm_act(
        context,
        lambda: tokens.proposed_renewal(which, kind, lasts_seconds=lasts_seconds),
        renew,
        offers=False,
    )
    return renew(core)


def may_offer(context: CommandContext) -> bool:
    """Return whether whoever sits here may make the key of this project that signs first.

    Nobody is asked whose first key would be refused: the answer could not change what follows.
    """
    people = context.core.people
    return not any(key.is_in_force for key in people.list()) and people.may_bring_first()


def _offer(context: CommandContext, decide: Callable[[Core], object]) -> HeldKey | None:
    """Return a key that was made and enrolled because the person said yes; None to go on without; Exit with 1 for a no."""
    needs_key = _is_refused_unsigned(context, decide)
    if _goes_without_key(context):
        return None
    context.out.aside(
        "You have no key, and without a signature this is refused."
        if needs_key
        else "You have no key, so this would be recorded as unconfirmed."
    )
    # A no is one to the act: who has a key made is asked by the way, and hears "trust" or "approve" in it.
    answer = click.prompt(
        _SIGNED_ONLY if needs_key else _QUESTION,
        type=click.Choice(("y", "n") if needs_key else ("y", "w", "n"), case_sensitive=False),
        show_choices=False,
        default="n",
        err=True,
    )
    if answer == "n":
        context.out.aside("Nothing was done.")
        raise click.exceptions.Exit(1)
    if answer == "y":
        return add_made(context, context.core.caller.actor.name)
    _remember_without_key(context)
    return None


def _try_signed(
    context: CommandContext, proposed: ProposedAct, key: str, decide: Callable[[Core], object]
) -> None:
    """Raise what an act would raise if it was signed with a key."""
    confirmation = context.core.people.prepare(proposed, key)
    context.app.confirmed(confirmation).try_out(decide)


def _is_refused_unsigned(context: CommandContext, decide: Callable[[Core], object]) -> bool:
    try:
        context.core.try_out(decide)
    except Forbidden:
        return True
    return False


def _goes_without_key(context: CommandContext) -> bool:
    return _unsigned_note(context).exists()


def _remember_without_key(context: CommandContext) -> None:
    # Who keeps nothing there is asked again the next time.
    with suppress(Unavailable):
        replace_file(_unsigned_note(context), b"")
        context.out.aside(
            "This is remembered for the project; `counterpoint key add` makes a key at any time."
        )


def _unsigned_note(context: CommandContext) -> Path:
    return context.app.folder / "private" / context.app.project / _UNSIGNED

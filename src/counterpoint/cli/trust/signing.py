"""Having a person sign what a command is about to do, at a terminal only.

Rule 1: without a terminal nobody is asked and nothing is signed: an agent in the background could use an SSH agent that does not ask.
Rule 2: a passphrase is read from the terminal, never from an argument, the environment or a pipe. Rule 3: what is signed is shown
before. Rule 4: without a key the act is recorded as unconfirmed, and the command says so.
"""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from counterpoint.cli.context import CommandContext
from counterpoint.cli.output import one_line
from counterpoint.core.coordinator import Core
from counterpoint.core.model.identity import Deed
from counterpoint.evidence.trust import personal
from counterpoint.evidence.trust.personal import HeldKey
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import Forbidden

_UNCONFIRMED: Final = "Not confirmed, so it opens no gate that asks for a person"


def has_terminal() -> bool:
    """Return whether a person can be asked: he sees what is asked, and has a keyboard."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def ask(prompt: str) -> str:
    """Return a passphrase, read from the terminal without showing it; Forbidden without one."""
    if not has_terminal():
        raise Forbidden("there is no terminal to ask for a passphrase at")
    return getpass.getpass(prompt)


def folder(context: CommandContext) -> Path:
    """Return the folder of the keys of whoever sits here."""
    return personal.folder_of(context.app.environ)


def usable(context: CommandContext) -> HeldKey | None:
    """Return the key that signs here: the one enrolled first, of those that are in force and held here."""
    mine = {key.id: key for key in personal.held(folder(context))}
    if not mine:
        return None
    enrolled = context.core.people.list()
    return next((mine[key.id] for key in enrolled if key.is_in_force and key.id in mine), None)


def confirmed(context: CommandContext, deed: Callable[[], Deed], reason: str = "") -> Core:
    """Return the core for one act: as the person who signs it now, or unconfirmed.

    deed: says what is decided; asked only if somebody can sign it. Without a key of one's own a
    terminal is offered one. Forbidden if the key is not unlocked.
    """
    if not has_terminal():
        _say_unconfirmed(context, "there is no terminal here to sign at")
        return context.core
    key = usable(context) or offered(context)
    if key is None:
        _say_unconfirmed(
            context, "you have no key in this project; `counterpoint key add` makes one"
        )
        return context.core
    return signed(context, deed(), key, reason)


def signed(context: CommandContext, deed: Deed, key: HeldKey, reason: str = "") -> Core:
    """Return the core for one act that is signed with a key now."""
    people = context.core.people
    made = people.prepare(deed, key.id, reason)
    told = {"subject": deed.subject, **deed.decision, "reason": reason}
    _show(context, f"You sign {deed.action} with your key {key.id}:", told)
    if key.storage in {"agent", "hardware"}:
        context.out.aside("Confirm it, or touch your key, when you are asked to.")
    return context.app.confirmed(people.sign(made, lambda message: key.sign(message, ask)))


def offered(context: CommandContext) -> HeldKey | None:
    """Return a key that was made and enrolled because the person said yes; None if not."""
    from counterpoint.cli.trust.keys import add_made

    if any(key.is_in_force for key in context.core.people.list()):
        return None
    context.out.aside("You have no key, so this would be recorded as unconfirmed.")
    if not click.confirm("Make a key under a passphrase now?", default=False, err=True):
        return None
    return add_made(context, context.core.caller.actor.name)


def _say_unconfirmed(context: CommandContext, why: str) -> None:
    context.out.aside(f"{_UNCONFIRMED}: {why}.")


def _show(context: CommandContext, head: str, told: dict[str, Json]) -> None:
    context.out.aside(head)
    for name, value in told.items():
        if value not in ("", None):
            text = value if isinstance(value, str) else dump_any(value)
            context.out.aside(f"  {name:<12}{one_line(text)}")

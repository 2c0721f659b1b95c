"""Signs acts, alone and with others.

Having a person sign what a command is about to do, at a terminal only.
Rule 1: without a terminal nobody is asked and nothing is signed: an agent in the background could use an SSH agent that does not ask.
Rule 2: a passphrase is read from the terminal, never from an argument, the environment or a pipe. Rule 3: what is signed is shown
before.
"""

from __future__ import annotations

import getpass
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import click

from counterpoint.app import App
from counterpoint.cli.context import CommandContext
from counterpoint.cli.output import one_line
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.people.joint import PROPOSALS, Joint, Proposal
from counterpoint.core.model.identity import ProposedAct
from counterpoint.core.model.work import Item
from counterpoint.evidence.trust import personal
from counterpoint.evidence.trust.personal import HeldKey
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import Forbidden


def tell_proposal(context: CommandContext, name: str) -> None:
    """Say of a proposal that was made or signed now who has signed it, and what the next person types."""
    joint = context.core.joint_acts.state()
    proposal = joint.proposals[name]
    context.out.result(
        {"proposal": present_proposal(joint, proposal)},
        f"{proposal.id}: {said_of(joint, proposal)}. Nothing has changed yet.",
        f"The next person types: {command_of(proposal)}",
    )


def said_of(joint: Joint, proposal: Proposal) -> str:
    """Return in words who has signed a proposal and who may: `1 of 2 people have signed: ann; ben or cy may`."""
    signed = joint.signers_of(proposal)
    others = sorted(joint.people.difference(signed))
    may = f"; {' or '.join(others)} may" if others else ""
    return f"{len(signed)} of {joint.threshold} people have signed: {', '.join(signed) or 'nobody'}{may}"


def present_proposal(joint: Joint, proposal: Proposal) -> dict[str, Json]:
    """Return a proposal as JSON."""
    signed = joint.signers_of(proposal)
    missing: list[Json] = [*sorted(joint.people.difference(signed))]
    return {
        "id": proposal.id,
        "act": proposal.act,
        "decision": dict(proposal.decision),
        "open_until": proposal.expires,
        "required": joint.threshold,
        "signed": [*signed],
        "missing": missing,
        "run": command_of(proposal),
    }


def command_of(proposal: Proposal) -> str:
    """Return the command that signs a proposal: the one that proposed it, or for a key, which may lie in no file, one with its id."""
    decision: Mapping[str, Any] = proposal.decision
    words: dict[str, list[str]] = {
        "policy.changed": ["policy", "--reviews", str(decision.get("policy"))],
        "reads.switched": ["policy", "--reads", str(decision.get("reads"))],
        "quorum.changed": ["policy", *_of_quorum(decision)],
        "signers.changed": ["policy", "--signers", str(decision.get("threshold"))],
        "epoch.opened": ["audit", "epoch", "--reason", "TEXT"],
        "key.enrolled": ["policy", "--sign", proposal.id],
        "key.revoked": ["key", "revoke", str(decision.get("key")), "--reason", "TEXT"],
    }
    return shlex.join(["counterpoint", *words.get(proposal.act, ["status"])])


def _of_quorum(decision: Mapping[str, Json]) -> Iterator[str]:
    yield from ("--witnesses", str(decision.get("quorum")))
    # What another program has proposed may be of any form.
    witnesses = decision.get("witnesses")
    for key in cast("list[Json]", witnesses) if isinstance(witnesses, list) else ():
        yield from ("--witness", str(key))


def open_proposals(core: Core) -> tuple[Joint, list[Proposal]] | None:
    """Return what waits for signatures of people; None where one signs for all."""
    joint = core.joint_acts.state()
    return (joint, core.joint_acts.open()) if joint.threshold > 1 else None


_WIDEST: Final = 1_000
"""Letters of a fact that are shown: of what is signed hardly anything may be left out."""


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


def find_key(app: App, core: Core, storage: str = "") -> HeldKey | None:
    """Return the key that signs for a caller: the one enrolled first, of those in force and held; storage: only of this."""
    held_keys = personal.held(personal.folder_of(app.environ))
    own_keys = {key.id: key for key in held_keys if storage in {"", key.storage}}
    enrolled = core.people.list() if own_keys else []
    return next(
        (own_keys[key.id] for key in enrolled if key.is_in_force and key.id in own_keys), None
    )


def sign_act(
    context: CommandContext,
    proposed: ProposedAct,
    key: HeldKey,
    reason: str = "",
    *,
    public_key: str = "",
) -> Core:
    """Return the core for one act that is signed with a key now.

    An act that several people sign is that of the last of them: for the others the command ends with the proposal.
    public_key: of a key that the act lets in.
    """
    if context.core.joint_acts.asks_several(proposed.action):
        proposed = context.core.joint_acts.next_step(proposed, key.id)
        if proposed.action in PROPOSALS:
            core = _signed(context, proposed, key, reason)
            tell_proposal(context, core.joint_acts.write(proposed, public_key))
            raise click.exceptions.Exit(0)
    return _signed(context, proposed, key, reason)


def _signed(context: CommandContext, proposed: ProposedAct, key: HeldKey, reason: str) -> Core:
    people = context.core.people
    prepared = people.prepare(proposed, key.id, reason)
    lines = _told(context.core, proposed) | {"reason": reason}
    _show(context, f"You sign {proposed.action} with your key {key.id}:", lines)
    if key.storage in {"agent", "hardware"}:
        context.out.aside("Confirm it, or touch your key, when you are asked to.")
    confirmation = people.sign(prepared, lambda message: key.sign(message, ask))
    context.signed.append(proposed.action)
    context.keys.append(key.id)
    return context.app.confirmed(confirmation)


def _told(core: Core, proposed: ProposedAct) -> dict[str, Json]:
    """Return what is signed, by its names: the item with its title, facts in words where there are some."""
    item = core.overview.find(Item, proposed.subject) if proposed.subject else None
    fields: dict[str, Json] = (
        {"item": f"{item.id}: {item.title}"} if item else {"subject": proposed.subject}
    )
    return fields | {**proposed.decision} | {**proposed.shown}


def _show(context: CommandContext, head: str, lines: dict[str, Json]) -> None:
    context.out.aside(head)
    for name, value in lines.items():
        if value not in ("", None):
            text = value if isinstance(value, str) else dump_any(value)
            context.out.aside(f"  {name:<12}{one_line(text, _WIDEST)}")


def refuse_no_terminal() -> None:
    """Raise Forbidden where no person can be asked."""
    if not has_terminal():
        raise Forbidden(
            "keys are added and revoked at a terminal, by a person",
            hint="Run this in a terminal of your own.",
        )

"""Enrolling a key: signed by one that is in force, or the first by itself."""

from __future__ import annotations

import shlex

import click

from counterpoint.cli.context import CommandContext
from counterpoint.cli.local_time import local_time_with_zone
from counterpoint.cli.trust import signing
from counterpoint.cli.trust.describe_keys import recovery_remark, state_of
from counterpoint.core.model.identity import Key, KeyStorage
from counterpoint.evidence.trust import personal
from counterpoint.evidence.trust.personal import HeldKey
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Forbidden, InvalidInput


def add_made(context: CommandContext, owner: str) -> HeldKey | None:
    """Return a key under a passphrase, enrolled here; None if others have to enrol it.

    One that was made before, for another project, is taken up.
    """
    context.core.people.refuse_first()
    key = _made(context)
    is_in = enrol(context, key.public_key, owner, key.storage, key)
    return key if is_in else None


def _made(context: CommandContext) -> HeldKey:
    """Return a key under a passphrase that is not enrolled here; made now unless one is held."""
    folder, enrolled = signing.folder(context), {key.id for key in context.core.people.list()}
    held_keys = [key for key in personal.held(folder) if key.storage == "passphrase"]
    key = next((key for key in held_keys if key.id not in enrolled), None)
    if key is None:
        passphrase = signing.ask("Passphrase for a fresh key: ")
        if signing.ask("The same again: ") != passphrase:
            raise InvalidInput("the two are not the same", hint="Nothing was made: try again.")
        key = personal.make(folder, passphrase)
        context.out.aside(f"Made a key in {folder}.")
    return key


def recover_key(context: CommandContext, owner: str, reason: str, own: HeldKey | None) -> None:
    """Let a key in by an epoch, once the person has seen what that leaves behind; Forbidden, Conflict."""
    people, out = context.core.people, context.out
    people.refuse_recovery()
    for own_key in personal.held(signing.folder(context)):
        if people.finish_recovery(own_key.id):
            out.result(
                {"id": own_key.id}, f"{own_key.id} signs from now on: its epoch is signed now."
            )
            return
    for key in people.list():
        if key.is_in_force:
            out.aside(
                f"In force: {key.id} of {key.owner}, since {local_time_with_zone(key.enrolled_at)}."
            )
    out.aside(
        "Whoever has one of these lets you in with `counterpoint key add --public FILE`, and nobody needs"
        " to trust the signer alone. What you do now is shown for ever as recovered, unconfirmed."
    )
    if not click.confirm("Is every one of them lost?", default=False, err=True):
        raise Forbidden("nothing was recovered", hint="Run the command again, and say yes.")
    key = own or _made(context)
    proposed = people.recovery(key.public_key, owner, key.storage)
    if own is not None:
        # Before it is signed: an epoch that the signer does not open now is finished with the same key.
        personal.remember(signing.folder(context), key.public_key, key.storage, key.path)
    enrolled = signing.sign_act(context, proposed, key, reason).people.recover(
        key.public_key, proposed, reason
    )
    out.result(
        key_to_json(enrolled),
        f"{enrolled.id} of {enrolled.owner} signs from now on: {recovery_remark(enrolled)}.",
    )
    out.aside("Revoke what is lost: `counterpoint key revoke ID --reason TEXT`.")


def enrol(
    context: CommandContext, public_key: str, owner: str, storage: KeyStorage, own: HeldKey | None
) -> bool:
    """Enrol a key, signed by one in force, or by itself if there is none yet; answer whether it is in."""
    people = context.core.people
    people.refuse_first()
    proposed = context.core.joint_acts.as_proposed(people.enrolment(public_key, owner, storage))
    signer = signing.find_key(context.app, context.core) if people.list() else own
    if signer is None:
        if own is None:
            raise Forbidden(
                "a key of somebody else takes the signature of one of yours",
                hint="Run `counterpoint key add` for yourself first.",
            )
        context.out.aside(
            "This project has keys already, so that one of those has to sign yours. Give its owner"
            f" this line; he runs `counterpoint key add --name {shlex.quote(owner)} --public FILE`:"
        )
        context.out.result({"public_key": public_key, "enrolled": False}, public_key)
        return False
    signing.refuse_no_terminal()
    core = signing.sign_act(context, proposed, signer, public_key=public_key)
    key = core.people.enrol(public_key, proposed)
    context.out.result(key_to_json(key), f"{key.id} of {key.owner} signs from now on.")
    return True


def revoke_key(context: CommandContext, which: str, reason: str) -> None:
    """Revoke a key, signed by one that is in force; NotFound, Conflict, Forbidden."""
    people = context.core.people
    key = people.get(which)
    proposed = people.revocation(key)
    signing.refuse_no_terminal()
    signer = signing.find_key(context.app, context.core)
    if signer is None:
        raise Forbidden(
            "to revoke a key takes the signature of one that is in force, and you hold none",
            hint="Ask somebody who has one; `counterpoint key list` says who.",
        )
    after = signing.sign_act(context, proposed, signer, reason).people.revoke(key.id)
    context.out.result(
        key_to_json(after), f"{after.id} of {after.owner} signs nothing from now on."
    )
    if not any(key.is_in_force for key in people.list()):
        context.out.aside("No key is in force any more: `counterpoint key recover` lets one in.")


def key_to_json(key: Key) -> dict[str, Json]:
    """Return what is said of a key as JSON."""
    return {
        "id": key.id,
        "owner": key.owner,
        "state": state_of(key),
        "storage": key.storage,
        "public_key": key.public_key,
        "enrolled_by": key.enrolled_by,
        "recovered_in": key.recovered_in or None,
        "enrolled_at": key.enrolled_at,
        "revoked_by": key.revoked_by,
        "revoked_at": key.revoked_at,
    }

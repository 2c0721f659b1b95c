"""Enrolling a key: signed by one that is in force, or the first by itself."""

from __future__ import annotations

from counterpoint.cli.context import CommandContext
from counterpoint.cli.trust import signing
from counterpoint.core.model.identity import Key, KeyStorage
from counterpoint.evidence.trust import personal
from counterpoint.evidence.trust.personal import HeldKey
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Forbidden, InvalidInput


def add_made(context: CommandContext, owner: str) -> HeldKey | None:
    """Return a key under a passphrase, enrolled here; None if others have to enrol it.

    One that was made before, for another project, is taken up.
    """
    folder, enrolled = signing.folder(context), {key.id for key in context.core.people.list()}
    known = [key for key in personal.held(folder) if key.storage == "passphrase"]
    key = next((key for key in known if key.id not in enrolled), None)
    if key is None:
        passphrase = signing.ask("Passphrase for a fresh key: ")
        if signing.ask("The same again: ") != passphrase:
            raise InvalidInput("the two are not the same", hint="Nothing was made: try again.")
        key = personal.make(folder, passphrase)
        context.out.aside(f"Made a key in {folder}.")
    is_in = enrol(context, key.public_key, owner, key.storage, key)
    return key if is_in else None


def enrol(
    context: CommandContext, public_key: str, owner: str, storage: KeyStorage, own: HeldKey | None
) -> bool:
    """Enrol a key, signed by one in force, or by itself if there is none yet; answer whether it is in."""
    people = context.core.people
    proposed = people.enrolment(public_key, owner, storage)
    signer = signing.usable(context) if people.list() else own
    if signer is None:
        if own is None:
            raise Forbidden(
                "a key of somebody else takes the signature of one of yours",
                hint="Run `counterpoint key add` for yourself first.",
            )
        context.out.aside(
            "This project has keys already, so that one of those has to sign yours. Give its owner"
            f" this line; he runs `counterpoint key add --name '{owner}' --public FILE`:"
        )
        context.out.result({"public_key": public_key, "enrolled": False}, public_key)
        return False
    signing.refuse_no_terminal()
    key = signing.signed(context, proposed, signer).people.enrol(public_key, proposed)
    context.out.result(shown(key), f"{key.id} of {key.owner} signs from now on.")
    return True


def state_of(key: Key) -> str:
    """Return whether a key is live or revoked, in a word."""
    return "live" if key.is_in_force else "revoked"


def shown(key: Key) -> dict[str, Json]:
    """Return what is said of a key as JSON."""
    return {
        "id": key.id,
        "owner": key.owner,
        "state": state_of(key),
        "storage": key.storage,
        "public_key": key.public_key,
        "enrolled_by": key.enrolled_by,
        "enrolled_at": key.enrolled_at,
        "revoked_by": key.revoked_by,
        "revoked_at": key.revoked_at,
    }

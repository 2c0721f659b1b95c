"""Reading heads that were signed, and holding a ledger against them."""

from __future__ import annotations

from hashlib import sha256

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.growth import epoch_of, origin_of
from counterpoint.core.ledger.merkle import frontier_at
from counterpoint.core.ledger.note import VerifierKey, is_public_key
from counterpoint.core.model.identity import Key
from counterpoint.core.model.trust.heads import Epoch, SignedHead
from counterpoint.core.model.work import Project
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import (
    CounterpointError,
    ForkRefused,
    LedgerBroken,
    MalformedDocument,
    SignerAway,
)


def no_key(project: str) -> VerifierKey:
    """Return what nobody can sign with, by the name of a ledger that was not signed when it was looked at: it may be by now."""
    return VerifierKey(name=origin_of(project), public_key=sha256(b"no key").digest())


def list_named_keys(view: Reading) -> list[str]:
    """Return the public keys that a ledger names as its own, in hex, the latest first."""
    project = view.find(Project)
    keys = [epoch.public_key for epoch in view.select(Epoch, order="number desc")]
    keys += [project.public_key] if project else []
    return [key for key in keys if is_public_key(key)]


def refuse_unnamed(key: VerifierKey, names: list[str]) -> None:
    """Raise SignerAway unless a key is the one that a ledger names now; names: all that it names, the latest first."""
    if names and key.public_key.hex() != names[0]:
        raise SignerAway(
            "the key of the signer is another than the one that the ledger names",
            hint="Have every account and machine use one signer: COUNTERPOINT_SIGNER (docs/service.md)."
            " If its state was lost, `counterpoint audit epoch --reason TEXT` names the present key.",
        )


def refuse_recovered(view: Reading, signed: SignedHead | None) -> None:
    """Raise ForkRefused if a ledger tells of a recovered key in an epoch that the signer never opened."""
    for key in view.select(Key):
        if signed is not None and key.recovered_in > signed.epoch:
            raise ForkRefused(
                f"the ledger tells that the key {key.id} was recovered in epoch {key.recovered_in}, but"
                f" epoch {signed.epoch} was signed",
                hint="Nobody had the signer do that: restore a backup.",
            )


def open_head(note: str, keys: list[VerifierKey]) -> SignedHead | None:
    """Return the head that a note says, if one of the keys has signed it."""
    for key in keys:
        try:
            checkpoint = checkpoints.verify(note, key)
        except (LedgerBroken, MalformedDocument):
            continue
        epoch = epoch_of(checkpoint.extensions)
        return SignedHead(
            size=checkpoint.size, root=checkpoint.root, epoch=epoch, time="", note=note
        )
    return None


def open_checkpoint(
    note: str, keys: tuple[VerifierKey, ...], faults: list[CounterpointError]
) -> Checkpoint | None:
    """Return the checkpoint that one of the keys has signed; else a fault, of the first key."""
    problems: list[CounterpointError] = []
    for key in keys:
        try:
            return checkpoints.verify(note, key)
        except CounterpointError as fault:
            problems.append(fault)
    faults += problems[:1]
    return None


def describe_unaccounted(view: Reading, head: SignedHead) -> str:
    """Return what the epochs after that of a head tell instead of it; empty if it is accounted for.

    It is if the ledger begins with it, or an epoch tells that it, or more, was left. Of one whose next epoch left a later one nothing can be told:
    what was in between is in a copy that was left itself.
    """
    later = [epoch for epoch in view.select(Epoch, order="number") if epoch.number > head.epoch]
    is_here = head.size <= view.head().size and (
        frontier_at(head.size, view.node).root() == head.root
    )
    if is_here or later[0].left_epoch > head.epoch:
        return ""
    leaving = [epoch for epoch in later if epoch.left_epoch == head.epoch]
    same = [epoch for epoch in leaving if epoch.left_size == head.size]
    is_told = any(epoch.left_root == head.root.hex() for epoch in same)
    if is_told or any(epoch.left_size > head.size for epoch in leaving):
        return ""
    if not leaving:
        return f"epoch {later[0].number} tells of no head of it"
    return "with others" if same else f"with {max(epoch.left_size for epoch in leaving):,}"

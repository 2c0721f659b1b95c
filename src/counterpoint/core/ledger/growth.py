"""Which heads a signer signs: those that extend the last one it signed.

A signer has a memory: the head it signed last for a ledger (size, root, epoch). A head is signed if and
only if

1. there is no last one: the first head of a ledger that a signer sees is taken as it is; or
2. its epoch is that of the last, the proof begins at the size of the last, and leads from the root of the
   last to its own (RFC 9162, section 2.1.4.2); so it is neither smaller nor another at any place below; or
3. a person opens an epoch with it, above that of the last.

Rule 2 makes whatever was signed in one epoch one history: who rewrites, cuts off or rolls back the ledger
has no proof. Rule 3 is told by an entry, and by the line `epoch N` in every checkpoint from the second
epoch on, so that no head of the history that was left can be taken for one of the present.
"""

from __future__ import annotations

from collections.abc import Iterable

from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.merkle import verify_consistency
from counterpoint.core.model.trust.heads import FIRST_EPOCH, Growth, SignedHead
from counterpoint.kernel.errors import ForkRefused, ProofMismatch, StaleVersion
from counterpoint.kernel.matching.expressions import expression
from counterpoint.kernel.plurals import counted

_EPOCH = expression(r"epoch ([1-9][0-9]{0,8})")
_HEAD = expression(rb"counterpoint/[^/\n]*\n")


def check_growth(last: SignedHead | None, growth: Growth) -> None:
    """Pass if a head extends the last; ForkRefused, StaleVersion if the proof begins elsewhere."""
    if last is None:
        return
    if growth.epoch != last.epoch:
        raise ForkRefused(
            f"the ledger tells of epoch {growth.epoch}, but the signer is in epoch {last.epoch}",
            signed=last.size,
        )
    if growth.size < last.size:
        raise ForkRefused(
            f"the ledger has {counted(growth.size, 'entry')}, but {last.size:,} were signed: it was cut off, or"
            " an older copy is in its place",
            signed=last.size,
            size=growth.size,
        )
    if growth.before != last.size:
        raise StaleVersion(f"the last head signed is of {last.size} entries, not {growth.before}")
    try:
        verify_consistency(last.size, growth.size, last.root, growth.root, growth.proof)
    except ProofMismatch as fault:
        raise ForkRefused(
            f"the ledger of {growth.size} entries does not begin with the {last.size} that were"
            " signed: its history was written anew",
            signed=last.size,
            size=growth.size,
        ) from fault


def check_epoch(last: SignedHead | None, growth: Growth) -> None:
    """Pass if a head opens an epoch above the last; ForkRefused."""
    if last is not None and growth.epoch <= last.epoch:
        raise ForkRefused(f"epoch {growth.epoch} is not above the last one, {last.epoch}")


def place_fault(seen: str | None, ledger: str | None) -> ForkRefused | None:
    """Return what is wrong with a ledger, or with none, where another one was signed before."""
    if seen is None or seen == ledger:
        return None
    state = "there is no ledger" if ledger is None else f"the ledger is {ledger}"
    return ForkRefused(f"{state}, but another ledger was signed in its place before", before=seen)


def gone_fault(name: str, ledger: str) -> ForkRefused:
    """Return what is wrong where a ledger was signed that is not there any more; name: its own."""
    return ForkRefused(
        f"the ledger {ledger} of {name} was signed in this database, and is not there any more",
        hint="Another ledger may be in its place: restore a backup. If a person has taken it away or moved it on purpose,"
        " `counterpoint audit epoch --reason TEXT` says so for ever.",
        before=ledger,
    )


def checkpoint_of(growth: Growth) -> Checkpoint:
    """Return the checkpoint that says a head."""
    lines = (f"epoch {growth.epoch}",) if growth.epoch > FIRST_EPOCH else ()
    return Checkpoint(origin=growth.origin, size=growth.size, root=growth.root, extensions=lines)


def epoch_of(extensions: Iterable[str]) -> int:
    """Return the epoch that the further lines of a checkpoint say."""
    matches = (_EPOCH.fullmatch(line) for line in extensions)
    return next((int(match[1]) for match in matches if match), FIRST_EPOCH)


def origin_of(project: str) -> str:
    """Return the name that heads and keys of a project's ledger go by."""
    return f"counterpoint/{project}"


def is_head(statement: bytes) -> bool:
    """Tell whether a text that somebody wants signed could be read as the head of a ledger."""
    return _HEAD.match(statement) is not None

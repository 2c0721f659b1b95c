"""Heads of a ledger that were signed, their epochs, and who else has them."""

from __future__ import annotations

from typing import ClassVar, Final

from counterpoint.core.model.rows import Agent, Digest, Names, Noun, Prose
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

FIRST_EPOCH = 1
"""The epoch of a ledger in which nobody had to begin another one."""
NAMED: Final = "signer.named"
"""What the entry says that names the first key of a ledger."""
OPENED: Final = "epoch.opened"
"""What an entry that opens one says."""
RECOVERED: Final = "key.recovered"
"""What an entry says that opens one to let a key of a person in."""


@frozen
class Epoch(Noun):
    """The word of a person that the signer may go on from a head which does not extend the last.

    number: from 2; the first has no row. key: public key of the signer from here on, in hex.
    left_epoch, left_size, left_root: the highest head that the signer, the checkpoint beside the ledger or a witness had of
    what was left; 0, -1 and empty if nobody had any. Where nothing of the epoch before is left, and somebody has a head of an older one
    of which no epoch tells yet, that one.
    gone: names of ledgers that were signed in this database before and are not there any more, on purpose.
    confirmed_by: id of the key of the person who signed this; empty: nobody did.
    """

    table: ClassVar[str] = "epochs"
    key: ClassVar[tuple[str, ...]] = ("project", "number")

    number: int
    public_key: Digest
    left_epoch: int
    left_size: int
    left_root: Digest
    gone: Names
    reason: Prose
    confirmed_by: Digest
    agent: Agent
    opened_at: Timestamp


@frozen
class SignedHead:
    """A size and root that a signer has signed. note: the signed checkpoint; time: when, UTC."""

    size: int
    root: bytes
    epoch: int
    time: str
    note: str


@frozen
class Growth:
    """A head that a signer is asked to sign, and the proof that it extends the last one.

    origin: the ledger's name in checkpoints. proof: of consistency with the head of `before` entries.
    epoch: the last one that the ledger tells of. gone: names of other ledgers that are not in this place any more; heard with
    an epoch alone.
    """

    origin: str
    size: int
    root: bytes
    before: int
    proof: tuple[bytes, ...]
    epoch: int
    gone: tuple[str, ...] = ()


@frozen
class Left:
    """What an epoch leaves: the highest head that anybody has, and names of ledgers that are not in this database any more.

    signed: the head that the signer itself signed last. untold: the highest one of an epoch before of which no epoch tells. public_key: that of the signer from here on, in hex; empty until
    the epoch is about to be opened.
    """

    head: SignedHead | None
    gone: tuple[str, ...]
    signed: SignedHead | None = None
    untold: SignedHead | None = None
    public_key: Digest = ""


@frozen
class Unsigned:
    """What of a ledger waits for a signature: how many entries, and since when.

    why: what keeps it. broken: that is a fault of the ledger, and not of the signer. away: it is that there is no signer.
    """

    signed: int
    waiting: int
    since: str
    why: str = ""
    broken: bool = False
    away: bool = False


@frozen
class WitnessedHead:
    """The last head that a witness has. time: when it got it, UTC.

    note: the signed checkpoint; empty if the witness tells no more than the size.
    """

    size: int
    time: str
    note: str = ""


@frozen
class Witnessed:
    """What a witness vouches for: the first `size` entries, since `time`. size: -1 if it has no head."""

    witness: str
    size: int
    time: str


@frozen
class AskedLess:
    """An entry from which less is asked of witnesses: how many of which, before and after.

    signed_by: the key of the person who signed that; empty: nobody did.
    """

    place: int
    before: tuple[int, tuple[str, ...]]
    after: tuple[int, tuple[str, ...]]
    signed_by: str


@frozen
class QuorumReport:
    """How many of which witnesses must have signed, since which entry, and who has. lowered: where it became less."""

    count: int = 0
    witnesses: tuple[str, ...] = ()
    place: int = -1
    signed: tuple[str, ...] = ()
    lowered: tuple[AskedLess, ...] = ()


@frozen
class MovedAway:
    """Where a ledger was moved to, as a person may read it, and when."""

    place: str
    time: str

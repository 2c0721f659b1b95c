"""What says that entries were written for a connection or a credential."""

from __future__ import annotations

from counterpoint.kernel.frozen import frozen


@frozen
class WriterSignature:
    """A signature over entries of one writer; it stands beside them and is no part of what is folded.

    writer: the principal. first: place of the first entry. delegation: names the writer's key, signed by that of
    the ledger. note: names the entries, signed by the writer's key. Both as core/ledger/writers/signature.py says.
    """

    writer: str
    first: int
    delegation: str
    note: str


@frozen
class WriterGrowth:
    """Entries of one writer that a signer is asked to sign, and the proof that they extend those it signed last.

    first, last: places. count, root: of all of its own between them. before, proof: how many of them, from the first
    on, were signed before, and the proof of consistency with these (RFC 6962); 0 for a range that was not.
    """

    writer: str
    first: int
    last: int
    count: int
    root: bytes
    before: int = 0
    proof: tuple[bytes, ...] = ()


@frozen
class SignedRange:
    """What a signer signed last for a writer."""

    first: int
    last: int
    count: int
    root: bytes


@frozen
class WriterProof:
    """What shows that an entry is its writer's own: a signature, and the path to its root, in hex.

    signature: None if the writer has not signed it. place: of the entry among those that are signed.
    """

    writer: str
    signature: WriterSignature | None = None
    place: int = -1
    path: tuple[str, ...] = ()

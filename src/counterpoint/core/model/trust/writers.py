"""What says that entries were written for a connection or a credential."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSignature:
    """A signature over entries of one writer; it stands beside them and is no part of what is folded.

    writer: the principal. first: place of the first entry. delegation: names the writer's key, signed by that of
    the ledger. note: names the entries, signed by the writer's key. Both as core/ledger/writers/signature.py says.
    """

    writer: str
    first: int
    delegation: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterProof:
    """What shows that an entry is its writer's own: a signature, and the path to its root, in hex.

    signature: None if the writer has not signed it. place: of the entry among those that are signed.
    """

    writer: str
    signature: WriterSignature | None = None
    place: int = -1
    path: tuple[str, ...] = ()

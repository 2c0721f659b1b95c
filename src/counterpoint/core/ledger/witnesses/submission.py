"""What a log submits to a witness, and how that judges it (C2SP tlog-witness).

Layout of a request, each line ended by a line feed:

    old SIZE    the size that the witness cosigned last, in decimal; 0 for the first time
    proof       at most 63 lines: the hashes of a proof of consistency (RFC 6962), in base64
    (empty)     one empty line
    checkpoint  a signed note (see checkpoint.py)

A witness cosigns if and only if, in this order, (1) the request has this layout [else 400]; (2) it knows the
origin of the checkpoint [404]; (3) a key that it trusts for the origin has signed it, and no signature that
names such a key is wrong [403]; (4) the old size is not above that of the checkpoint [400], (5) and is that of the
head that it cosigned last [409, with the size of that]; (6) of two heads of one size the roots are the same
[409]; (7) the proof leads from the one to the other [422].
So whatever it cosigns of one origin is one history, whoever asks. A request whose old size is that of its
checkpoint never changes what a witness has: logs use it to ask what that is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.merkle import EMPTY_ROOT, HASH_SIZE, verify_consistency
from counterpoint.core.ledger.note import (
    Note,
    VerifierKey,
    claims_of,
    from_base64,
    open_note,
    to_base64,
    verify_note,
)
from counterpoint.kernel.errors import (
    Forbidden,
    ForkRefused,
    InvalidInput,
    LedgerBroken,
    MalformedDocument,
    NotFound,
    StaleVersion,
)

MOST_HASHES: Final = 63
_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,18})")
_SIZE: Final = re.compile(rb"(0|[1-9][0-9]{0,18})\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A checkpoint, and the proof that it extends the one of the old size."""

    old: int
    proof: tuple[bytes, ...]
    note: str

    def to_bytes(self) -> bytes:
        """Return the body of the request."""
        hashes = "".join(f"{to_base64(digest)}\n" for digest in self.proof)
        return f"old {self.old}\n{hashes}\n{self.note}".encode()

    @classmethod
    def from_bytes(cls, body: bytes) -> Submission:
        """Return the submission that a body is; MalformedDocument if it is none."""
        try:
            top, gap, note = body.decode().partition("\n\n")
        except UnicodeDecodeError as fault:
            raise MalformedDocument("a request is valid UTF-8") from fault
        first, *hashes = top.split("\n")
        old = _OLD.fullmatch(first)
        if old is None or not gap:
            raise MalformedDocument("a request has a line `old SIZE`, a proof and a checkpoint")
        proof = tuple(map(from_base64, hashes))
        if len(proof) > MOST_HASHES or any(len(digest) != HASH_SIZE for digest in proof):
            raise MalformedDocument(f"a proof has at most {MOST_HASHES} hashes of 32 bytes")
        return cls(old=int(old[1]), proof=proof, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosigned:
    """The head of a log that a witness cosigned last."""

    size: int
    root: bytes


def open_submitted(note: str, keys: Collection[VerifierKey]) -> tuple[Note, Checkpoint]:
    """Return a checkpoint that one of the keys for its origin has signed; NotFound, Forbidden."""
    opened = open_note(note)
    checkpoint = Checkpoint.from_text(opened.text)
    origin_keys = [key for key in keys if key.name == checkpoint.origin]
    if not origin_keys:
        raise NotFound(f"this witness does not know the log {checkpoint.origin}")
    signed = [key for key in origin_keys if claims_of(opened, key)]
    if not signed:
        raise Forbidden(f"no key that is known of {checkpoint.origin} has signed it")
    for key in signed:
        try:
            verify_note(opened, key)
        except LedgerBroken as fault:
            raise Forbidden(fault.message) from fault
    return opened, checkpoint


def check_submission(submission: Submission, checkpoint: Checkpoint, last: Cosigned | None) -> None:
    """Pass if a checkpoint extends the last; InvalidInput, StaleVersion, ForkRefused, ProofMismatch."""
    if submission.old > checkpoint.size:
        raise InvalidInput(f"the old size {submission.old} is above the size {checkpoint.size}")
    size = last.size if last else 0
    if submission.old != size:
        raise StaleVersion(f"the head cosigned last is of {size} entries", size=size)
    root = last.root if last else EMPTY_ROOT
    if submission.old == checkpoint.size and root != checkpoint.root:
        raise ForkRefused(f"another head of {size} entries was cosigned", size=size)
    verify_consistency(submission.old, checkpoint.size, root, checkpoint.root, submission.proof)


def load_size(body: bytes) -> int | None:
    """Return the size that a witness answers to an old size that is not its own; None if it is none."""
    match = _SIZE.fullmatch(body)
    return int(match[1]) if match else None

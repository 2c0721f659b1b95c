"""Cosignatures: that a witness saw a checkpoint, and when (C2SP tlog-cosignature).

A cosignature is a signature line of a note (see note.py) by a key of the type 0x04:

    key id     the first 4 bytes of SHA-256(NAME || 0x0A || 0x04 || public key)
    signature  8 bytes: seconds since 1970, big-endian; 64 bytes: Ed25519 over the message
    message    `cosignature/v1`, `time SECONDS` in decimal, and the text of the checkpoint, all lines ended

It says: of the log that the origin names, this is the largest consistent head seen by that time. A witness has
cosigned a note if and only if (1) a signature carries its name and key id, (2) all that do have 72
bytes, a time below 2^63 that is not 0, and are right. Of several the latest time counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from counterpoint.core.ledger.note import (
    Note,
    Sign,
    VerifierKey,
    claims_of,
    is_signature,
    signature_line,
)
from counterpoint.kernel.errors import ProofMismatch

_TIME_SIZE: Final = 8
_SIZE: Final = 72
_TIME_LIMIT: Final = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class CosignerKey(VerifierKey):
    """The public key of a witness. `cosignature/v1` does not sign the name: a key has one name."""

    algorithm: ClassVar[bytes] = b"\x04"


def cosign(text: str, key: CosignerKey, sign: Sign, seconds: int) -> str:
    """Return the signature line of a witness over the text of a checkpoint."""
    signature = sign(_message(text, seconds))
    return signature_line(key, seconds.to_bytes(_TIME_SIZE, "big") + signature)


def cosignature_time(note: Note, key: CosignerKey) -> int:
    """Return when a witness cosigned a note, in seconds since 1970; ProofMismatch if it did not."""
    claims = claims_of(note, key)
    if not claims:
        raise ProofMismatch(f"the note is not cosigned by {key.name}", key=key.to_text())
    times: list[int] = []
    for claim in claims:
        seconds = int.from_bytes(claim.signature[:_TIME_SIZE], "big")
        signature = claim.signature[_TIME_SIZE:]
        if (
            len(claim.signature) != _SIZE
            or not 0 < seconds < _TIME_LIMIT
            or not is_signature(key.public_key, _message(note.text, seconds), signature)
        ):
            raise ProofMismatch(f"a cosignature of {key.name} does not fit", key=key.to_text())
        times.append(seconds)
    return max(times)


def _message(text: str, seconds: int) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()

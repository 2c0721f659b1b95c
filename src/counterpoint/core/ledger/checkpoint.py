"""Checkpoints: the size and root of a log as signed text (C2SP tlog-checkpoint).

Layout of the text, each line ended by a line feed:

    origin      names the log for good; not empty
    size        number of entries, in decimal digits
    root        the Merkle root (RFC 6962, SHA-256) of that many entries, in base64
    extension   any number of lines, not empty, whose meaning is not fixed here

The text is signed as a note (see note.py).

A text is a valid checkpoint if and only if (1) it has at least the three lines, (2) no line is
empty, (3) the size has no leading zero and is below 2^63, (4) the root is 32 bytes in canonical
base64, (5) it has no control characters but the line feeds, of which the last ends the text.
A document is a checkpoint of a log if and only if (1) it is a signed note, (2) the key of the log
has signed it, (3) its text is a valid checkpoint and (4) the origin is the one expected: the name
of the key, unless the caller says another.
"""

from __future__ import annotations

from counterpoint.core.ledger.merkle import HASH_SIZE
from counterpoint.core.ledger.note import (
    Sign,
    VerifierKey,
    from_base64,
    open_note,
    seal_note,
    to_base64,
    verify_note,
)
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

_SIZE = expression(r"0|[1-9][0-9]{0,18}")
_SIZE_LIMIT = 2**63
_FIXED_LINES = 3


@frozen
class Checkpoint:
    """What a log was at one moment: its origin, its size and the 32 bytes of its root."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what the text of a checkpoint cannot carry."""
        if not all(map(_is_line, (self.origin, *self.extensions))):
            raise MalformedDocument("a line of a checkpoint is empty or has control characters")
        if not 0 <= self.size < _SIZE_LIMIT or len(self.root) != HASH_SIZE:
            raise MalformedDocument(
                f"a checkpoint has a size below 2^63 and {HASH_SIZE} root bytes"
            )

    def to_text(self) -> str:
        """Return the text that is signed."""
        lines = (self.origin, str(self.size), to_base64(self.root), *self.extensions)
        return "".join(f"{line}\n" for line in lines)

    @classmethod
    def from_text(cls, text: str) -> Checkpoint:
        """Return the checkpoint that the text is; MalformedDocument if it is none."""
        lines = text.split("\n")
        if lines.pop() != "" or len(lines) < _FIXED_LINES:
            raise MalformedDocument("a checkpoint has three lines or more, all ended")
        origin, size, root, *extensions = lines
        if not _SIZE.fullmatch(size):
            raise MalformedDocument("the size of a checkpoint is decimal without leading zeros")
        return cls(
            origin=origin, size=int(size), root=from_base64(root), extensions=tuple(extensions)
        )


def seal(checkpoint: Checkpoint, sign: Sign, key: VerifierKey) -> str:
    """Return the checkpoint as a note signed by the owner of the key."""
    return seal_note(checkpoint.to_text(), sign, key)


def open_checkpoint(document: str) -> Checkpoint:
    """Return what a signed checkpoint says, unchecked; MalformedDocument if it is not one."""
    return Checkpoint.from_text(open_note(document).text)


def verify(document: str, key: VerifierKey, origin: str = "") -> Checkpoint:
    """Return the checkpoint if the key has signed it for the origin (by default the key's name).

    MalformedDocument if it cannot be read; ProofMismatch if it is not signed, or of another log.
    """
    note = open_note(document)
    verify_note(note, key)
    checkpoint = Checkpoint.from_text(note.text)
    expected = origin or key.name
    if checkpoint.origin != expected:
        raise ProofMismatch(
            f"the checkpoint is of the log {checkpoint.origin}, not of {expected}",
            hint="Ask for the checkpoint of the log that you verify.",
            origin=checkpoint.origin,
        )
    return checkpoint


def _is_line(text: str) -> bool:
    return text != "" and not any(letter < " " for letter in text)

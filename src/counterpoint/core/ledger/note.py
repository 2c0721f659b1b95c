"""Signed notes: a text with Ed25519 signatures below it (C2SP signed-note).

Layout, in UTF-8:

    text        one or more lines, each ended by a line feed
    (empty)     one empty line: the last of the document
    signatures  one or more lines `— NAME BASE64`, each ended by a line feed

`—` is U+2014. NAME is the name of the key: at least one character, no white space, no `+`. BASE64
is the standard alphabet with padding, of the 4 bytes of the key id followed by the signature. An
Ed25519 signature is 64 bytes, made over the text with its last line feed and without the empty line.

    key id  the first 4 bytes of SHA-256(NAME || 0x0A || 0x01 || public key)
    vkey    NAME+HEX+BASE64: the key id as 8 hex digits in lower case, and 0x01 || public key

A document is valid if and only if (1) it is valid UTF-8 without control characters below U+0020
but the line feed, (2) it has the layout above, (3) every base64 is in its one canonical spelling,
(4) it has at most 100 signatures, of at least one byte each.
A key has signed it if and only if (1) a signature carries its name and its key id, and (2) all
that do are right. Signatures of other keys are neither trusted nor held against the document.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from hashlib import sha256
from typing import ClassVar, Self

from counterpoint.kernel.errors import MalformedDocument, ProofMismatch
from counterpoint.kernel.frozen import frozen
from counterpoint.kernel.matching.expressions import expression

Sign = Callable[[bytes], bytes]
"""Answers the 64 bytes of the Ed25519 signature of a message."""

_KEY_SIZE = 32
_ID_SIZE = 4
_DASH = "— "
_MOST_SIGNATURES = 100
_WHOLE_KEY = "Give NAME+ID+BASE64, as `counterpoint audit verify` shows it."
_VKEY_PARTS = 3
_PUBLIC_KEY = expression("[0-9a-f]{64}")


def is_public_key(text: str) -> bool:
    """Tell whether a text is a public key as a ledger names it, in hex."""
    return _PUBLIC_KEY.fullmatch(text) is not None


@frozen
class VerifierKey:
    """A named Ed25519 public key of 32 bytes. algorithm: the byte that says what it signs."""

    algorithm: ClassVar[bytes] = b"\x01"

    name: str
    public_key: bytes

    def __post_init__(self) -> None:
        """Refuse a name or a key that a note cannot carry."""
        if not _is_key_name(self.name):
            raise MalformedDocument("a key name is one word without `+`")
        if len(self.public_key) != _KEY_SIZE:
            raise MalformedDocument(f"an Ed25519 public key has {_KEY_SIZE} bytes")

    @property
    def key_id(self) -> bytes:
        """The 4 bytes that tell keys of one name apart."""
        return sha256(self.name.encode() + b"\n" + self.algorithm + self.public_key).digest()[
            :_ID_SIZE
        ]

    def to_text(self) -> str:
        """Return the key as a vkey."""
        return f"{self.name}+{self.key_id.hex()}+{to_base64(self.algorithm + self.public_key)}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the key that a vkey spells; MalformedDocument if it spells none."""
        parts = text.split("+", 2)
        if len(parts) != _VKEY_PARTS:
            raise MalformedDocument(f"{text[:80]!r} is no verifier key", hint=_WHOLE_KEY)
        name, key_id, encoded = parts
        raw = from_base64(encoded)
        if raw[:1] != cls.algorithm:
            raise MalformedDocument(f"the verifier key is not of the type {cls.algorithm.hex()}")
        key = cls(name=name, public_key=raw[1:])
        if key.key_id.hex() != key_id:
            raise MalformedDocument("the id of the verifier key does not fit its name and bytes")
        return key


@frozen
class Signature:
    """One signature line: who says to have signed, and the raw signature."""

    name: str
    key_id: bytes
    signature: bytes


@frozen
class Note:
    """A document that was read but whose signatures nobody has checked yet."""

    text: str
    signatures: tuple[Signature, ...]


def seal_note(text: str, sign: Sign, key: VerifierKey) -> str:
    """Return the text with one signature; MalformedDocument if no note can hold the text."""
    _check_text(text)
    return f"{text}\n{signature_line(key, sign(text.encode()))}"


def signature_line(key: VerifierKey, signature: bytes) -> str:
    """Return the line of a signature by a key, with its line feed."""
    return f"{_DASH}{key.name} {to_base64(key.key_id + signature)}\n"


def open_note(document: str) -> Note:
    """Return the parts of a signed note, unchecked; MalformedDocument if it is not one."""
    _check_text(document)
    # The last empty line: the text may have some of its own.
    text, gap, block = document.rpartition("\n\n")
    lines = block.split("\n")[:-1]
    if not gap or not lines:
        raise MalformedDocument("a signed note ends with an empty line and signature lines")
    if len(lines) > _MOST_SIGNATURES:
        raise MalformedDocument(f"a signed note has at most {_MOST_SIGNATURES} signatures")
    _check_text(text + "\n")
    return Note(text=text + "\n", signatures=tuple(map(_load_signature, lines)))


def verify_note(note: Note, key: VerifierKey) -> None:
    """Pass if the key has signed the note, else raise ProofMismatch."""
    claims = claims_of(note, key)
    if not claims:
        raise ProofMismatch(
            f"the note is not signed by the key {key.name}",
            hint="Check that the verifier key is the one of this project.",
            key=key.to_text(),
        )
    message = note.text.encode()
    if not all(is_signature(key.public_key, message, claim.signature) for claim in claims):
        raise ProofMismatch(
            f"a signature of the key {key.name} does not fit the text",
            hint="The text was changed after it was signed; do not trust it.",
            key=key.to_text(),
        )


def claims_of(note: Note, key: VerifierKey) -> list[Signature]:
    """Return the signatures that carry the name and the id of a key."""
    return [
        claim for claim in note.signatures if (claim.name, claim.key_id) == (key.name, key.key_id)
    ]


def to_base64(data: bytes) -> str:
    """Return bytes in the standard base64 alphabet with padding (RFC 4648, section 4)."""
    return base64.b64encode(data).decode()


def from_base64(text: str) -> bytes:
    """Return the bytes of canonical base64; MalformedDocument at any other spelling."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as fault:
        raise MalformedDocument("not valid base64") from fault
    # The unused bits at the end could differ, and two documents would be one.
    if to_base64(raw) != text:
        raise MalformedDocument("not the canonical spelling of base64")
    return raw


def _load_signature(line: str) -> Signature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not _is_key_name(name):
        raise MalformedDocument("a signature line is `— NAME BASE64`")
    raw = from_base64(encoded)
    if len(raw) <= _ID_SIZE:
        raise MalformedDocument("a signature line holds no signature")
    return Signature(name=name, key_id=raw[:_ID_SIZE], signature=raw[_ID_SIZE:])


def _check_text(text: str) -> None:
    if text.strip("\n") == "" or not text.endswith("\n"):
        raise MalformedDocument("a note is not empty and ends with a line feed")
    if any(letter < " " and letter != "\n" for letter in text):
        raise MalformedDocument("a note has no control characters but the line feed")
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        raise MalformedDocument("a note is valid Unicode") from fault


def _is_key_name(name: str) -> bool:
    return name != "" and "+" not in name and not any(map(str.isspace, name))


def is_signature(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether an Ed25519 key has signed a message."""
    # Imported here because it takes as long as the rest of the ledger together.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PublicKey,
    )

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True

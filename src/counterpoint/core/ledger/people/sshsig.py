"""SSH signatures (OpenSSH's PROTOCOL.sshsig), written and verified.

A signature is the standard base64, in its one spelling, of these bytes; `string` is a length of 4
bytes (big-endian) and so many bytes, `mpint` a string that holds a positive number as RFC 4251 says:

    "SSHSIG"  uint32 version 1
    string    public key
    string    namespace: `counterpoint`
    string    reserved: empty
    string    hash: `sha256` or `sha512`
    string    signature

What is signed is "SSHSIG" || string namespace || string reserved || string hash || string H(message). The
public key and the signature begin with a string that says their sort:

    ssh-ed25519            key: string (32 bytes); signature: string (64 bytes)
    ecdsa-sha2-nistp256    key: string `nistp256`, string point; signature: string (mpint r, mpint s)
    ssh-rsa                key: mpint e, mpint n (2048 to 16384 bits); signature: string, PKCS #1 v1.5; its
                           sort is rsa-sha2-256 or rsa-sha2-512
    sk-ssh-ed25519@openssh.com, sk-ecdsa-sha2-nistp256@openssh.com
                           as those above, then key: string application; signature: byte flags, uint32
                           counter. Signed is SHA-256(application) || flags || counter || SHA-256(what is
                           signed otherwise)

A signature holds if and only if (1) it has this layout, with nothing after it; (2) its public key is the one that is
asked for; (3) the arithmetic of its sort says so; (4) of a hardware key (`sk-`), flag 1 is set: somebody touched it.
The namespace keeps a signature of this product from being one of a commit or a file, and the other way round.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from hashlib import sha256, sha512
from typing import Final

from counterpoint.core.ledger.note import from_base64, to_base64
from counterpoint.kernel.errors import MalformedDocument

Verify = Callable[[str, bytes, str], bool]
"""Answers whether a signature of a message holds under a public key, both as texts."""

NAMESPACE: Final = "counterpoint"
_MAGIC: Final = b"SSHSIG"
_VERSION: Final = b"\x00\x00\x00\x01"
_HASHES: Final = {b"sha256": sha256, b"sha512": sha512}
_RSA: Final = frozenset((b"rsa-sha2-256", b"rsa-sha2-512"))
_RSA_BITS: Final = range(2048, 16_384 + 1)
_RSA_EXPONENTS: Final = range(3, 2**64, 2)
"""One as long as the modulus makes each verification take minutes."""
_HARDWARE: Final = b"@openssh.com"
_TOUCHED: Final = 1
_WORDS: Final = 2


class _Reader:
    """Bytes in the form of RFC 4251, taken from the front; MalformedDocument where they end early."""

    def __init__(self, content: bytes) -> None:
        self._rest = content

    def take(self, size: int) -> bytes:
        if len(self._rest) < size:
            raise MalformedDocument("the bytes end before they should")
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def string(self) -> bytes:
        return self.take(int.from_bytes(self.take(4)))

    def mpint(self) -> int:
        digits = self.string()
        number = int.from_bytes(digits)
        if digits != _mpint(number)[4:]:
            raise MalformedDocument("a number is not in its one spelling")
        return number

    def end(self) -> None:
        if self._rest:
            raise MalformedDocument("there are bytes after the end")


def _string(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def _mpint(number: int) -> bytes:
    return _string(number.to_bytes(number.bit_length() // 8 + 1)) if number else _string(b"")


def public_key_of(line: str) -> str:
    """Return a public key as `SORT BASE64`, from a line that may have a comment; MalformedDocument."""
    words = line.split()
    if len(words) < _WORDS:
        raise MalformedDocument(
            "a public key is a line of a sort and base64, as in `id_ed25519.pub`"
        )
    public_key = " ".join(words[:_WORDS])
    _open_key(_blob_of(public_key))
    return public_key


def key_id_of(public_key: str) -> str:
    """Return the fingerprint of a public key, as `ssh-keygen -l` says it."""
    return "SHA256:" + to_base64(sha256(_blob_of(public_key)).digest()).rstrip("=")


def is_hardware(public_key: str) -> bool:
    """Return whether a public key is of a security key, which somebody has to touch."""
    return public_key.split(" ", 1)[0].endswith(_HARDWARE.decode())


def ed25519_line(raw: bytes) -> str:
    """Return the line of an Ed25519 public key of 32 bytes."""
    return f"ssh-ed25519 {to_base64(_string(b'ssh-ed25519') + _string(raw))}"


def seal(message: bytes, public_key: str, sign: Callable[[bytes], bytes]) -> str:
    """Return the signature of a message by an Ed25519 key, whose private half signs bytes."""
    signature = _string(b"ssh-ed25519") + _string(sign(_signed(message, b"sha512")))
    parts = (_blob_of(public_key), NAMESPACE.encode(), b"", b"sha512", signature)
    return to_base64(_MAGIC + _VERSION + b"".join(map(_string, parts)))


def parse_armour(document: str) -> str:
    """Return the signature in a file of `ssh-keygen -Y sign`; MalformedDocument if it is none."""
    first, *lines, last = document.strip().split("\n") if "\n" in document else ("", "")
    if (first, last) != ("-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"):
        raise MalformedDocument("this is no signature of ssh-keygen")
    return to_base64(from_base64("".join(lines)))


def render_armour(signature: str) -> str:
    """Return a signature as the file that `ssh-keygen -Y verify` reads."""
    lines = [signature[start : start + 70] for start in range(0, len(signature), 70)]
    whole = ("-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----")
    return "\n".join(whole) + "\n"


def verify(public_key: str, message: bytes, signature: str) -> bool:
    """Return whether a signature of a message holds under a public key, as the rules above say."""
    try:
        return _holds(_blob_of(public_key), message, from_base64(signature))
    except MalformedDocument:
        return False


def _holds(blob: bytes, message: bytes, document: bytes) -> bool:
    reader = _Reader(document)
    head = reader.take(len(_MAGIC)), reader.take(len(_VERSION)), reader.string()
    namespace, reserved, hashed = reader.string(), reader.string(), reader.string()
    signature = reader.string()
    reader.end()
    if head != (_MAGIC, _VERSION, blob) or hashed not in _HASHES:
        return False
    if (namespace, reserved) != (NAMESPACE.encode(), b""):
        return False
    return _open_key(blob)(_signed(message, hashed), _Reader(signature))


def _signed(message: bytes, hashed: bytes) -> bytes:
    parts = (NAMESPACE.encode(), b"", hashed, _HASHES[hashed](message).digest())
    return _MAGIC + b"".join(map(_string, parts))


def _blob_of(public_key: str) -> bytes:
    sort, _, encoded = public_key.partition(" ")
    blob = from_base64(encoded)
    if _Reader(blob).string() != sort.encode():
        raise MalformedDocument("the public key is of another sort than its line says")
    return blob


_Check = Callable[[bytes, _Reader], bool]
"""Answers whether the bytes of a signature, from its sort on, are one of some bytes."""


def _open_key(blob: bytes) -> _Check:
    """Return what checks signatures under a public key; MalformedDocument for a sort that none knows."""
    reader = _Reader(blob)
    sort = reader.string()
    plain = sort.removesuffix(_HARDWARE).removeprefix(b"sk-") if sort.endswith(_HARDWARE) else sort
    if plain == b"ssh-ed25519":
        check = _ed25519(sort, reader.string())
    elif plain == b"ecdsa-sha2-nistp256" and reader.string() == b"nistp256":
        check = _ecdsa(sort, reader.string())
    elif sort == b"ssh-rsa":
        check = _rsa(reader.mpint(), reader.mpint())
    else:
        raise MalformedDocument(f"keys of the sort {sort.decode(errors='replace')} are not read")
    if plain != sort:
        check = _touched(check, reader.string())
    reader.end()
    return check


def _touched(check: _Check, application: bytes) -> _Check:
    """Return the check of a hardware key: of what its device adds to what is signed."""

    def checked(signed: bytes, reader: _Reader) -> bool:
        sort, signature = reader.string(), reader.string()
        flags, counter = reader.take(1), reader.take(4)
        reader.end()
        message = sha256(application).digest() + flags + counter + sha256(signed).digest()
        return bool(flags[0] & _TOUCHED) and check(
            message, _Reader(_string(sort) + _string(signature))
        )

    return checked


def _ed25519(sort: bytes, raw: bytes) -> _Check:
    # Loading the library takes longer than starting a small program; most runs verify nothing.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(raw)
    except ValueError as fault:
        raise MalformedDocument("no key of Ed25519") from fault

    def check(signed: bytes, reader: _Reader) -> bool:
        signed_sort, signature = reader.string(), reader.string()
        reader.end()
        try:
            key.verify(signature, signed)
        except InvalidSignature:
            return False
        return signed_sort == sort

    return check


def _ecdsa(sort: bytes, point: bytes) -> _Check:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    if point[:1] != b"\x04":
        raise MalformedDocument("a point is written with both its numbers")
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError as fault:
        raise MalformedDocument("no point of the curve") from fault

    def check(signed: bytes, reader: _Reader) -> bool:
        signed_sort, numbers = reader.string(), _Reader(reader.string())
        reader.end()
        pair = numbers.mpint(), numbers.mpint()
        numbers.end()
        try:
            key.verify(encode_dss_signature(*pair), signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return signed_sort == sort

    return check


def _rsa(exponent: int, modulus: int) -> _Check:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    if modulus.bit_length() not in _RSA_BITS or not modulus % 2:
        raise MalformedDocument("a key of RSA is odd, and has 2048 to 16384 bits")
    if exponent not in _RSA_EXPONENTS:
        raise MalformedDocument("the exponent of a key of RSA is odd, and 3 to 2^64")
    key = rsa.RSAPublicNumbers(exponent, modulus).public_key()

    def check(signed: bytes, reader: _Reader) -> bool:
        sort, signature = reader.string(), reader.string()
        reader.end()
        if sort not in _RSA:
            return False
        hashed = hashes.SHA256() if sort == b"rsa-sha2-256" else hashes.SHA512()
        try:
            key.verify(signature, signed, padding.PKCS1v15(), hashed)
        except InvalidSignature:
            return False
        return True

    return check

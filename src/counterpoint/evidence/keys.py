"""An Ed25519 key in a folder: made once, kept private, used to sign.

Layout: `ed25519` holds the private key (PEM, PKCS #8, mode 0600) and `ed25519.pub` the public one
(PEM, SubjectPublicKeyInfo), in a folder of mode 0700. A stored key is valid if and only if (1) the
folder can be written by nobody but its owner, (2) the private file is a plain file that nobody but
its owner can read or write, (3) it holds an Ed25519 key without passphrase, (4) the public file is
absent, and is then written, or holds the public half of that key.

Making: the key is written in full to a file of a random name and then linked to its own name.
A link is made only where there is none, so of racing processes one wins, and all read its key.
"""

from __future__ import annotations

import hmac
import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from counterpoint.evidence.replacing import publish_file
from counterpoint.kernel.durable import make_folder
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.frozen import frozen

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_PRIVATE = "ed25519"
_PUBLIC = "ed25519.pub"
_FOR_OTHERS = 0o077
_WRITE_FOR_OTHERS = 0o022
_LARGEST = 10_000
_PRIVATE_MARKS = b"-----BEGIN PRIVATE KEY-----", b"-----END PRIVATE KEY-----"
_PUBLIC_MARKS = b"-----BEGIN PUBLIC KEY-----", b"-----END PUBLIC KEY-----"
_PRIVATE_HEAD = bytes.fromhex("302e020100300506032b657004220420")
"""What stands in DER before the seed of a private key: PKCS #8 without attributes, of Ed25519."""
_PUBLIC_HEAD = bytes.fromhex("302a300506032b6570032100")
_HALF_LENGTH = 32
"""Bytes of a seed, and of a public half."""
Stamp = tuple[int, ...]
"""Devices, numbers and times of change of files."""
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class ProjectKey:
    """A key pair in memory.

    public_key: the 32 raw bytes of the public half.
    """

    public_key: bytes
    _sign: Callable[[bytes], bytes] = field(repr=False)
    _seed: bytes = field(repr=False)

    @property
    def public_pem(self) -> bytes:
        """The public half as its file holds it (RFC 8410, section 4)."""
        body = b64encode(_PUBLIC_HEAD + self.public_key)
        return b"\n".join((_PUBLIC_MARKS[0], body, _PUBLIC_MARKS[1], b""))

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of the signature (RFC 8032, section 5.1)."""
        return self._sign(message)

    def derived(self, purpose: str) -> ProjectKey:
        """Return the key for a purpose: its seed is HMAC-SHA256 of the purpose under the seed of this one."""
        from cryptography.hazmat.primitives.asymmetric import ed25519

        seed = hmac.digest(self._seed, purpose.encode(), "sha256")
        return _key_of(ed25519.Ed25519PrivateKey.from_private_bytes(seed))


def open_key(folder: Path) -> ProjectKey:
    """Return the key kept in the folder, made on first use; Unavailable if it is not private."""
    try:
        make_folder(folder)
        # Whoever can write the folder can put a key of his own in the place of this one.
        if folder.stat().st_mode & _WRITE_FOR_OTHERS:
            raise Unavailable(
                "others can write the folder of the project's key",
                hint=f"Run `chmod 700 {folder}`, and make sure that the key is still yours.",
            )
        content = _read_private(folder / _PRIVATE)
        if content is None:
            publish_file(folder / _PRIVATE, make_key(), mode=0o600)
            content = _read_private(folder / _PRIVATE) or b""
        key = load_key(content)
        _match_public(folder, key.public_pem)
    except OSError as fault:
        raise Unavailable(
            f"the project's key cannot be used: {fault.strerror}",
            hint=f"Check the owner and the mode of {folder}.",
        ) from fault
    return key


def stamp_of(folder: Path) -> Stamp | None:
    """Return what tells a folder, and the file of the key in it, from others in their place; None without one."""
    try:
        status = folder.lstat()
    except OSError:
        return None
    stamp = status.st_dev, status.st_ino
    with suppress(OSError):
        # A key that is kept elsewhere has no file.
        key = (folder / _PRIVATE).lstat()
        stamp += key.st_ino, key.st_mtime_ns
    return stamp


def fresh_key() -> ProjectKey:
    """Return a key that is kept nowhere."""
    return load_key(make_key())


def find_key(folder: Path) -> ProjectKey | None:
    """Return the key kept in the folder, None if there is none; makes nothing. Unavailable."""
    try:
        content = _read_private(folder / _PRIVATE)
    except OSError as fault:
        raise _unusable(f"cannot be read ({fault.strerror})") from fault
    return load_key(content) if content is not None else None


def find_public(folder: Path) -> bytes | None:
    """Return the 32 bytes of the public half as its file tells; None if the key is not kept in files of ours. Unavailable.

    Nobody but who can put another key in its place can write that file, and nothing is signed where the two do not belong
    together. To reckon it from the private half takes a library that loads for longer than all else that is asked of a key.
    """
    try:
        content = _read_private(folder / _PRIVATE)
        if content is None or _seed_of(content) is None:
            return None
        lines = (folder / _PUBLIC).read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise _unusable(f"cannot be read ({fault.strerror})") from fault
    return _body_of(lines, _PUBLIC_MARKS, _PUBLIC_HEAD)


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether the signature of the message was made with the key's private half."""
    # Loading the library takes longer than starting a small program; most runs sign nothing.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ed25519

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def make_key() -> bytes:
    """Return a fresh private key as a file holds it."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    return ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def load_key(content: bytes) -> ProjectKey:
    """Return the key of what a file holds; Unavailable if it is none."""
    from cryptography.hazmat.primitives.asymmetric import ed25519

    # What reads every form of a key takes twice as long to load as what signs: the form that `make_key` writes is read here.
    if (seed := _seed_of(content)) is not None:
        return _key_of(ed25519.Ed25519PrivateKey.from_private_bytes(seed))
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as fault:
        raise _unusable("is not a PEM key without passphrase") from fault
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _unusable("is not an Ed25519 key")
    return _key_of(key)


def _seed_of(content: bytes) -> bytes | None:
    """Return the seed of a key in the form of RFC 8410, section 7; None if the file has any other."""
    return _body_of(content.split(b"\n"), _PRIVATE_MARKS, _PRIVATE_HEAD)


def _body_of(lines: list[bytes], marks: tuple[bytes, bytes], head: bytes) -> bytes | None:
    """Return what stands in PEM after a fixed beginning; None for any other form, or length."""
    if (lines[0], *lines[2:]) != (*marks, b""):
        return None
    try:
        body = b64decode(lines[1], validate=True)
    except ValueError:
        return None
    is_ours = len(body) == len(head) + _HALF_LENGTH and body.startswith(head)
    return body[len(head) :] if is_ours else None


def _key_of(key: Ed25519PrivateKey) -> ProjectKey:
    return ProjectKey(
        public_key=key.public_key().public_bytes_raw(),
        _sign=key.sign,
        _seed=key.private_bytes_raw(),
    )


def _unusable(reason: str) -> Unavailable:
    return Unavailable(
        f"the project's key file {reason}",
        hint="Restore the key from a backup; signatures made before need the same key.",
    )


def _read_private(path: Path) -> bytes | None:
    """Return the file's bytes, or None if there is no file; refuse one that others can read."""
    try:
        # Looked at through the descriptor: between two looks at a path the file may be another.
        descriptor = os.open(path, _READING)
    except FileNotFoundError:
        return None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise _unusable("is not a plain file")
        if mode & _FOR_OTHERS:
            raise Unavailable(
                f"others can read the project's key (mode {stat.S_IMODE(mode):04o})",
                hint=f"Run `chmod 600 {path}`; if others were on this machine, make a fresh key.",
            )
        return os.read(descriptor, _LARGEST)
    finally:
        os.close(descriptor)


def _match_public(folder: Path, expected: bytes) -> None:
    """Write the public file where there is none; refuse one that belongs to another key."""
    path = folder / _PUBLIC
    if not path.exists():
        publish_file(folder / _PUBLIC, expected, mode=0o644)
    if path.read_bytes().strip() != expected.strip():
        raise Unavailable(
            "the public key file belongs to another key",
            hint=f"One of the two files in {folder} was replaced; restore them from a backup.",
        )

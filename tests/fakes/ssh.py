"""SSH keys of every sort, with signatures made by hand: what ssh-keygen and a hardware key would make."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256, sha512
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from counterpoint.core.ledger.note import from_base64, to_base64

Signer = tuple[str, Callable[..., str]]
"""A public key as a line, and what signs a message with it."""

APPLICATION = b"ssh:"
SORTS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "rsa-sha2-256",
    "rsa-sha2-512",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
)


def string(content: bytes) -> bytes:
    """Answer bytes with their length before them."""
    return len(content).to_bytes(4) + content


def mpint(number: int) -> bytes:
    """Answer a number as SSH writes it."""
    return string(number.to_bytes(number.bit_length() // 8 + 1))


def line(private: Any) -> str:
    """Answer the public half of a key as a line."""
    return (
        private.public_key()
        .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        .decode()
    )


def document(blob: bytes, message: bytes, made: Callable[[bytes], bytes], **other: bytes) -> str:
    """Answer a signature; `other` are fields that it has in place of the right ones."""
    parts = {"blob": blob, "space": b"counterpoint", "reserved": b"", "hash": b"sha512"} | other
    digest = (sha256 if parts["hash"] == b"sha256" else sha512)(message).digest()
    told = b"".join(map(string, (parts["space"], parts["reserved"], parts["hash"], digest)))
    signature = parts.get("signature") or made(b"SSHSIG" + told)
    body = (parts["blob"], parts["space"], parts["reserved"], parts["hash"], signature)
    return to_base64(
        parts.get("magic", b"SSHSIG\0\0\0\1") + b"".join(map(string, body)) + parts.get("tail", b"")
    )


def make(sort: str, *, flags: int = 1) -> Signer:
    """Answer a fresh key of a sort; flags: what a hardware key says, 1 if it was touched."""
    plain = sort.removeprefix("sk-").removesuffix("@openssh.com")
    if plain == "ssh-ed25519":
        private: Any = ed25519.Ed25519PrivateKey.generate()
        sign: Callable[[bytes], bytes] = private.sign
    elif plain.startswith("rsa"):
        private = rsa.generate_private_key(65537, 2048)
        hashed = hashes.SHA256() if plain.endswith("256") else hashes.SHA512()

        def sign(told: bytes) -> bytes:
            return private.sign(told, padding.PKCS1v15(), hashed)
    else:
        private = ec.generate_private_key(ec.SECP256R1())

        def sign(told: bytes) -> bytes:
            pair = decode_dss_signature(private.sign(told, ec.ECDSA(hashes.SHA256())))
            return b"".join(map(mpint, pair))

    if plain == sort:
        public = line(private)

        def made(told: bytes) -> bytes:
            return string(sort.encode()) + string(sign(told))
    else:
        blob = from_base64(line(private).split(" ")[1])
        blob = string(sort.encode()) + blob[4 + len(plain) :] + string(APPLICATION)
        public = f"{sort} {to_base64(blob)}"

        def made(told: bytes) -> bytes:
            said = bytes([flags]) + (7).to_bytes(4)
            whole = sha256(APPLICATION).digest() + said + sha256(told).digest()
            return string(sort.encode()) + string(sign(whole)) + said

    def signature(message: bytes, **other: bytes) -> str:
        return document(from_base64(public.split(" ")[1]), message, made, **other)

    return public, signature

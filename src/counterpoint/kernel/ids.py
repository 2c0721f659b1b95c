"""The only place that mints identifiers that must be unique everywhere.

Items are not named here: `<prefix>-<number>` comes from the project's own counter, so that people
can say it. Everything else is `<prefix>_` and 26 letters of Crockford's base 32: 128 random bits. A salt
is as many bits, as bytes.
"""

from __future__ import annotations

import secrets
from typing import Protocol

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 26
SALT_BYTES = 16
"""How long the salt of a text is."""


class Mint(Protocol):
    """What makes identifiers; tests put a counting one in its place."""

    def mint(self, prefix: str) -> str:
        """Return a fresh identifier that starts with the prefix."""
        ...

    def salt(self) -> bytes:
        """Return 16 bytes that nobody can foresee."""
        ...


class RandomMint:
    """Identifiers from the operating system's randomness."""

    def mint(self, prefix: str) -> str:
        """Return a fresh identifier that starts with the prefix."""
        return f"{prefix}_{spelled(secrets.randbits(128))}"

    def salt(self) -> bytes:
        """Return 16 bytes that nobody can foresee."""
        return secrets.token_bytes(SALT_BYTES)


def spelled(bits: int, letters: int = _LENGTH) -> str:
    """Return a number as letters of Crockford's base 32, the lowest five bits first."""
    return "".join(_ALPHABET[(bits >> shift) & 31] for shift in range(0, letters * 5, 5))

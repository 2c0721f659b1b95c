"""Addresses of PostgreSQL databases: which texts are one, and how they are shown."""

from __future__ import annotations

import re

_SCHEMES = ("postgresql://", "postgres://")
_IN_AUTHORITY = re.compile(r"^(\w+://[^/?#:@]*):.*@")
"""Up to the last `@`, since somebody may not know that a password's `/` must be written `%2F`."""
_IN_QUERY = re.compile(r"((?:^|[?&])[^=&]*pass[^=&]*=)[^&#]*", re.IGNORECASE)


def is_address(text: str) -> bool:
    """Return whether a text names a PostgreSQL database, not a file."""
    return text.startswith(_SCHEMES)


def masked(address: str) -> str:
    """Return an address that can be shown: `***` in place of every password."""
    return _IN_QUERY.sub(r"\1***", _IN_AUTHORITY.sub(r"\1:***@", address))

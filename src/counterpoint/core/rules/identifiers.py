"""Names of items as people say them, `SYM-001`, and as the ledger keeps them.

A spoken name is the project's prefix in capitals, a hyphen and the number in at least three digits.
A kept id is the prefix in small letters, a hyphen and the plain number. Either is read, in any case.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]{0,63})-0*([1-9][0-9]{0,14})\s*", re.ASCII)
_DIGITS = 3


def spoken(prefix: str, number: int) -> str:
    """Return the spoken name of an item."""
    return f"{prefix.upper()}-{number:0{_DIGITS}d}"


def parse(name: str) -> tuple[str, int] | None:
    """Return the prefix, in small letters, and the number of a name; None if it is no such name."""
    found = _NAME.fullmatch(name)
    return (found[1].lower(), int(found[2])) if found else None


def kept(name: str) -> str | None:
    """Return the kept id of a name; None if it is no such name."""
    parts = parse(name)
    return f"{parts[0]}-{parts[1]}" if parts else None


def spoken_of(item: str) -> str:
    """Return the spoken name of a kept id; anything else stays as it is."""
    parts = parse(item)
    return spoken(*parts) if parts else item

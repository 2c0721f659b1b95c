"""Counted nouns in sentences: `1 entry waits`, `2,000 entries wait`."""

from __future__ import annotations

from typing import Final

_MANY: Final = {"is": "are", "was": "were", "has": "have"}
"""What many do where one does it in another word."""


def counted(count: int, noun: str) -> str:
    """Return so many of something, in the number that it is said in: `1 entry`, `2,000 entries`."""
    return f"{count:,} {noun if count == 1 else _plural(noun)}"


def agree(count: int, noun: str, verb: str) -> str:
    """Return what so many of something do: `1 entry waits`, `2 entries wait`; verb: as one does it."""
    many = _MANY.get(verb, verb.removesuffix("s"))
    return f"{counted(count, noun)} {verb if count == 1 else many}"


def _plural(noun: str) -> str:
    ends_in_y = noun.endswith("y") and noun[-2] not in "aeiou"
    return f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"

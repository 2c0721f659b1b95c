"""Which refusals are of one sort, which are found, and which are old enough to go.

Two are of one sort if they are of the same action and code, and their messages differ in nothing but numbers and what is quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from counterpoint.dialects.foundry.nouns.errors import (
    ErrorFilter,
    ErrorPattern,
    ErrorRecord,
    ErrorStatistics,
)
from counterpoint.kernel.canonical import sha256

HIDDEN: Final = "…"
_LONGEST: Final = 400
_FINGERPRINT: Final = 16
# What is quoted may have the same quotation mark in it, behind a backslash.
_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`", re.DOTALL)
_A_NAME: Final = re.compile(r"[\w./:-]{1,80}")
_VARIES: Final = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\d+")


def without_texts(message: str) -> str:
    """Return a message without the texts that it quotes: names and ids stay."""

    def shown(found: re.Match[str]) -> str:
        inside = next((part for part in found.groups() if part is not None), "")
        return found[0] if _A_NAME.fullmatch(inside) else f"{found[0][0]}{HIDDEN}{found[0][-1]}"

    # Cut before too: what is never shown need not be searched.
    return _QUOTED.sub(shown, message[: 4 * _LONGEST])[:_LONGEST]


def fingerprint_of(call: str, code: str, message: str) -> str:
    """Return what refusals of one sort have in common."""
    return sha256(f"{call}\0{code}\0{_VARIES.sub('', message)}".encode())[:_FINGERPRINT]


def found(records: Iterable[ErrorRecord], wanted: ErrorFilter) -> Iterator[ErrorRecord]:
    """Answer the refusals that are asked for, in their order."""
    same = ("tool_name", "error_code", "error_type", "fingerprint", "provider_id")
    asked = [(name, getattr(wanted, name)) for name in same if getattr(wanted, name)]
    for one in records:
        in_time = wanted.since <= one.timestamp and (
            not wanted.until or one.timestamp <= wanted.until
        )
        if in_time and all(getattr(one, name) == value for name, value in asked):
            yield one


def patterns(records: Iterable[ErrorRecord], least: int = 1) -> list[ErrorPattern]:
    """Return the sorts of refusals with so many at least, those with most first. records: by time."""
    sorts: dict[str, list[ErrorRecord]] = {}
    for one in records:
        sorts.setdefault(one.fingerprint, []).append(one)
    many = [some for some in sorts.values() if len(some) >= least]
    many.sort(key=lambda some: (-len(some), some[-1].fingerprint))
    return [
        ErrorPattern(last=some[-1], count=len(some), first_seen=some[0].timestamp) for some in many
    ]


def statistics(records: Sequence[ErrorRecord]) -> ErrorStatistics:
    """Return how many refusals there are of what."""
    return ErrorStatistics(
        total=len(records),
        by_tool=dict(Counter(one.tool_name for one in records).most_common()),
        by_code=dict(Counter(one.error_code for one in records).most_common()),
        patterns=tuple(patterns(records)),
    )


def kept(records: Sequence[ErrorRecord], since: str, most: int) -> list[ErrorRecord]:
    """Return those that are not too old, the newest of them; by time."""
    young = sorted(
        (one for one in records if one.timestamp >= since), key=lambda one: (one.timestamp, one.id)
    )
    return young[-most:] if most else []

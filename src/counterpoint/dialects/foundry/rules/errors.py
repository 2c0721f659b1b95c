"""Patterns of refusals: which are alike, which match, and which are old enough to go.

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

    def hide_text(match: re.Match[str]) -> str:
        inside = next((part for part in match.groups() if part is not None), "")
        return match[0] if _A_NAME.fullmatch(inside) else f"{match[0][0]}{HIDDEN}{match[0][-1]}"

    # Cut before too: what is never shown need not be searched.
    return _QUOTED.sub(hide_text, message[: 4 * _LONGEST])[:_LONGEST]


def fingerprint_of(call: str, code: str, message: str) -> str:
    """Return what refusals of one sort have in common."""
    return sha256(f"{call}\0{code}\0{_VARIES.sub('', message)}".encode())[:_FINGERPRINT]


def select_records(records: Iterable[ErrorRecord], selection: ErrorFilter) -> Iterator[ErrorRecord]:
    """Yield the records that match, in their order."""
    same = ("tool_name", "error_code", "error_type", "fingerprint", "provider_id")
    wanted_values = [(name, getattr(selection, name)) for name in same if getattr(selection, name)]
    for record in records:
        in_time = selection.since <= record.timestamp and (
            not selection.until or record.timestamp <= selection.until
        )
        if in_time and all(getattr(record, name) == value for name, value in wanted_values):
            yield record


def patterns(records: Iterable[ErrorRecord], least: int = 1) -> list[ErrorPattern]:
    """Return the patterns with so many refusals at least, the most frequent first. records: by time."""
    sorts: dict[str, list[ErrorRecord]] = {}
    for record in records:
        sorts.setdefault(record.fingerprint, []).append(record)
    many = [some for some in sorts.values() if len(some) >= least]
    many.sort(key=lambda some: (-len(some), some[-1].fingerprint))
    return [
        ErrorPattern(last=some[-1], count=len(some), first_seen=some[0].timestamp) for some in many
    ]


def statistics(records: Sequence[ErrorRecord]) -> ErrorStatistics:
    """Count refusals by kind."""
    return ErrorStatistics(
        total=len(records),
        by_tool=dict(Counter(record.tool_name for record in records).most_common()),
        by_code=dict(Counter(record.error_code for record in records).most_common()),
        patterns=tuple(patterns(records)),
    )


def keep_recent(records: Sequence[ErrorRecord], since: str, most: int) -> list[ErrorRecord]:
    """Return the records that are not too old, the newest of them; by time."""
    young = sorted(
        (record for record in records if record.timestamp >= since),
        key=lambda record: (record.timestamp, record.id),
    )
    return young[-most:] if most else []

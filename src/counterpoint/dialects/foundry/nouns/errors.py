"""Records of refused calls, and how similar refusals are grouped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MOST: Final = 10_000
"""How many refusals are kept."""
DAYS: Final = 30
"""For how many days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRecord:
    """One refused call, in no text of the caller's.

    tool, action: what was called; an action that there is not is empty. provider_id: whose answer it was, if a model's was asked.
    """

    id: str
    timestamp: str
    fingerprint: str
    tool_name: str
    action: str
    error_code: str
    error_type: str
    message: str
    provider_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFilter:
    """Which refusals are asked for; what is empty does not matter. since, until: moments, both included."""

    tool_name: str = ""
    error_code: str = ""
    error_type: str = ""
    fingerprint: str = ""
    provider_id: str = ""
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPattern:
    """Refusals of one sort: how many, and the first and the last of them."""

    last: ErrorRecord
    count: int
    first_seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorStatistics:
    """All refusals by what was called and by code, and the sorts that come most often."""

    total: int
    by_tool: Mapping[str, int]
    by_code: Mapping[str, int]
    patterns: tuple[ErrorPattern, ...]

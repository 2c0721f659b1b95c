"""What names a version of a spec: a position in the ledger, or a time.

A time is ISO 8601, or as backups of foundry were named (`20251227T120000`, `2025-12-27T12-00-00.123456`); without an
offset it is UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from counterpoint.kernel.clock import Timestamp, stamp

_POSITION: Final = re.compile(r"\d{1,15}", re.ASCII)
_STAMP: Final = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)T(\d\d)[:-]?(\d\d)[:-]?(\d\d)(.*)", re.ASCII)
_END: Final = re.compile(r"(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?", re.ASCII)


def position_of(version: str) -> int | None:
    """Return the position that a version is; None if it is none."""
    return int(version) if _POSITION.fullmatch(version) else None


def moment_of(version: str) -> Timestamp | None:
    """Return the last moment that a time means, which is a second or a part of one; None if it is no time."""
    match = _STAMP.fullmatch(version.strip())
    end = _END.fullmatch(match[7]) if match else None
    if match is None or end is None:
        return None
    year, month, day, hour, minute, second = (match[group] for group in range(1, 7))
    offset = (end[2] or "Z").replace("Z", "+00:00")
    try:
        moment = datetime.fromisoformat(f"{year}-{month}-{day}T{hour}:{minute}:{second}{offset}")
        moment = moment.astimezone(UTC)
        part = int((end[1] or "999")[:3].ljust(3, "0"))
        return stamp(moment + timedelta(milliseconds=part))
    except (ValueError, OverflowError):
        return None

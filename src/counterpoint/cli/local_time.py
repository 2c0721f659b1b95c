"""Moments as people read them: local, with the offset once above them.

JSON, tools and the ledger keep UTC. A moment whose own offset differs (summer time) shows it behind itself.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from counterpoint.kernel.clock import moment
from counterpoint.kernel.matching.expressions import expression

_MINUTE: Final = "%Y-%m-%d %H:%M"
SECOND: Final = "%Y-%m-%d %H:%M:%S"
DAY_AND_SECOND: Final = "%m-%d %H:%M:%S"
_TIMESTAMP: Final = expression(
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
)


def local_time(time: str, form: str = _MINUTE) -> str:
    """Return a timestamp by the clock of this machine; an empty one stays empty."""
    if not time:
        return ""
    local = moment(time).astimezone()
    differs = local.utcoffset() != datetime.now().astimezone().utcoffset()
    return f"{local.strftime(form)} {_zone(local)}" if differs else local.strftime(form)


def local_time_with_zone(time: str) -> str:
    """Return a timestamp for a sentence, which has no heading: with its offset."""
    local = moment(time).astimezone()
    return f"{local.strftime(_MINUTE)} ({_zone(local)})"


def localize(text: str) -> str:
    """Return a text of the core with its timestamps by the clock of this machine."""
    return _TIMESTAMP.sub(lambda match: local_time_with_zone(match[0]), text)


def local_zone() -> str:
    """Return the offset of this machine's clock from UTC, as `UTC+02:00`."""
    return _zone(datetime.now().astimezone())


def time_heading(heading: str) -> str:
    """Return the heading of a column of moments: with the offset of this machine."""
    return f"{heading} ({local_zone()})"


def _zone(local: datetime) -> str:
    """Return an offset as `UTC+02:00`, or `UTC` for none."""
    offset = local.strftime("%z")
    return "UTC" if offset == "+0000" else f"UTC{offset[:3]}:{offset[3:5]}"

"""How much JSON one message may hold before it is parsed.

What is parsed costs time and memory by the number of its values, far more than by its bytes: 10 MB can hold three
million empty lists, which take gigabytes. A message is refused if and only if it has more than `MOST_SIGNS` commas, colons and
opening brackets, of which each value but a few has one before it. Those in texts are counted too, because that takes no parsing:
the longest text that a tool takes has a million characters. A refused message is never parsed: its id is taken from where clients write it.
"""

from __future__ import annotations

import re
from typing import Final, cast

import orjson

MOST_SIGNS: Final = 500_000
TOO_WIDE: Final = f"more than {MOST_SIGNS} commas, colons and opening brackets"

_SIGNS: Final = (b",", b":", b"[", b"{")
_NAME: Final = rb'"id"\s*:\s*(\d{1,15}|"[\w.:/-]{1,100}")'
_FIRST: Final = re.compile(
    rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[\w./]{1,100}"\s*,\s*){0,2}' + _NAME
)
# Within a call's arguments more than one bracket would follow.
_LAST: Final = re.compile(rb"[}\]\"],\s*" + _NAME + rb"\s*\}\s*\Z")
_ENDS: Final = 400


def is_wide(message: bytes) -> bool:
    """Return whether a message holds more than may be parsed."""
    return len(message) > MOST_SIGNS and sum(map(message.count, _SIGNS)) > MOST_SIGNS


def name_of(message: bytes) -> str | int | None:
    """Return the id of a request that is not parsed, if it stands at one of its ends."""
    match = _FIRST.match(message[:_ENDS]) or _LAST.search(message[-_ENDS:])
    return cast("str | int", orjson.loads(match[1])) if match else None

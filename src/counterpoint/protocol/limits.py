"""Limits of frames, and of the share each caller has.

How much JSON one message may hold before it is parsed.
What is parsed costs time and memory by the number of its values, far more than by its bytes: 10 MB can hold three
million empty lists, which take gigabytes. A message is refused if and only if it has more than `MOST_SIGNS` commas, colons and
opening brackets, of which each value but a few has one before it. Those in texts are counted too, because that takes no parsing:
the longest text that a tool takes has a million characters. A refused message is never parsed: its id is taken from where clients write it.

Places that several have in common, of which nobody takes all.
Rule 1: whoever takes a place leaves at least as many free as he has with it, so that alone he gets half of them, beside
others half of what they leave, and there is one for somebody who has none as long as any is free. Rule 2: work
without a caller is the server's own, and is not held to rule 1. A place that is given back is free for everybody.
"""

from __future__ import annotations

import re
from collections import Counter
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


class Shares:
    """Counts who has how many places; whoever uses it from several threads holds a lock."""

    def __init__(self, size: int) -> None:
        """Begin with all places free."""
        self._free = size
        self._taken: Counter[str] = Counter()

    def may_take(self, who: str) -> bool:
        """Return whether there is a place for somebody."""
        return self._free > (self._taken[who] if who else 0)

    def take(self, who: str) -> bool:
        """Give somebody a place; answer whether there was one for him."""
        if not self.may_take(who):
            return False
        self._free -= 1
        self._taken[who] += 1
        return True

    def give_back(self, who: str) -> None:
        """Take a place back."""
        self._free += 1
        self._taken[who] -= 1
        if not self._taken[who]:
            del self._taken[who]

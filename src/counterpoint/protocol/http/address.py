"""Where a follower is: behind one event, or behind a whole entry.

    12      behind everything that entry 12 of the ledger gave
    12.3    behind the third event of entry 12
    -1      before everything

Rules: (1) A text is a place if and only if it is `-1`, or an integer from 0 with at most 15 digits,
or such an integer, a dot, and an integer from 1 with at most 6 digits; none begins with a zero that is
not its only digit. (2) Places order as their numbers do, a whole entry after each of its events. (3)
The events of an entry count from 1, those that a reader does not want included, so that a place means
the same to everybody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from counterpoint.kernel.errors import InvalidInput

_ALL: Final = 10**6
"""Stands behind every event of an entry."""
_TEXT: Final = re.compile(r"(-1|0|[1-9][0-9]{0,14})(?:\.([1-9][0-9]{0,5}))?")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place between two events."""

    sequence: int
    number: int = _ALL

    @property
    def position(self) -> int:
        """The last entry that is wholly before this place."""
        return self.sequence if self.number == _ALL else self.sequence - 1

    def __str__(self) -> str:
        """Write it as a reader gives it back."""
        return str(self.sequence) if self.number == _ALL else f"{self.sequence}.{self.number}"


def load_place(text: str) -> Place:
    """Return the place that a text names; InvalidInput if it names none."""
    found = _TEXT.fullmatch(text)
    if found is None or (found[1] == "-1" and found[2]):
        raise InvalidInput(
            "the place to go on from is none",
            hint="Give the id of the last event you have, such as 12.1, or -1 for everything.",
        )
    return Place(int(found[1]), int(found[2]) if found[2] else _ALL)

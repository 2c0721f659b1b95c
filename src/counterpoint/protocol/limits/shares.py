"""Places that several have in common, of which nobody takes all.

Rule 1: whoever takes a place leaves at least as many free as he has with it, so that alone he gets half of them, beside
others half of what they leave, and there is one for somebody who has none as long as any is free. Rule 2: work
without a caller is the server's own, and is not held to rule 1. A place that is given back is free for everybody.
"""

from __future__ import annotations

from collections import Counter


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

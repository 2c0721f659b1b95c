"""What this process appends for writers, remembered until it is signed.

1. Whoever appends an entry notes its leaf hash before the transaction lands; nothing else is done there.
2. Whoever signs reads the leaf hashes that did land and takes those that were noted: so an entry that another process
   appended is never signed, and one that was undone is not there to be taken.
3. The entries of one writer make one range as long as nobody else appends for the same writer. An entry of somebody
   else ends it; the next one begins another range.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.ledger.merkle import Frontier
from counterpoint.core.ledger.note import VerifierKey

MOST: Final = 100_000
"""Entries that are remembered; those before them stay unsigned if nobody signs for so long."""


@dataclass(slots=True, kw_only=True)
class OpenRange:
    """Entries of a writer, from the first to the last.

    signed: how many of them are signed. key, delegation: the writer's key, and what names it. named_by: the key of the
    ledger that did.
    """

    writer: str
    first: int
    last: int = -1
    edge: Frontier = field(default_factory=Frontier)
    signed: int = 0
    key: VerifierKey | None = None
    delegation: str = ""
    named_by: VerifierKey | None = None

    @property
    def waits(self) -> bool:
        """Whether some of it is not signed."""
        return self.signed < self.edge.size


@dataclass(slots=True, kw_only=True)
class Authored:
    """What one process has appended to one ledger.

    log: writer, place and leaf hash of what was appended and may not have landed, in any order.
    """

    log: deque[tuple[str, int, bytes]] = field(default_factory=lambda: deque(maxlen=MOST))
    _next: int = field(init=False, default=-1)
    _noted: dict[bytes, tuple[str, int]] = field(
        init=False, default_factory=dict[bytes, tuple[str, int]]
    )
    _open: dict[str, OpenRange] = field(init=False, default_factory=dict[str, OpenRange])
    _ended: list[OpenRange] = field(init=False, default_factory=list[OpenRange])

    @property
    def next(self) -> int:
        """The place from which on nothing was looked at; -1 if nothing was ever noted."""
        if self._next < 0 and self.log:
            self._next = min(place for _, place, _ in tuple(self.log))
        return self._next

    def take(self, leaves: Sequence[bytes]) -> Iterator[int]:
        """Take in the leaf hashes from `next` on; answer the places of those that somebody else appended."""
        while self.log:
            writer, place, leaf = self.log.popleft()
            self._noted[leaf] = writer, place
        for place, leaf in enumerate(leaves, self._next):
            # Kept in step: whoever takes may be stopped between two.
            self._next = place + 1
            writer, noted = self._noted.get(leaf, ("", -1))
            if noted != place:
                yield place
                continue
            found = self._open.get(writer)
            if found is None:
                found = self._open[writer] = OpenRange(writer=writer, first=place)
            found.last = place
            found.edge, _ = found.edge.append(leaf)
        # What did not land by now was undone: its place is taken.
        self._noted = {leaf: one for leaf, one in self._noted.items() if one[1] >= self._next}

    def forget(self) -> None:
        """Begin anew: the ledger is shorter than it was."""
        self.log.clear()
        self._noted.clear()
        self._open.clear()
        self._ended.clear()
        self._next = -1

    def end(self, writer: str) -> None:
        """End the range of a writer for whom somebody else has appended."""
        found = self._open.pop(writer, None)
        if found is not None and found.waits:
            self._ended.append(found)

    def waiting(self) -> list[OpenRange]:
        """List the ranges of which something is not signed."""
        self._ended = [one for one in self._ended if one.waits]
        return [*self._ended, *(one for one in self._open.values() if one.waits)]

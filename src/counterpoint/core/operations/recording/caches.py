"""What a process remembers between calls: commitments, authors, last reads.

Which trees are being closed, as far as one process knows without asking.
Rules: (1) the store is asked once, and again after anybody else has written or an ending was, so that nothing is asked
while one process writes. (2) What is asked inside of a transaction that has written an ending itself is not kept, as that may be undone.

Which salt a text gets: a fresh one, or the one that it was just kept with.
Every use of a text could have a salt, and a row in `texts`, of its own. But most texts that repeat do so at
once (what a comparison of the tree found, an empty list of remarks), so that this would take half as much
room again. Rules: (1) a short text that was kept a moment ago gets the same salt, and so the same row.
(2) What tells that it is the same lies in memory only: nothing that is stored leads from a text to
its commitment, before or after it is taken away. (3) The text is kept anew each time all the same, so a
transaction that was undone leaves no reference to nothing. (4) A text that is taken away gets a fresh salt from then on, whoever
took it away: what this process did not write itself is asked for texts that went, before anything is written after it.

When somebody last read, so that approvals cover only what they can have read.
Rule 1: each call of a connection that reads is a look, known by the session with which the connection came.
Rule 2: what counts for a call is the look before it. Rule 3: it is kept in memory, for the connections that were
heard last: of others nothing is known, and nothing refused.

What this process appends for writers, remembered until it is signed.
1. Whoever appends an entry notes its leaf hash before the transaction lands; nothing else is done there.
2. Whoever signs reads the leaf hashes that did land and takes those that were noted: so an entry that another process
   appended is never signed, and one that was undone is not there to be taken.
3. The entries of one writer make one range as long as nobody else appends for the same writer. An entry of somebody
   else ends it; the next one begins another range. So does the next of a writer whose range was forgotten, as all of it is signed
   and there are too many.
4. What the signer has signed is not asked for again: a signature that could not be kept is kept with the next.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace
from typing import Final

from counterpoint.core.ledger.lines import REDACTION
from counterpoint.core.ledger.merkle import Frontier, extend_with_proof
from counterpoint.core.model.trust.writers import WriterGrowth, WriterSignature
from counterpoint.core.model.work import Ending
from counterpoint.core.ports.store import Reading, Salted
from counterpoint.kernel.canonical import commitment
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import mutable
from counterpoint.kernel.ids import Mint


class UnderWay:
    """The endings under way of the project that was written in last.

    leaf: of the last entry that this process has seen: nothing before it is news.
    free: the project in which nothing is under way, if that is known. is_written: whether the last transaction has written an ending.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.leaf = self.free = ""
        self.is_written = False

    def begin(self, leaf: str) -> None:
        """Begin a transaction that this process knows too little of; leaf: of the last entry there is."""
        self.leaf, self.free, self.is_written = leaf, "", False

    def write(self) -> None:
        """Know that this transaction writes an ending."""
        self.free, self.is_written = "", True

    def all(self, view: Reading) -> tuple[Ending, ...]:
        """Return the endings under way."""
        endings = tuple(view.select(Ending, status="begun"))
        if not (endings or self.is_written):
            self.free = view.project
        return endings


_MOST: Final = 512
_LONGEST: Final = 2_000


class CommitmentCache:
    """The texts that were kept last, each with its salt.

    leaf: of the last entry that this process has seen: nothing before it is news.
    losses: how often texts may have been taken away. What was committed before a loss is not to be used after it.
    """

    def __init__(self) -> None:
        """Remember nothing yet."""
        self.leaf = ""
        self.losses = 0
        self._known: dict[str, tuple[str, Salted]] = {}
        self._last: tuple[str, int] = "", -1

    def follow(self, view: Reading, leaf: str) -> None:
        """Forget everything if texts were taken away by others; leaf: of the last entry there is."""
        if leaf == self.leaf:
            return
        self.leaf = leaf
        last = view.project, next(iter(view.sequences(action=REDACTION, limit=1)), -1)
        if last != self._last:
            self._known.clear()
            self.losses += 1
            self._last = last

    def commit(self, text: str, mint: Mint) -> tuple[str, Salted]:
        """Return the commitment of a text, with the salt that it was just kept with or a fresh one."""
        stored = self._known.get(text)
        if stored is not None:
            return stored
        salt = mint.salt()
        pair = commitment(salt, text), Salted(salt, text)
        if len(text) <= _LONGEST:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[text] = pair
        return pair

    def forget(self, commitments: Collection[str]) -> None:
        """Give texts fresh salts from now on."""
        gone = set(commitments)
        # A copy of what there is: another thread may commit texts that it is going to write.
        pairs = list(self._known.items())
        self._known = {text: pair for text, pair in pairs if pair[0] not in gone}
        self.losses += 1


class LastReads:
    """The last read of each connection."""

    def __init__(self) -> None:
        """Know of nobody yet."""
        self._last: dict[str, Timestamp] = {}
        self._lock = threading.Lock()

    def look(self, seat: str, now: Timestamp) -> Timestamp | None:
        """Return when a connection looked before, and keep that it does now."""
        with self._lock:
            before = self._last.pop(seat, None)
            self._last[seat] = now
            if len(self._last) > _MOST:
                del self._last[next(iter(self._last))]
            return before


MOST: Final = 100_000
"""Entries that are remembered; those before them stay unsigned if nobody signs for so long."""
WRITERS: Final = 1_000
"""Writers whose range goes on after it was signed, before those are forgotten that wait for nothing."""


@mutable
class OpenRange:
    """Entries of a writer, from the first to the last.

    signed: the edge of the tree over those that are signed. since, leaves: the first place and the leaf hashes of those after them.
    """

    writer: str
    first: int
    last: int = -1
    signed: Frontier = field(default_factory=Frontier)
    since: int = -1
    leaves: list[bytes] = field(default_factory=list[bytes])

    @property
    def waits(self) -> bool:
        """Whether some of it is not signed."""
        return bool(self.leaves)

    def asked(self) -> tuple[WriterGrowth, Frontier]:
        """Return what a signer is asked for, and the edge when it has signed that."""
        edge, proof = extend_with_proof(self.signed, self.leaves)
        growth = WriterGrowth(
            writer=self.writer,
            first=self.first,
            last=self.last,
            count=edge.size,
            root=edge.root(),
            before=self.signed.size,
            proof=tuple(proof),
        )
        return growth, edge


@mutable
class Authored:
    """What one process has appended to one ledger.

    log: writer, place and leaf hash of what was appended and may not have landed, in any order.
    made: signatures that are not kept in the database yet.
    """

    made: list[WriterSignature] = field(default_factory=list[WriterSignature])
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
            self._next = min(sequence for _, sequence, _ in tuple(self.log))
        return self._next

    def take(self, leaves: Sequence[bytes]) -> Iterator[int]:
        """Take in the leaf hashes from `next` on; answer the places of those that somebody else appended."""
        while self.log:
            writer, sequence, leaf = self.log.popleft()
            self._noted[leaf] = writer, sequence
        for sequence, leaf in enumerate(leaves, self._next):
            # Kept in step: whoever takes may be stopped between two.
            self._next = sequence + 1
            writer, noted = self._noted.get(leaf, ("", -1))
            if noted != sequence:
                yield sequence
                continue
            open_range = self._open.get(writer)
            if open_range is None:
                open_range = self._open[writer] = OpenRange(writer=writer, first=sequence)
            if not open_range.leaves:
                open_range.since = sequence
            open_range.last = sequence
            open_range.leaves.append(leaf)
        if len(self._open) > WRITERS:
            self._open = {
                name: open_range for name, open_range in self._open.items() if open_range.waits
            }
        # What did not land by now was undone: its place is taken.
        self._noted = {leaf: noted for leaf, noted in self._noted.items() if noted[1] >= self._next}

    def forget(self) -> None:
        """Begin anew: the ledger is shorter than it was."""
        self.log.clear()
        self._noted.clear()
        self._open.clear()
        self._ended.clear()
        self.made.clear()
        self._next = -1

    def end(self, writer: str) -> None:
        """End the range of a writer for whom somebody else has appended."""
        ended = self._open.pop(writer, None)
        if ended is not None and ended.waits:
            self._ended.append(ended)

    def settle(
        self, open_range: OpenRange, edge: Frontier, signature: WriterSignature | None
    ) -> None:
        """Take in what a signer said to a range.

        Where it does not go on with one, what waits becomes a range of its own; where it does not sign that either, it stays unsigned.
        """
        leaves, open_range.leaves = open_range.leaves, []
        if signature is not None:
            open_range.signed = edge
            self.made.append(signature)
            return
        is_open = self._open.get(open_range.writer) is open_range
        if is_open:
            del self._open[open_range.writer]
        if not open_range.signed.size:
            return
        remainder = replace(open_range, first=open_range.since, signed=Frontier(), leaves=leaves)
        if is_open:
            self._open[open_range.writer] = remainder
        else:
            self._ended.append(remainder)

    def waiting(self) -> list[OpenRange]:
        """List the ranges of which something is not signed."""
        self._ended = [open_range for open_range in self._ended if open_range.waits]
        return [
            *self._ended,
            *(open_range for open_range in self._open.values() if open_range.waits),
        ]

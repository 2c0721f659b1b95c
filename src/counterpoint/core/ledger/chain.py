"""Checks a stream of entries: form, order, chain, and roots known from outside.

A stream of entry bytes is a sound ledger if and only if (1) each is a valid entry and each follows
the one before (see entry.py), (2) the first has sequence 0 and the previous hash GENESIS, (3) for
each known checkpoint the stream has at least so many entries and the Merkle root of so many is the
root of the checkpoint, and (4) the number of entries is the expected one, where one is expected.

(1) and (2) find every edit, removal, insertion and swap but those that rewrite everything up to the
end, or that cut the end off. (3) finds these too, up to the size of the checkpoint: only a
checkpoint whose signature was checked with a key from elsewhere makes the whole a proof.

Algorithm. One pass. Each entry is hashed as it is; the hash must be the `h` of the next one. Entries
are checked block by block (see blocks.py), and where a block is not sound in every way, one by one:
only then is it said what is wrong. After a fault the check goes on from what was read, so that one
edit gives one or two faults and not one for each later entry. The first faults are kept in words,
all are counted (faults.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import Any

from counterpoint.core.ledger import blocks
from counterpoint.core.ledger.blocks import Fields, load_block
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.entry import GENESIS, load_fields
from counterpoint.core.ledger.faults import Faults
from counterpoint.core.ledger.merkle import Frontier, Node
from counterpoint.kernel.errors import (
    ChainBroken,
    InvalidInput,
    MalformedDocument,
    ProofMismatch,
)
from counterpoint.kernel.plurals import counted

_EDITED = (
    "Compare this entry and the one before with a backup or an export: one of them was changed, "
    "or entries between them were removed, added or swapped."
)
_CUT = "Entries at the end are missing: restore a backup that holds them."
_REWRITTEN = (
    "The history before this checkpoint was rewritten, or the checkpoint is of another log: "
    "compare with a backup or an export."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A ledger, or the beginning of one, that was found sound.

    last: leaf hash of the last entry in hex, GENESIS without one; time: when that entry was made.
    """

    project: str
    frontier: Frontier = field(default_factory=Frontier)
    last: str = GENESIS
    time: str = ""

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.frontier.size

    @property
    def root(self) -> bytes:
        """The Merkle root of all entries."""
        return self.frontier.root()


class Verification:
    """One pass over the entries of a project, from the start or from where another one ended."""

    def __init__(
        self,
        project: str,
        *,
        after: Verified | None = None,
        checkpoints: Iterable[Checkpoint] = (),
        watch: Callable[[dict[str, Any]], None] | None = None,
        hashed: Callable[[list[bytes], Iterable[Node]], None] | None = None,
    ) -> None:
        """Begin; InvalidInput if a checkpoint lies before the starting point.

        watch: is given each entry that can be read, as its short keys; `place` is then where it stands.
        hashed: is given the leaf hashes of some entries, and the hashes of the tree that they complete.
        """
        start = after or Verified(project=project)
        self._project = project
        self._frontier, self._last, self._time = start.frontier, start.last, start.time
        self._sequence = start.size
        self._watch = watch
        self._hashed = hashed
        self.place = start.size
        # Largest first: the next one to be reached is taken from the end.
        self._ahead = sorted(checkpoints, key=lambda checkpoint: checkpoint.size, reverse=True)
        self.faults = Faults()
        if self._ahead and self._ahead[-1].size < start.size:
            raise InvalidInput(f"entries before {start.size} are not read again: verify from 0")
        self._compare_roots()

    @property
    def size(self) -> int:
        """The number of entries up to here."""
        return self._frontier.size

    @property
    def root(self) -> bytes:
        """The Merkle root of the entries up to here, sound or not."""
        return self._frontier.root()

    @property
    def last(self) -> str:
        """The leaf hash of the last entry up to here, in hex."""
        return self._last

    def read(self, entries: Iterable[bytes]) -> None:
        """Check more entries; faults are kept, not raised."""
        stream = iter(entries)
        while block := list(islice(stream, self._room())):
            leaves = self._read_block(block)
            self._frontier, nodes = self._frontier.extend(leaves)
            if self._hashed is not None:
                self._hashed(leaves, nodes)
            self._compare_roots()

    def close(self, size: int | None = None) -> None:
        """Check what only the end can tell: checkpoints not reached, and the expected size."""
        for checkpoint in reversed(self._ahead):
            self.faults.add(
                _cut_off(self.size, checkpoint.size, f"a checkpoint of {checkpoint.origin}")
            )
        self._ahead = []
        if size is not None and size > self.size:
            self.faults.add(_cut_off(self.size, size, "the expected size"))
        elif size is not None and size < self.size:
            self.faults.add(
                ChainBroken(
                    f"the ledger has {counted(self.size, 'entry')} where {size:,} are expected",
                    hint="Entries were added at the end behind the back of the program.",
                    sequence=size,
                )
            )

    def verified(self) -> Verified:
        """Return what was found sound; raises the first fault if there was any."""
        for fault in self.faults:
            raise fault
        return Verified(
            project=self._project, frontier=self._frontier, last=self._last, time=self._time
        )

    def _room(self) -> int:
        """Return how many entries to read before roots have to be compared."""
        return min(self._ahead[-1].size - self.size, blocks.SIZE) if self._ahead else blocks.SIZE

    def _read_block(self, block: list[bytes]) -> list[bytes]:
        """Check some entries and answer their leaf hashes; this is what takes the time."""
        leaves = [sha256(b"\x00" + data).digest() for data in block]
        values = load_block(block)
        if values is None or not self._do_follow(values, leaves):
            self._read_each(block, leaves)
            return leaves
        self._sequence += len(values)
        self._last, self._time = leaves[-1].hex(), values[-1]["t"]
        if self._watch is not None:
            for sequence, value in enumerate(values, self.size):
                self.place = sequence
                self._watch(value)
        return leaves

    def _do_follow(self, values: list[Fields], leaves: list[bytes]) -> bool:
        """Return whether valid entries follow each other, and the first of them what was read."""
        previous = [self._last, *map(bytes.hex, leaves)]
        times = [value["t"] for value in values]
        return (
            [value["h"] for value in values] == previous[:-1]
            and [value["n"] for value in values]
            == list(range(self._sequence, self._sequence + len(values)))
            and {value["p"] for value in values} == {self._project}
            and times[0] >= self._time
            and times == sorted(times)
        )

    def _read_each(self, block: list[bytes], leaves: list[bytes]) -> None:
        """Check entries one by one and say what is wrong with them."""
        project, sequence, last, time = self._project, self._sequence, self._last, self._time
        for number, (data, leaf) in enumerate(zip(block, leaves, strict=True), self.size):
            try:
                value = load_fields(data)
            except MalformedDocument as fault:
                self.faults.add(_unreadable(number, fault))
            else:
                for broken in _departures(value, number, (project, sequence, last, time)):
                    self.faults.add(broken)
                sequence, time = value["n"], value["t"]
                if self._watch is not None:
                    self.place = number
                    self._watch(value)
            # Of what was read, sound or not: one edit must not make every later entry wrong.
            last = leaf.hex()
            sequence += 1
        self._sequence, self._last, self._time = sequence, last, time

    def _compare_roots(self) -> None:
        while self._ahead and self._ahead[-1].size == self.size:
            checkpoint = self._ahead.pop()
            if checkpoint.root != self._frontier.root():
                self.faults.add(
                    ProofMismatch(
                        f"the root of the first {self.size} entries is not the one that "
                        f"{checkpoint.origin} signed",
                        hint=_REWRITTEN,
                        sequence=self.size,
                        origin=checkpoint.origin,
                    )
                )


def _departures(
    value: dict[str, Any], number: int, expected: tuple[str, int, str, str]
) -> Iterator[ChainBroken]:
    """Say in which ways an entry does not follow the one before; `number` counts what was read."""
    project, sequence, last, time = expected
    if value["n"] != sequence:
        yield ChainBroken(
            f"entry {number} of the stream calls itself {value['n']} instead of {sequence}",
            hint="Entries were removed, added or swapped here: compare with a backup or an export.",
            sequence=number,
            found=value["n"],
        )
    if value["h"] != last:
        yield ChainBroken(
            f"entry {number} does not carry the hash of the entry before it",
            hint=_EDITED,
            sequence=number,
            found=value["h"],
            expected=last,
        )
    if value["p"] != project:
        yield ChainBroken(
            f"entry {number} belongs to the project {value['p']}, not to {project}",
            hint="Entries of another project were put in here: compare with a backup.",
            sequence=number,
            found=value["p"],
        )
    if value["t"] < time:
        yield ChainBroken(
            f"entry {number} is older than the entry before it",
            hint="Its time was changed, or entries were swapped: compare with a backup.",
            sequence=number,
            found=value["t"],
            before=time,
        )


def _unreadable(number: int, fault: MalformedDocument) -> ChainBroken:
    return ChainBroken(
        f"entry {number} cannot be read: {fault.message}",
        hint="The bytes were changed: compare this entry with a backup or an export.",
        sequence=number,
    )


def _cut_off(size: int, known_size: int, source: str) -> ProofMismatch:
    return ProofMismatch(
        f"the ledger ends after {size} entries, but {source} knows of {known_size}",
        hint=_CUT,
        sequence=size,
        missing=known_size - size,
    )

"""Which entries of writers are signed by them, found in one pass over a ledger.

Rules: (1) the pass keeps place and leaf hash of every entry but those of people: whose principal it is, and those of
nobody who is attested, which the writer `program` signs. (2) Each signature is then held against them by the rules of signature.py.
(3) What no sound signature covers is counted, and the first places are named, but for the first entry: all stand upon it, so
that nobody can append it, and a command may have made it. So is the entry that names the first key: a ledger has one that is sound, which can do
nothing else (keys.py), and a command may have made that too.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from counterpoint.core.ledger.faults import Faults
from counterpoint.core.ledger.merkle import HASH_SIZE, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.writers.keys import NamedKeys, is_first_naming
from counterpoint.core.ledger.writers.signature import last_of, open_delegation, open_range
from counterpoint.core.model.access import PROGRAM
from counterpoint.core.model.trust.writers import WriterSignature
from counterpoint.kernel.errors import LedgerBroken, MalformedDocument, ProofMismatch

NAMED: Final = 20
"""Entries without a signature that are told by their places."""
_NOBODY: Final = {"i": PROGRAM, "k": ""}
_HINT: Final = (
    "An entry was put among those of this writer or taken from them, or the signature is of somebody"
    " else: compare with a backup or an export."
)


@dataclass(slots=True)
class _Written:
    """The entries of one writer: their places, their leaf hashes, and those that are signed, as ranges of both."""

    places: array[int] = field(default_factory=lambda: array("q"))
    leaves: bytearray = field(default_factory=bytearray)
    signed: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def root(self, start: int, end: int) -> bytes:
        return root_of(
            bytes(self.leaves[at : at + HASH_SIZE])
            for at in range(start * HASH_SIZE, end * HASH_SIZE, HASH_SIZE)
        )

    def unsigned(self, spared: Collection[int]) -> Iterator[int]:
        done = 0
        for start, end in (*self.signed, (len(self.places), 0)):
            yield from (sequence for sequence in self.places[done:start] if sequence not in spared)
            done = end


class Coverage:
    """One pass over the parsed entries of a ledger, and then over the signatures of writers."""

    def __init__(self) -> None:
        """Begin before the first entry."""
        self._writers: dict[str, _Written] = {}
        self._awaited: list[tuple[int, str]] = []
        self._first = 0
        self._spared = {0}
        self._named: dict[tuple[str, str, VerifierKey], VerifierKey] = {}
        self.faults = Faults()

    def read(self, entry: Mapping[str, Any], sequence: int) -> None:
        """Take in one more entry, as its short keys."""
        principal = entry["w"].get("i", _NOBODY)
        if principal["k"] != "person":
            self._awaited.append((sequence, principal["i"]))
        if is_first_naming(entry) and len(self._spared) == 1:
            self._spared.add(sequence)

    def hashed(self, leaves: Sequence[bytes]) -> None:
        """Take in the leaf hashes of the entries that were read last, and of those that could not be."""
        for sequence, writer in self._awaited:
            written = self._writers.get(writer)
            if written is None:
                written = self._writers[writer] = _Written()
            written.places.append(sequence)
            written.leaves += leaves[sequence - self._first]
        self._first += len(leaves)
        self._awaited.clear()

    def check(self, signatures: Iterable[WriterSignature], keys: NamedKeys) -> None:
        """Hold the signatures, by their first places, against the entries; keys: those of the ledger, and where it names them."""
        for signature in signatures:
            try:
                self._check(signature, keys)
            except (MalformedDocument, ProofMismatch) as fault:
                self.faults.add(_broken(signature, fault.message))

    @property
    def signed(self) -> int:
        """How many entries of writers are signed."""
        return sum(
            end - start for written in self._writers.values() for start, end in written.signed
        )

    @property
    def unsigned(self) -> int:
        """How many entries of writers carry no sound signature, the first and that of the first key left out."""
        return sum(1 for _ in self._unsigned())

    @property
    def places(self) -> tuple[int, ...]:
        """Where the first of those are that carry none."""
        return tuple(sorted(self._unsigned())[:NAMED])

    def _unsigned(self) -> Iterator[int]:
        for written in self._writers.values():
            yield from written.unsigned(self._spared)

    def _check(self, signature: WriterSignature, keys: NamedKeys) -> None:
        key = self._key(signature, keys.since(last_of(signature.note)))
        entries = open_range(
            signature.note, key, key.name.removesuffix(f"/{signature.writer}"), signature.writer
        )
        written = self._writers.get(signature.writer) or _Written()
        start = bisect_left(written.places, entries.first)
        end = bisect_right(written.places, entries.last)
        ends = written.places[start:end][:1], written.places[start:end][-1:]
        if entries.first != signature.first or [*ends[0], *ends[1]] != [
            entries.first,
            entries.last,
        ]:
            raise ProofMismatch("its first or last entry is none of this writer")
        if written.signed and start < written.signed[-1][1]:
            raise ProofMismatch("another signature of this writer is over some of the same entries")
        if (entries.count, entries.root) != (end - start, written.root(start, end)):
            raise ProofMismatch("the entries there are not those that were signed")
        written.signed.append((start, end))

    def _key(self, signature: WriterSignature, keys: Sequence[VerifierKey]) -> VerifierKey:
        """Return the key of a writer; one that was named once is not looked at again."""
        cache_key = signature.writer, signature.delegation, keys[0]
        if cache_key not in self._named:
            self._named[cache_key] = open_delegation(signature.delegation, keys, signature.writer)
        return self._named[cache_key]


def _broken(signature: WriterSignature, why: str) -> LedgerBroken:
    return ProofMismatch(
        f"the signature of {signature.writer} from entry {signature.first} on does not hold: {why}",
        hint=_HINT,
        writer=signature.writer,
        sequence=signature.first,
    )

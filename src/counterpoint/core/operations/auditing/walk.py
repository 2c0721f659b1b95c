"""One pass over entries that checks everything they show by themselves.

Rules: (1) each entry is read once: chain and tree (core.ledger.chain), thoughts and seals (trail), what
writers signed, and what stands beside its bytes. (2) With a store to write into, its rows are folded there and the texts
that it refers to are noted. (3) What is wrong is kept in words and the pass goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final

from counterpoint.core.ledger.chain import Verification
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.entry import GENESIS, origin_of_fields
from counterpoint.core.ledger.faults import Faults
from counterpoint.core.ledger.merkle import Frontier, Node, frontier_at
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.people.confirmed import Confirmed
from counterpoint.core.ledger.people.joint import Joint
from counterpoint.core.ledger.trail import Trail
from counterpoint.core.ledger.witnesses.quorum import Quorum
from counterpoint.core.ledger.writers.coverage import Coverage
from counterpoint.core.operations.auditing.replay import Fold
from counterpoint.core.operations.auditing.sameness import TreeCheck
from counterpoint.core.operations.auditing.texts import References
from counterpoint.core.ports.store import Kept, Reading, Writing
from counterpoint.kernel.errors import (
    ChainBroken,
    InvalidInput,
    LedgerBroken,
    ProofMismatch,
    StateDiffers,
)

_COUNTED_EVERY: Final = 5000


class Walk:
    """One pass over the entries of a view, from the first to the last."""

    def __init__(
        self,
        view: Reading,
        key: VerifierKey,
        checkpoints: Iterable[Checkpoint],
        writing: Writing | None = None,
    ) -> None:
        """Begin; writing: of an empty store, if the rows are to be folded."""
        self._view = view
        self._trail = Trail(key)
        self._people = Confirmed()
        self._tree = TreeCheck(view)
        self._fold = None if writing is None else Fold(writing)
        self._references = None if writing is None else References(writing)
        self.coverage = Coverage()
        self._others, self._end = Faults(), Faults()
        self._beside: list[Kept] = []
        self._first = 0
        self._time = ""
        self.verification = Verification(
            view.project, checkpoints=checkpoints, watch=self._watch, hashed=self._hashed
        )

    def read(self, progress: Callable[[int], None] | None = None) -> None:
        """Read every entry; progress hears now and then how many there were."""
        self.verification.read(self._entries(progress))
        for fault in self._tree.close():
            self._others.add(fault)
        self.coverage.check(self._view.signatures(), self._trail.keys)
        for fault in self._people.reason_faults(self._view.text):
            self._end.add(fault)
        head = self._view.head()
        self.verification.close(head.size)
        if not self.verification.faults:
            for fault in self._head_faults():
                self._end.add(fault)

    @property
    def self_judged(self) -> int:
        """How many entries say that people judged their own work, up to here."""
        return self._people.self_judged

    @property
    def quorum(self) -> Quorum:
        """What is asked of witnesses, up to here."""
        return self._people.quorum

    @property
    def joint(self) -> Joint:
        """How many people must sign, up to here."""
        return self._people.joint

    @property
    def confirmed(self) -> int:
        """How many acts are signed by the people who did them."""
        return self._people.acts

    @property
    def faults(self) -> Iterator[LedgerBroken]:
        """What was found, the chain first."""
        return chain(
            self.verification.faults,
            self._trail.faults,
            self._people.faults,
            self.coverage.faults,
            self._end,
            self._others,
        )

    @property
    def differences(self) -> Iterator[LedgerBroken]:
        """What was found beside the chain: columns, hashes of the tree, and rows that nothing takes."""
        return iter(self._others)

    def _entries(self, progress: Callable[[int], None] | None) -> Iterator[bytes]:
        for count, stored in enumerate(self._view.kept(), 1):
            if progress is not None and count % _COUNTED_EVERY == 1:
                progress(count)
            self._beside.append(stored)
            yield stored.data

    def _watch(self, fields: dict[str, Any]) -> None:
        """Look at an entry that can be read, as its short keys."""
        sequence = self.verification.place
        stored = self._beside[sequence - self._first]
        self._time = fields["t"]
        if (stored.subject, stored.action) != (fields.get("s", ""), fields["a"]):
            self._others.add(_beside(sequence, "subject or action"))
        self._trail.read(fields)
        self._people.read(fields)
        self.coverage.read(fields, sequence)
        if self._fold is None or self._references is None:
            return
        self._references.read(stored.data, fields)
        origin = origin_of_fields(fields)
        for image in fields.get("r", ()):
            try:
                if image["t"] not in self._view.tables:
                    raise ChainBroken(
                        f"an entry writes to a table {image['t']!r} that there is not"
                    )
                self._fold.write(image, origin)
            except LedgerBroken as fault:
                message = f"entry {sequence}: {fault.message}"
                self._others.add(type(fault)(message, hint=fault.hint, sequence=sequence))

    def _hashed(self, leaves: list[bytes], nodes: Iterable[Node]) -> None:
        """Look at what stands beside some entries, and at the hashes that they complete."""
        for sequence, stored in enumerate(self._beside, self._first):
            if stored.sequence != sequence:
                self._others.add(_beside(sequence, "number"))
        self.coverage.hashed(leaves)
        self._first += len(leaves)
        self._beside.clear()
        for fault in self._tree.read(leaves, nodes):
            self._others.add(fault)

    def _head_faults(self) -> Iterator[LedgerBroken]:
        """Return in what the head, and the tree as it is kept, are not those of the sound entries."""
        head, view = self._view.head(), self._view
        root, last = self.verification.root, self.verification.last
        if (head.leaf or GENESIS) != last:
            yield ChainBroken("the head does not name the last entry of the ledger")
        if head.time != self._time:
            yield StateDiffers("the head has another time than the last entry", table="heads")
        # The root is stored in two ways: as the edge that appends go on from, and as nodes for proofs.
        if _root_of(lambda: Frontier.from_bytes(head.frontier)) != root:
            yield ProofMismatch("the head's tree is not the tree of the entries")
        if _root_of(lambda: frontier_at(head.size, view.node)) != root:
            yield ProofMismatch("a stored node of the tree does not belong to the entries")


def _beside(sequence: int, what: str) -> StateDiffers:
    return StateDiffers(
        f"the {what} beside entry {sequence} is not what its bytes say",
        hint="Run `counterpoint restore` with a backup, or keep the file for inspection.",
        table="entries",
        key=str(sequence),
    )


def _root_of(read: Callable[[], Frontier]) -> bytes:
    """Return the root of what is read; nothing if it cannot be read."""
    try:
        return read().root()
    except (LedgerBroken, InvalidInput):
        return b""

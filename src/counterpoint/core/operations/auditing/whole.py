"""Looks through a ledger and all that is made from it, in one run.

Rules: (1) quick: the entries are read, with what stands beside them and the tree. (2) Whole: they are also
folded into an empty store beside, and tables and texts compared with it; the store looks through what
only it knows. (3) Whatever cannot be read is a fault, and the next part is looked at nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.entry import GENESIS
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.people.joint import Joint
from counterpoint.core.ledger.witnesses.quorum import Quorum
from counterpoint.core.model.rows import Noun
from counterpoint.core.operations.auditing.sameness import compare_table
from counterpoint.core.operations.auditing.texts import ReferredText, TextCheck
from counterpoint.core.operations.auditing.walk import Walk
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading, Writing
from counterpoint.kernel.damage import add_once, fault_of
from counterpoint.kernel.errors import CounterpointError


@dataclass(slots=True, kw_only=True)
class CheckFindings:
    """What was found: the end of the ledger if its chain is sound, rows compared, and all faults.

    signed, unsigned: entries of writers that they signed, and did not; places: the first of the latter.
    confirmed: how many acts people signed. self_judged: how many say that they judged their own work. differences: those of tables, columns and the tree. redacted: how many
    texts are gone on purpose. quorum: what is asked of witnesses. joint: how many people must sign.
    """

    size: int = 0
    root: bytes = b""
    last: str = GENESIS
    redacted: int = 0
    signed: int = 0
    unsigned: int = 0
    confirmed: int = 0
    self_judged: int = 0
    places: tuple[int, ...] = ()
    quorum: Quorum = field(default_factory=Quorum)
    joint: Joint = field(default_factory=Joint)
    rows: dict[str, int] = field(default_factory=dict[str, int])
    faults: list[CounterpointError] = field(default_factory=list[CounterpointError])
    differences: list[CounterpointError] = field(default_factory=list[CounterpointError])


class LedgerCheck:
    """One look through a project's ledger."""

    def __init__(
        self,
        context: Context,
        key: VerifierKey,
        checkpoints: Iterable[Checkpoint] = (),
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Prepare; progress hears now and then how many entries are read."""
        self._context = context
        self._key = key
        self._checkpoints = tuple(checkpoints)
        self._progress = progress
        self.found = CheckFindings()

    def quick(self) -> CheckFindings:
        """Look through the entries, what stands beside them, and the tree."""
        self._guarded(self._read)
        return self.found

    def whole(self) -> CheckFindings:
        """Look through everything."""
        self.replayed()
        self._guarded(lambda: self.found.faults.extend(self._context.ports.store.faults()))
        return self.found

    def replayed(self) -> CheckFindings:
        """Look through the entries and all that is made from them; not at what only the store knows."""
        if not self._guarded(self._replay):
            # What could not be folded keeps nobody from reading the entries.
            self._guarded(self._read)
        return self.found

    def _guarded(self, part: Callable[[], None]) -> bool:
        """Look at one part; what cannot be looked at is a fault. Answers whether it was."""
        fault = fault_of(part)
        if fault is not None:
            add_once(self.found.faults, fault)
            add_once(self.found.differences, fault)
        return fault is None

    def _read(self) -> None:
        with self._context.reading() as view:
            self._walk(view)

    def _replay(self) -> None:
        project = self._context.project
        with self._context.reading() as view:
            scratch = self._context.ports.scratch((*view.tables.values(), ReferredText))
            with closing(scratch):
                with scratch.writing(project) as writing:
                    self._walk(view, writing)
                with scratch.reading(project) as replayed:
                    for noun in view.tables.values():
                        self._guarded(partial(self._compare, noun, view, replayed))
                    self._guarded(partial(self._texts, view, replayed))

    def _walk(self, view: Reading, writing: Writing | None = None) -> None:
        walk = Walk(view, self._key, self._checkpoints, writing)
        walk.read(self._progress)
        self.found.size = walk.verification.size
        if not walk.verification.faults:
            self.found.root, self.found.last = walk.verification.root, walk.verification.last
        self.found.signed, self.found.unsigned = walk.coverage.signed, walk.coverage.unsigned
        self.found.places, self.found.confirmed = walk.coverage.places, walk.confirmed
        self.found.self_judged = walk.self_judged
        self.found.quorum, self.found.joint = walk.quorum, walk.joint
        self.found.faults.extend(walk.faults)
        self.found.differences.extend(walk.differences)

    def _compare(self, noun: type[Noun], view: Reading, replayed: Reading) -> None:
        count, differences = compare_table(noun, view, replayed)
        self.found.rows[noun.table] = count
        self.found.faults.extend(differences)
        self.found.differences.extend(differences)

    def _texts(self, view: Reading, replayed: Reading) -> None:
        look = TextCheck(view, replayed)
        self.found.faults.extend(look.faults())
        self.found.redacted = look.redacted

"""Proving: verify the ledger, seal checkpoints, prove entries, replay everything.

What is found, and what is not looked at, is said in core.operations.auditing and in docs/proofs.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.bundle import BundleHeader, dump_bundle
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.derived import Origin, filled
from counterpoint.core.ledger.entry import Entry, RowImage
from counterpoint.core.ledger.merkle import (
    Frontier,
    consistency_proof,
    frontier_at,
    inclusion_proof,
)
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.model.answers import Audit, Proof, Rebuilt
from counterpoint.core.model.rows import Noun
from counterpoint.core.operations.auditing.whole import Look
from counterpoint.core.operations.journal import told
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
)

_WAITED_FOR: Final = 20_000
"""Entries that are looked through whole while somebody waits: some seconds."""


class Auditing:
    """Verbs for proving."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def key(self) -> VerifierKey:
        """The public key that this project's checkpoints are signed with."""
        return VerifierKey(
            name=f"counterpoint/{self._context.project}",
            public_key=self._context.ports.signer.public_key,
        )

    def verify(
        self,
        notes: tuple[str, ...] = (),
        progress: Callable[[int], None] | None = None,
        *,
        quick: bool | None = False,
    ) -> Audit:
        """Check the whole ledger, and all that is made from it, against itself, the anchor, and checkpoints.

        A sound ledger is anchored anew at its present size. progress: called with how many entries
        are read. quick: only the entries are read, with what stands beside them, and the tree; None: if they are
        too many for somebody who waits.
        """
        anchors = self._context.ports.anchors
        faults: list[CounterpointError] = []
        known = [*notes, *filter(None, [anchors.last(self._context.project)])]
        sealed = list(filter(None, (self._open(note, faults) for note in known)))
        look = Look(self._context, self.key, sealed, progress)
        if quick is None:
            with self._context.reading() as view:
                quick = view.head().size > _WAITED_FOR
        found = look.quick() if quick else look.whole()
        audit = Audit(
            project=self._context.project,
            size=found.size,
            root=found.root.hex(),
            last=found.last,
            anchored=max((one.size for one in sealed), default=0),
            redacted=found.redacted,
            rows=found.rows,
            faults=(*faults, *found.faults),
        )
        # An anchor of a ledger that is not sound would vouch for what was done to it.
        if audit.sound and audit.size:
            anchors.keep(self._context.project, self._seal(audit.size, bytes.fromhex(audit.root)))
        return audit

    def _open(self, note: str, faults: list[CounterpointError]) -> Checkpoint | None:
        try:
            return checkpoints.verify(note, self.key)
        except CounterpointError as fault:
            faults.append(fault)
            return None

    def checkpoint(self) -> str:
        """Return the present end of the ledger as a signed note, and anchor it."""
        with self._context.reading() as view:
            head = view.head()
        note = self._seal(head.size, Frontier.from_bytes(head.frontier).root())
        self._context.ports.anchors.keep(self._context.project, note)
        return note

    def _seal(self, size: int, root: bytes) -> str:
        sealed = Checkpoint(origin=self.key.name, size=size, root=root)
        return checkpoints.seal(sealed, self._context.ports.signer.sign, self.key)

    def inclusion(self, sequence: int, size: int | None = None) -> Proof:
        """Return the proof that an entry is in the ledger of a size; InvalidInput."""
        with self._context.reading() as view:
            end = self._size(view, size)
            path = inclusion_proof(sequence, end, view.node)
            root = frontier_at(end, view.node).root()
            entry = next(view.entries(sequence, sequence + 1))
            leaf = view.node(0, sequence)
        return Proof(
            size=end,
            root=root.hex(),
            path=tuple(part.hex() for part in path),
            checkpoint=self._seal(end, root),
            sequence=sequence,
            leaf=leaf.hex(),
            entry=entry.decode(),
        )

    def consistency(self, first: int, second: int | None = None) -> Proof:
        """Return the proof that the ledger of one size begins with that of another."""
        with self._context.reading() as view:
            end = self._size(view, second)
            path = consistency_proof(first, end, view.node)
            root = frontier_at(end, view.node).root()
            before = frontier_at(first, view.node).root()
        return Proof(
            size=end,
            root=root.hex(),
            path=tuple(part.hex() for part in path),
            checkpoint=self._seal(end, root),
            first_size=first,
            first_root=before.hex(),
        )

    def _size(self, view: Reading, size: int | None) -> int:
        head = view.head().size
        if size is not None and not 0 <= size <= head:
            raise InvalidInput(f"the ledger has {head} entries, not {size}", size=head)
        return head if size is None else size

    def export(self) -> Iterator[bytes]:
        """Return the lines of a bundle that verifies offline, with a checkpoint of its end."""
        with self._context.reading() as view:
            head = view.head()
            header = BundleHeader(
                project=self._context.project,
                key=self.key,
                checkpoint=self._seal(head.size, Frontier.from_bytes(head.frontier).root()),
            )
            texts = (text for _, text in view.texts())
            yield from dump_bundle(header, view.entries(0, head.size), texts)

    def rebuild(self, progress: Callable[[int], None] | None = None) -> Rebuilt:
        """Replay the ledger into an empty store and compare every table, cell by cell."""
        found = Look(self._context, self.key, progress=progress).replayed()
        return Rebuilt(size=found.size, rows=found.rows, differences=tuple(found.differences))

    def entry(self, sequence: int) -> Entry:
        """Return one entry, with what its rows leave out; InvalidInput if the ledger is not so long."""
        with self._context.reading() as view:
            head = view.head().size
            if not 0 <= sequence < head:
                raise InvalidInput(f"the ledger of {head} entries has no entry {sequence}")
            entry = Entry.from_bytes(next(view.entries(sequence, sequence + 1)))
            rows = tuple(
                _filled(image, view.tables.get(image.table), entry.origin) for image in entry.rows
            )
            return replace(told(view, entry), rows=rows)

    def log(
        self,
        *,
        subject: str = "",
        action: str = "",
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
    ) -> list[Entry]:
        """Return entries that match: the latest first, or with `after` onward from there."""
        with self._context.reading() as view:
            found = view.sequences(
                subject=subject, action=action, before=before, after=after, limit=limit
            )
            entries = (next(view.entries(place, place + 1)) for place in found)
            return [told(view, Entry.from_bytes(entry)) for entry in entries]


def _filled(image: RowImage, noun: type[Noun] | None, origin: Origin) -> RowImage:
    """Return a row image with the columns that it leaves out; as it is if the table is unknown."""
    if noun is None:
        return image
    return replace(image, values=filled(noun, image.key, image.values, origin, whole=image.whole))

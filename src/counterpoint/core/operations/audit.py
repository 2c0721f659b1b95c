"""Proving: verify the ledger, seal checkpoints, prove entries, replay everything.

What `verify` finds: any edit, removal, insertion or swap of entries (chain); any rewrite or truncation
back to the last anchored checkpoint (tree); a head or an edge of the stored tree that is not that of
the entries; thoughts and seals that are not sound (see core.ledger.trail); a text that is not what
its digest says, or that is missing though no redaction took it away. What `rebuild` finds: any table
that is not the fold of the ledger, down to the cell, and any hash of the tree that is not that of the
entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from counterpoint.core.ledger import checkpoint as checkpoints
from counterpoint.core.ledger.bundle import BundleHeader, dump_bundle
from counterpoint.core.ledger.chain import Verification
from counterpoint.core.ledger.checkpoint import Checkpoint
from counterpoint.core.ledger.derived import Origin, filled
from counterpoint.core.ledger.entry import GENESIS, Entry, RowImage
from counterpoint.core.ledger.merkle import (
    Frontier,
    consistency_proof,
    frontier_at,
    inclusion_proof,
)
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.people.confirmed import Confirmed
from counterpoint.core.ledger.trail import Trail
from counterpoint.core.model.answers import Audit, Proof, Rebuilt
from counterpoint.core.model.rows import Noun
from counterpoint.core.operations.auditing.replay import replay
from counterpoint.core.operations.auditing.sameness import compare_table, compare_tree
from counterpoint.core.operations.auditing.texts import look_at_texts
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading, Store
from counterpoint.kernel.errors import (
    ChainBroken,
    CounterpointError,
    InvalidInput,
    LedgerBroken,
    ProofMismatch,
    StateDiffers,
)

_COUNTED_EVERY = 5000


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
        self, notes: tuple[str, ...] = (), progress: Callable[[int], None] | None = None
    ) -> Audit:
        """Check the whole ledger against itself, the anchor, and given checkpoints.

        A sound ledger is anchored anew at its present size. progress: called with how many entries
        are read.
        """
        anchors = self._context.ports.anchors
        faults: list[CounterpointError] = []
        known = [*notes, *filter(None, [anchors.last(self._context.project)])]
        sealed = list(filter(None, (self._open(note, faults) for note in known)))
        with self._context.reading() as view:
            entries = view.entries()
            read = _counted(entries, progress) if progress else entries
            audit = self._verify(view, read, sealed, faults)
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

    def _verify(
        self,
        view: Reading,
        entries: Iterator[bytes],
        sealed: list[Checkpoint],
        faults: list[CounterpointError],
    ) -> Audit:
        head = view.head()
        trail, people = Trail(self.key), Confirmed()

        def watch(entry: Mapping[str, Any]) -> None:
            trail.read(entry)
            people.read(entry)

        verification = Verification(self._context.project, checkpoints=sealed, watch=watch)
        verification.read(entries)
        verification.close(head.size)
        faults += (*verification.faults, *trail.faults, *people.faults)
        faults += people.reason_faults(view.text)
        root, last = b"", GENESIS
        if not verification.faults:
            verified = verification.verified()
            root, last = verified.root, verified.last
            faults += _head_faults(view, root, last)
        redacted, text_faults = look_at_texts(view)
        faults += text_faults
        return Audit(
            project=self._context.project,
            size=verification.size,
            root=root.hex(),
            last=last,
            anchored=max((one.size for one in sealed), default=0),
            redacted=redacted,
            faults=tuple(faults),
        )

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
            texts = (body for _, body in view.texts())
            yield from dump_bundle(header, view.entries(0, head.size), texts)

    def rebuild(self) -> Rebuilt:
        """Replay the ledger into an empty store and compare every table, cell by cell."""
        scratch = self._context.ports.scratch()
        try:
            with self._context.reading() as view:
                with scratch.writing(self._context.project) as writing:
                    size = replay(view.entries(), writing)
                return self._compare(view, scratch, size)
        finally:
            scratch.close()

    def _compare(self, view: Reading, scratch: Store, size: int) -> Rebuilt:
        rows: dict[str, int] = {}
        differences: list[StateDiffers] = []
        with scratch.reading(self._context.project) as replayed:
            for noun in view.tables.values():
                count, found = compare_table(noun, view, replayed)
                rows[noun.table] = count
                differences += found
        differences += compare_tree(view)
        return Rebuilt(size=size, rows=rows, differences=tuple(differences))

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
            return replace(entry, rows=rows)

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
            return [Entry.from_bytes(next(view.entries(place, place + 1))) for place in found]


def _counted(entries: Iterator[bytes], progress: Callable[[int], None]) -> Iterator[bytes]:
    """Return entries as they come; say now and then how many there were."""
    for count, entry in enumerate(entries, 1):
        if count % _COUNTED_EVERY == 1:
            progress(count)
        yield entry


def _filled(image: RowImage, noun: type[Noun] | None, origin: Origin) -> RowImage:
    """Return a row image with the columns that it leaves out; as it is if the table is unknown."""
    if noun is None:
        return image
    return replace(image, values=filled(noun, image.key, image.values, origin, whole=image.whole))


def _head_faults(view: Reading, root: bytes, last: str) -> list[LedgerBroken]:
    head = view.head()
    faults: list[LedgerBroken] = []
    if (head.leaf or GENESIS) != last:
        faults.append(ChainBroken("the head does not name the last entry of the ledger"))
    # The root is stored in two ways: as the edge that appends go on from, and as nodes for proofs.
    if _root_of(lambda: Frontier.from_bytes(head.frontier)) != root:
        faults.append(ProofMismatch("the head's tree is not the tree of the entries"))
    if _root_of(lambda: frontier_at(head.size, view.node)) != root:
        faults.append(ProofMismatch("a stored node of the tree does not belong to the entries"))
    return faults


def _root_of(read: Callable[[], Frontier]) -> bytes:
    """Return the root of what is read; nothing if it cannot be read."""
    try:
        return read().root()
    except (LedgerBroken, InvalidInput):
        return b""

"""Signing, for each connection and credential, what this process appended for it."""

from __future__ import annotations

from functools import partial

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.merkle import inclusion_proof, nodes_of, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.writers.signature import (
    Range,
    last_of,
    open_delegation,
    open_range,
    seal_delegation,
    seal_range,
    writer_key,
)
from counterpoint.core.model.trust.writers import WriterProof, WriterSignature
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.authored import OpenRange
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.trust.signing import Signing
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch


class Writers:
    """Verbs for signatures of writers."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._signer = context.ports.signer
        self._authored = context.ports.authored

    def sign(self) -> int:
        """Sign what waits, and answer how many ranges were; Unavailable. Nothing is asked where nothing waits."""
        if not self.waits:
            return 0
        with self._context.ports.store.reading(self._context.project) as view:
            project = view.find(Project)
            self._look(view)
        waiting = self._authored.waiting()
        if project is None or not waiting:
            return 0
        sizes = [one.edge.size for one in waiting]
        made = [self._signed(project, one) for one in waiting]
        with self._context.ports.store.writing(self._context.project) as writing:
            for one in made:
                writing.vouch(one)
        for one, size in zip(waiting, sizes, strict=True):
            one.signed = size
        return len(made)

    def _look(self, view: Reading) -> None:
        """Take in what has landed since the last look."""
        start, size = self._authored.next, view.head().size
        if size < start:
            self._authored.forget()
        if not 0 <= start < size:
            return
        for place in self._authored.take(view.nodes(0, start, size)):
            if writer := _writer_at(view, place):
                self._authored.end(writer)

    @property
    def waits(self) -> bool:
        """Whether something was appended that is not signed; asks nobody."""
        return bool(self._authored.log or self._authored.waiting())

    def prove(self, sequence: int) -> WriterProof | None:
        """Return whether its writer has signed an entry, and how that is shown; None for an entry of no writer.

        ProofMismatch for a signature that does not hold.
        """
        keys = Signing(self._context).keys()
        with self._context.reading() as view:
            writer = _writer_at(view, sequence)
            if not writer:
                return None
            mine = [one for one in view.signatures() if one.writer == writer]
            last = next((one for one in reversed(mine) if one.first <= sequence), None)
            if last is None or last_of(last.note) < sequence:
                return WriterProof(writer=writer)
            covered = range(last.first, last_of(last.note) + 1)
            places = [place for place in covered if _writer_at(view, place) == writer]
            leaves = [view.node(0, place) for place in places]
        key = open_delegation(last.delegation, keys, writer)
        told = open_range(last.note, key, keys[0].name, writer)
        if (told.count, told.root) != (len(leaves), root_of(leaves)):
            raise ProofMismatch("the entries of this writer are not those that it signed")
        place = places.index(sequence)
        path = inclusion_proof(place, len(leaves), nodes_of(leaves))
        return WriterProof(
            writer=writer,
            signature=last,
            place=place,
            path=tuple(part.hex() for part in path),
        )

    def _signed(self, project: Project, one: OpenRange) -> WriterSignature:
        ledger, origin = project.ledger, f"counterpoint/{project.project}"
        named_by = VerifierKey(name=origin, public_key=self._signer.public_key(ledger))
        if one.key is None or one.named_by != named_by:
            public = self._signer.writer_key(ledger, one.writer)
            sign = partial(self._signer.sign, ledger)
            one.delegation = seal_delegation(named_by, one.writer, public, sign)
            one.key, one.named_by = writer_key(origin, one.writer, public), named_by
        found = Range(first=one.first, last=one.last, count=one.edge.size, root=one.edge.root())
        sign = partial(self._signer.sign_for, ledger, one.writer)
        note = seal_range(one.key, origin, one.writer, found, sign)
        return WriterSignature(
            writer=one.writer, first=one.first, delegation=one.delegation, note=note
        )


def _writer_at(view: Reading, place: int) -> str:
    """Return for whom an entry was appended; empty for nobody who is attested, and where it cannot be read."""
    try:
        principal = Entry.from_bytes(next(view.entries(place, place + 1))).actor.principal
    except MalformedDocument:
        return ""
    return "" if principal is None or principal.strength == "person" else principal.id

"""Signing, for each connection and credential, what this process appended for it."""

from __future__ import annotations

from functools import partial

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.writers.signature import (
    Range,
    seal_delegation,
    seal_range,
    writer_key,
)
from counterpoint.core.model.trust.writers import WriterSignature
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.authored import OpenRange
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import MalformedDocument


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

    def _signed(self, project: Project, one: OpenRange) -> WriterSignature:
        ledger, writer = project.ledger, one.writer
        key = VerifierKey(
            name=f"counterpoint/{project.project}", public_key=self._signer.public_key(ledger)
        )
        public = self._signer.writer_key(ledger, writer)
        found = Range(first=one.first, last=one.last, count=one.edge.size, root=one.edge.root())
        return WriterSignature(
            writer=writer,
            first=one.first,
            delegation=seal_delegation(key, writer, public, partial(self._signer.sign, ledger)),
            note=seal_range(
                writer_key(key.name, writer, public),
                key.name,
                writer,
                found,
                partial(self._signer.sign_for, ledger, writer),
            ),
        )


def _writer_at(view: Reading, place: int) -> str:
    """Return for whom an entry was appended; empty for nobody who is attested, and where it cannot be read."""
    try:
        principal = Entry.from_bytes(next(view.entries(place, place + 1))).actor.principal
    except MalformedDocument:
        return ""
    return principal.id if principal is not None else ""

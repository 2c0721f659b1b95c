"""Proving: verify the ledger, seal checkpoints, prove entries, replay everything.

What is found, and what is not looked at, is said in core.operations.auditing and in docs/proofs.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from counterpoint.core.ledger.bundle import BundleHeader, dump_bundle
from counterpoint.core.ledger.derived import Origin, fill_columns
from counterpoint.core.ledger.entry import Entry, RowImage, list_references
from counterpoint.core.ledger.merkle import (
    consistency_proof,
    frontier_at,
    inclusion_proof,
)
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.witnesses.quorum import Quorum
from counterpoint.core.ledger.writers.signature import last_of
from counterpoint.core.model.answers import Audit, Extent, Proof, Rebuilt
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.trust.heads import QuorumReport, SignedHead
from counterpoint.core.operations.auditing.comparing import compare
from counterpoint.core.operations.auditing.whole import LedgerCheck
from counterpoint.core.operations.journal import redactions, with_texts
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.trust.heads import no_key
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.operations.trust.witness_policy import QuorumStatus, WitnessPolicies
from counterpoint.core.operations.trust.witnessing import WitnessChecks
from counterpoint.kernel.damage import fault_of
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    NotFound,
    SignerAway,
)
from counterpoint.kernel.plurals import agree, counted

_WAITED_FOR: Final = 20_000
"""Entries that are looked through whole while somebody waits: some seconds."""
_MADE_FROM_ENTRIES: Final = ("tables", "texts", "search", "schema", "file")
_ELSEWHERE: Final = ("witnesses elsewhere",)


class _QuorumLook(NamedTuple):
    """What is asked of witnesses, and what of it is missing."""

    report: QuorumReport
    faults: tuple[CounterpointError, ...] = ()


class LedgerAudit(Verbs):
    """Verbs for proving."""

    @property
    def key(self) -> VerifierKey:
        """The public key that this project's checkpoints are signed with."""
        return LedgerSigning(self._context).key

    def verify(
        self,
        notes: tuple[str, ...] = (),
        progress: Callable[[int], None] | None = None,
        *,
        extent: Extent = "whole",
        alone: bool = False,
    ) -> Audit:
        """Check the ledger, and all that is made from it, against itself, its signer, witnesses, and checkpoints.

        Nothing is signed and nothing is kept. progress: called with how many entries are read. alone: without signer,
        anchor and witnesses, as for a backup that is older than them.
        """
        soon = extent == "soon"
        compared = compare(self._context, notes, alone=alone, elsewhere=not soon)
        look = LedgerCheck(self._context, compared.key, compared.checkpoints, progress)
        entries_only = extent == "entries" or (soon and self._takes_long())
        report = look.quick() if entries_only else look.whole()
        quorum = self._quorum(report.quorum, alone=alone, soon=soon)
        unseen = (*(_MADE_FROM_ENTRIES if entries_only else ()), *(_ELSEWHERE if soon else ()))
        return Audit(
            project=self._context.project,
            size=report.size,
            root=report.root.hex(),
            last=report.last,
            anchored=max((checkpoint.size for checkpoint in compared.checkpoints), default=0),
            redacted=report.redacted,
            rows=report.rows,
            faults=(*compared.faults, *quorum.faults, *report.faults),
            remarks=tuple(compared.remarks),
            witnesses=compared.witnesses,
            unseen=unseen,
            key=compared.keys[0].to_text() if compared.keys else "",
            epochs=compared.epochs,
            confirmed=report.confirmed,
            self_judged=report.self_judged,
            signed=report.signed,
            unsigned=report.unsigned,
            unsigned_places=report.places,
            quorum=quorum.report,
            **report.joint.report(),
        )

    def _quorum(self, quorum: Quorum, *, alone: bool, soon: bool) -> _QuorumLook:
        """Return who of the witnesses has signed that the entries ask for; alone: nobody is missed."""
        standings: list[QuorumStatus] = []

        def look() -> None:
            verbs = WitnessPolicies(self._context)
            standings.append(verbs.standing(quorum.policy, asks=not soon))

        if alone or not quorum.policy.count:
            return _QuorumLook(quorum.report())
        broken = fault_of(look)
        if broken is not None:
            return _QuorumLook(quorum.report(), (broken,))
        (standing,) = standings
        few = standing.fault
        return _QuorumLook(quorum.report(standing.signers), (few,) if few else ())

    def _takes_long(self) -> bool:
        """Tell whether there are more entries than somebody waits for; what cannot be read takes no time."""
        sizes: list[int] = []

        def size() -> None:
            with self._context.reading() as view:
                sizes.append(view.head().size)

        return fault_of(size) is None and sizes[0] > _WAITED_FOR

    def checkpoint(self) -> str:
        """Return the end of the ledger that was signed last, as a signed note; SignerAway.

        With the cosignatures that are kept of it.
        """
        return WitnessChecks(self._context).endorsed(LedgerSigning(self._context).head().note)

    def inclusion(self, sequence: int, size: int | None = None) -> Proof:
        """Return the proof that an entry is in the ledger of a size that was signed; InvalidInput.

        size: the last that was signed by default, and in place of one that was not.
        """
        signed = self._signed(size)
        end = signed.size
        with self._context.reading() as view:
            if end <= sequence < view.head().size and end != size:
                raise SignerAway(
                    f"entry {sequence} waits for a signature; {agree(end, 'entry', 'is')} signed"
                )
            path = inclusion_proof(sequence, end, view.node)
            entry = next(view.entries(sequence, sequence + 1))
            leaf = view.node(0, sequence)
        return Proof(
            size=end,
            root=signed.root.hex(),
            path=tuple(part.hex() for part in path),
            checkpoint=signed.note,
            sequence=sequence,
            leaf=leaf.hex(),
            entry=entry.decode(),
            asked=_asked(size, end),
        )

    def consistency(self, first: int, second: int | None = None) -> Proof:
        """Return the proof that the ledger of a size that was signed begins with that of another."""
        if second is not None and first > second:
            raise InvalidInput(f"a ledger of {second} entries does not begin with one of {first}")
        signed = self._signed(second)
        with self._context.reading() as view:
            path = consistency_proof(first, signed.size, view.node)
            before = frontier_at(first, view.node).root()
        return Proof(
            size=signed.size,
            root=signed.root.hex(),
            path=tuple(part.hex() for part in path),
            checkpoint=signed.note,
            first_size=first,
            first_root=before.hex(),
            asked=_asked(second, signed.size),
        )

    def _signed(self, size: int | None) -> SignedHead:
        """Return the signed head of a size; the last one without a size, or if it was not signed."""
        signing = LedgerSigning(self._context)
        last = signing.head()
        if size is None or size == last.size:
            return last
        with self._context.reading() as view:
            head = view.head().size
        if not 0 <= size <= head:
            raise InvalidInput(f"the ledger has {counted(head, 'entry')}, not {size}", size=head)
        return signing.at(size) or last

    def export(self) -> Iterator[bytes]:
        """Return the lines of a bundle that verifies offline, up to the last entry that is signed.

        QuorumMissing if too few witnesses have signed; SignerAway if a text was taken away since, for the bundle could not tell why it is missing.
        """
        key = self.key
        with self._context.reading() as view:
            # Read before the end is signed: what a signature covers then is below that end.
            vouched = list(view.signatures())
        signed = WitnessPolicies(self._context).vouched()
        with self._context.reading() as view:
            header = BundleHeader(project=self._context.project, key=key, checkpoint=signed.note)
            texts = (text for _, text in view.texts())
            if view.head().size > signed.size:
                if any(sequence >= signed.size for sequence, _ in redactions(view)):
                    raise SignerAway("a text was taken away by an entry that is not signed yet")
                entries = view.entries(0, signed.size)
                digests = {digest for entry in entries for digest in list_references(entry)}
                texts = (text for _, text in view.texts() if text.commitment in digests)
            covered = (signature for signature in vouched if last_of(signature.note) < signed.size)
            yield from dump_bundle(header, view.entries(0, signed.size), texts, covered)

    def rebuild(self, progress: Callable[[int], None] | None = None) -> Rebuilt:
        """Replay the ledger into an empty store and compare every table, cell by cell."""
        replay = LedgerCheck(
            self._context, no_key(self._context.project), progress=progress
        ).replayed()
        return Rebuilt(size=replay.size, rows=replay.rows, differences=tuple(replay.differences))

    def entry(self, sequence: int) -> Entry:
        """Return one entry, with what its rows leave out; NotFound if the ledger is not so long."""
        with self._context.reading() as view:
            head = view.head().size
            if not 0 <= sequence < head:
                raise NotFound(
                    f"the ledger of {head} entries has no entry {sequence}",
                    hint=f"Its entries are numbered from 0 to {head - 1}.",
                )
            entry = Entry.from_bytes(next(view.entries(sequence, sequence + 1)))
            rows = tuple(
                _filled(image, view.tables.get(image.table), entry.origin) for image in entry.rows
            )
            return replace(with_texts(view, entry), rows=rows)

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
            sequences = view.sequences(
                subject=subject, action=action, before=before, after=after, limit=limit
            )
            entries = (next(view.entries(sequence, sequence + 1)) for sequence in sequences)
            return [with_texts(view, Entry.from_bytes(entry)) for entry in entries]


def _asked(size: int | None, reported: int) -> int:
    return -1 if size in (None, reported) else size


def _filled(image: RowImage, noun: type[Noun] | None, origin: Origin) -> RowImage:
    """Return a row image with the columns that it leaves out; as it is if the table is unknown."""
    if noun is None:
        return image
    return replace(
        image, values=fill_columns(noun, image.key, image.values, origin, whole=image.whole)
    )

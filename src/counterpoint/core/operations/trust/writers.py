"""Signing, for each connection and credential, what this process appended for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from counterpoint.core.ledger.entry import Entry, load_fields
from counterpoint.core.ledger.growth import origin_of
from counterpoint.core.ledger.merkle import inclusion_proof, nodes_of, root_of
from counterpoint.core.ledger.note import VerifierKey
from counterpoint.core.ledger.writers.keys import NamedKeys
from counterpoint.core.ledger.writers.signature import last_of, open_delegation, open_range
from counterpoint.core.model.trust.heads import NAMED, OPENED, RECOVERED
from counterpoint.core.model.trust.writers import WriterProof
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.caches import OpenRange
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.trust.heads import list_named_keys, no_key, refuse_unnamed
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import MalformedDocument, ProofMismatch

_EPOCHS: Final = 10_000
_MOST: Final = 1_000
"""Ranges that the signer is asked for at once."""
PAGE: Final = 10_000
"""Entries that are read at once, however many there are."""


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
        LedgerSigning(self._context).name_key()
        with self._context.ports.store.reading(self._context.project) as view:
            project, names = view.find(Project), list_named_keys(view)
            self._look(view)
        if project is None:
            return 0
        # Once more for what the signer does not go on with: after its state was lost it begins anew.
        for _ in range(2):
            self._ask(project, names, self._authored.waiting()[:_MOST])
        signatures = self._authored.made
        if signatures:
            with self._context.ports.store.writing(self._context.project) as writing:
                for signature in signatures:
                    writing.vouch(signature)
        count = len(signatures)
        signatures.clear()
        return count

    def _ask(self, project: Project, names: list[str], waiting: list[OpenRange]) -> None:
        """Have ranges signed, if there are any; SignerAway for a key that the ledger does not name."""
        if not waiting:
            return
        origin = origin_of(project.project)
        public_key = self._signer.public_key(project.ledger)
        refuse_unnamed(VerifierKey(name=origin, public_key=public_key), names)
        pairs = [open_range.asked() for open_range in waiting]
        growths = [growth for growth, _ in pairs]
        signatures = self._signer.sign_ranges(project.ledger, origin, growths)
        for waiting_range, (_, edge), signature in zip(waiting, pairs, signatures, strict=True):
            self._authored.settle(waiting_range, edge, signature)

    def _look(self, view: Reading) -> None:
        """Take in what has landed since the last look."""
        start, size = self._authored.next, view.head().size
        if not 0 <= start <= size:
            # The ledger is shorter than it was.
            self._authored.forget()
            return
        for begin in range(start, size, PAGE):
            leaves = view.nodes(0, begin, min(begin + PAGE, size))
            for sequence in self._authored.take(leaves):
                if writer := _writer_at(view, sequence):
                    self._authored.end(writer)

    @property
    def waits(self) -> bool:
        """Whether something was appended that is not signed; asks nobody."""
        return bool(self._authored.log or self._authored.made or self._authored.waiting())

    def prove(self, sequence: int) -> WriterProof | None:
        """Return whether its writer has signed an entry, and how that is shown; None for an entry of a person.

        ProofMismatch for a signature that does not hold.
        """
        own_keys = LedgerSigning(self._context).keys()
        with self._context.reading() as view:
            writer = _writer_at(view, sequence)
            if not writer:
                return None
            keys = _named_keys(view, own_keys[0] if own_keys else no_key(self._context.project))
            own_signatures = [
                signature for signature in view.signatures() if signature.writer == writer
            ]
            last = next(
                (
                    signature
                    for signature in reversed(own_signatures)
                    if signature.first <= sequence
                ),
                None,
            )
            if last is None or last_of(last.note) < sequence:
                return WriterProof(writer=writer)
            end = last_of(last.note)
            covered = dict(_entries_of(view, writer, last.first, end + 1))
        leaves = [*covered.values()]
        key = open_delegation(last.delegation, keys.since(end), writer)
        signed_range = open_range(last.note, key, keys.present.name, writer)
        if (signed_range.count, signed_range.root) != (len(leaves), root_of(leaves)):
            raise ProofMismatch("the entries of this writer are not those that it signed")
        index = [*covered].index(sequence)
        path = inclusion_proof(index, len(leaves), nodes_of(leaves))
        return WriterProof(
            writer=writer,
            signature=last,
            place=index,
            path=tuple(part.hex() for part in path),
        )


def _writer_at(view: Reading, sequence: int) -> str:
    """Return for whom an entry was appended; empty for a person, and where it cannot be read."""
    return _writer_of(next(view.entries(sequence, sequence + 1)))


def _entries_of(view: Reading, writer: str, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Return places and leaf hashes of the entries that were appended for a writer, read a page at a time."""
    for begin in range(start, min(stop, view.head().size), PAGE):
        end = min(begin + PAGE, stop)
        page = zip(view.entries(begin, end), view.nodes(0, begin, end), strict=False)
        for sequence, (data, leaf) in enumerate(page, begin):
            if _writer_of(data) == writer:
                yield sequence, leaf


def _writer_of(data: bytes) -> str:
    try:
        return Entry.from_bytes(data).actor.writer
    except MalformedDocument:
        return ""


def _named_keys(view: Reading, default: VerifierKey) -> NamedKeys:
    """Return the keys that a ledger names, each from its place on; default: the one where it names none."""
    keys = NamedKeys(default)
    places = [
        sequence
        for action in (NAMED, OPENED, RECOVERED)
        for sequence in view.sequences(action=action, after=0, limit=_EPOCHS)
    ]
    for number in (0, *sorted(places)):
        fields = load_fields(next(view.entries(number, number + 1)))
        keys.read(fields, fields.get("r", ()))
    return keys

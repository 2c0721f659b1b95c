"""Receipts and verdicts in the formats of other people's tools, signed."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.exports import credentials, statements
from counterpoint.core.ledger.exports.tiles import ENTRIES, HEIGHT, Tile, dump_entries
from counterpoint.core.ledger.merkle import frontier_at
from counterpoint.core.model.identity import Confirmation, Key
from counterpoint.core.model.journal import Receipt, Verdict
from counterpoint.core.model.trust.heads import SignedHead
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.forks import refuse_fork
from counterpoint.core.operations.trust.heads import open_checkpoint
from counterpoint.core.operations.trust.signing import LedgerSigning
from counterpoint.core.operations.trust.witness_policy import WitnessPolicies
from counterpoint.core.operations.trust.witnessing import WitnessChecks
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, ForkRefused, NotFound, ProofMismatch

Format = Literal["in-toto", "agent-receipt"]


class Exports(Verbs):
    """Verbs for what other people's tools read."""

    def receipt(self, name: str, form: Format) -> Json:
        """Return a receipt as a signed in-toto statement or as an Agent Receipt; NotFound, QuorumMissing."""
        signing = LedgerSigning(self._context)
        WitnessPolicies(self._context).refuse_unwitnessed()
        with self._context.reading() as view:
            stored = view.find(Receipt, name)
            if stored is None:
                raise missing(Receipt, name)
            entry, leaf = _entry_of(view, stored.item, "receipt", name)
        if form == "in-toto":
            entry_place: Json = {"sequence": entry.sequence, "leaf": leaf}
            statement = statements.of_receipt(stored, entry_place, entry.actor.principal)
            return statements.sign_statement(statement, signing.statement, signing.key)
        principal = entry.actor.principal.id if entry.actor.principal else ""
        receipt = credentials.of_receipt(stored, principal, leaf)
        return credentials.sign_receipt(receipt, signing.statement, signing.key.public_key)

    def head(self) -> tuple[str, SignedHead]:
        """Return the id of the ledger and the head that was signed last, with the cosignatures kept of it."""
        head = WitnessPolicies(self._context).vouched()
        with self._context.reading() as view:
            (project,) = view.select(Project)
            refuse_fork(view, head)
        return project.ledger, replace(head, note=WitnessChecks(self._context).endorsed(head.note))

    def size_of(self, note: str) -> int:
        """Return the size of an earlier head of this ledger; LedgerBroken if it is of another history."""
        signing, faults = LedgerSigning(self._context), list[CounterpointError]()
        checkpoint = open_checkpoint(note, signing.keys(), faults)
        if checkpoint is None:
            raise ProofMismatch("it is no checkpoint of this ledger") from faults[0]
        with self._context.reading() as view:
            if (
                checkpoint.size > view.head().size
                or frontier_at(checkpoint.size, view.node).root() != checkpoint.root
            ):
                raise ForkRefused(f"the ledger does not begin with its {checkpoint.size:,} entries")
        return checkpoint.size

    def tile(self, tile: Tile) -> bytes:
        """Return a tile, or a bundle of entries; InvalidInput for one with an entry that does not fit."""
        with self._context.reading() as view:
            if tile.level == ENTRIES:
                return dump_entries(tile.start, view.entries(tile.start, tile.stop))
            return b"".join(view.nodes(HEIGHT * tile.level, tile.start, tile.stop))

    def verdict(self, name: str) -> Json:
        """Return a verdict as a signed in-toto statement, with the person's confirmation; NotFound, QuorumMissing."""
        WitnessPolicies(self._context).refuse_unwitnessed()
        with self._context.reading() as view:
            stored = view.find(Verdict, name)
            if stored is None:
                raise missing(Verdict, name)
            entry, leaf = _entry_of(view, stored.item, "verdict", name)
            nonces = [str(row.key["id"]) for row in entry.rows if row.table == Confirmation.table]
            confirmation = view.find(Confirmation, nonces[0]) if nonces else None
            key = view.find(Key, confirmation.signed_by) if confirmation else None
        entry_place: Json = {"sequence": entry.sequence, "leaf": leaf}
        statement = statements.of_verdict(
            stored, entry_place, entry.actor.principal, confirmation, key
        )
        signing = LedgerSigning(self._context)
        return statements.sign_statement(statement, signing.statement, signing.key)


def _entry_of(view: Reading, item: str, fact: str, name: str) -> tuple[Entry, str]:
    """Return the entry about an item with a fact of a value, and its leaf hash in hex; NotFound."""
    for sequence in view.sequences(subject=item, limit=view.head().size):
        entry = Entry.from_bytes(next(view.entries(sequence, sequence + 1)))
        if entry.facts.get(fact) == name:
            return entry, view.node(0, sequence).hex()
    raise NotFound(f"no entry of the ledger tells of {name}")

"""Receipts and verdicts in the formats of other people's tools, signed."""

from __future__ import annotations

from typing import Literal

from counterpoint.core.ledger.entry import Entry
from counterpoint.core.ledger.exports import credentials, statements
from counterpoint.core.model.identity import Confirmation, Key
from counterpoint.core.model.journal import Receipt, Verdict
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.trust.signing import Signing
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotFound

Format = Literal["in-toto", "agent-receipt"]


class Exports:
    """Verbs for what other people's tools read."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def receipt(self, name: str, form: Format) -> Json:
        """Return a receipt as a signed in-toto statement or as an Agent Receipt; NotFound."""
        signing = Signing(self._context)
        with self._context.reading() as view:
            found = view.find(Receipt, name)
            if found is None:
                raise missing(Receipt, name)
            entry, leaf = _entry_of(view, found.item, "receipt", name)
        if form == "in-toto":
            place: Json = {"sequence": entry.sequence, "leaf": leaf}
            made = statements.of_receipt(found, place)
            return statements.envelope(made, signing.statement, signing.key)
        principal = entry.actor.principal.id if entry.actor.principal else ""
        receipt = credentials.of_receipt(found, principal, leaf)
        return credentials.signed(receipt, signing.statement, signing.key.public_key)

    def verdict(self, name: str) -> Json:
        """Return a verdict as a signed in-toto statement, with the person's confirmation; NotFound."""
        with self._context.reading() as view:
            found = view.find(Verdict, name)
            if found is None:
                raise missing(Verdict, name)
            entry, leaf = _entry_of(view, found.item, "verdict", name)
            nonces = [str(row.key["id"]) for row in entry.rows if row.table == Confirmation.table]
            confirmation = view.find(Confirmation, nonces[0]) if nonces else None
            key = view.find(Key, confirmation.signed_by) if confirmation else None
        place: Json = {"sequence": entry.sequence, "leaf": leaf}
        made = statements.of_verdict(found, place, confirmation, key)
        signing = Signing(self._context)
        return statements.envelope(made, signing.statement, signing.key)


def _entry_of(view: Reading, item: str, fact: str, name: str) -> tuple[Entry, str]:
    """Return the entry about an item with a fact of a value, and its leaf hash in hex; NotFound."""
    for place in view.sequences(subject=item, limit=view.head().size):
        entry = Entry.from_bytes(next(view.entries(place, place + 1)))
        if entry.facts.get(fact) == name:
            return entry, view.node(0, place).hex()
    raise NotFound(f"no entry of the ledger tells of {name}")

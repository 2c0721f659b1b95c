"""Taking a text away for good, without breaking the chain.

The ledger names a text by its SHA-256, so the entries stay as they were and every proof holds. What
stays is the digest, who wrote it and when, and a new entry that says who took it away and why.
"""

from __future__ import annotations

from collections.abc import Iterator

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.ledger.lines import REDACTION, redacted_by
from counterpoint.core.model.rows import Cell, Noun, columns, prose_of
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Forbidden, MalformedDocument


class Redaction:
    """Verbs for taking away."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def redact(self, noun: type[Noun], *key: Cell, reason: str) -> tuple[str, ...]:
        """Take away every text of a row, wherever else it stands too; answer their digests.

        Only a person may; a second time there is nothing left and nothing is written. NotFound.
        """
        if self._context.caller.actor.kind == "agent":
            raise Forbidden("an agent cannot take texts away", hint=f"{Act.REDACT}.")
        with recording(self._context, REDACTION) as change:
            found = change.find(noun, *key)
            if found is None:
                raise missing(noun, *key)
            texts = (
                prose_of(column, getattr(found, column.name))
                for column in columns(noun)
                if column.is_prose
            )
            digests = [canonical.text_digest(text) for text in texts if text]
            gone = tuple(one for one in digests if change.writing.text(one) is not None)
            for digest in gone:
                change.writing.forget(digest)
            if gone:
                change.add_facts(row=f"{noun.table}/{'/'.join(map(str, key))}", reason=reason)
                change.add_facts(sha256=list(gone))
            return gone


def redactions(view: Reading) -> Iterator[tuple[int, list[str]]]:
    """Return the places of the entries that took texts away, in order, with the digests told.

    An entry that cannot be read tells nothing.
    """
    for place in sorted(view.sequences(action=REDACTION, limit=view.head().size)):
        try:
            entry = load_fields(next(view.entries(place, place + 1)))
        except MalformedDocument:
            continue
        yield place, redacted_by(entry)

"""Compares the texts that are kept with what refers to them.

Rules: (1) a text is what its digest says. (2) What a row refers to is there, or an entry tells that it was
taken away.
"""

from __future__ import annotations

from counterpoint.core.model.rows import Noun, columns
from counterpoint.core.operations.auditing.sameness import DIFFERENCES_SHOWN
from counterpoint.core.operations.journal import redactions
from counterpoint.core.ports.store import Reading
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import CounterpointError, ProofMismatch


def look_at_texts(view: Reading) -> tuple[int, list[CounterpointError]]:
    """Return how many texts were taken away, and a fault for each that was changed or is missing."""
    faults: list[CounterpointError] = []
    kept: set[str] = set()
    for digest, body in view.texts():
        kept.add(digest)
        if canonical.text_digest(body) != digest:
            faults.append(
                ProofMismatch(f"the text {digest[:12]}… was changed", hint="Restore a backup.")
            )
    wanted: set[str] = set()
    for noun in view.tables.values():
        wanted |= _digests(noun, view)
    gone = wanted - kept
    removed = {digest for _, digests in redactions(view) for digest in digests}
    faults += [
        ProofMismatch(
            f"the text {digest[:12]}… is missing, and no entry tells that it was taken away",
            hint="Restore a backup.",
        )
        for digest in sorted(gone - removed)[:DIFFERENCES_SHOWN]
    ]
    return len(gone & removed), faults


def _digests(noun: type[Noun], view: Reading) -> set[str]:
    places = [place for place, column in enumerate(columns(noun)) if column.is_prose]
    if not places:
        return set()
    return {str(row[place]) for row in view.table(noun) for place in places if row[place]}

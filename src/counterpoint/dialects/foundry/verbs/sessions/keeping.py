"""Stores the rows of runs, and detects a row that was written by somebody else.

The entry of each change to a run says the digest of its row. A row of another digest gives no step and takes no command but its end.
`audit verify` compares every row with all of its entries; this looks at the last of them, so it can be asked in every call.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import SpecSession
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import LedgerBroken

_FACT: Final = "row"
_AT_ONCE: Final = 20
_UNSAID: Final = frozenset({"updated_at", "reason_detail"})
"""Columns that are left out: that every change touches, and that may be redacted."""


def keep(change: Change, row: SpecSession, *, must: bool = True) -> None:
    """Store a run as a change about it leaves it; LedgerBroken (SESSION_UNRECOVERABLE) if its row was written by somebody else.

    must: whether that is refused; else the row never counts as the product's own again.
    """
    before = change.find(SpecSession, row.session)
    is_sound = before is None or is_own(change.writing, before)
    if must and not is_sound:
        hint = f"{Act.AUDIT}, then end it and start another."
        raise LedgerBroken(
            f"what is kept of run {row.session} is not as it was written",
            hint=hint,
            remediation=hint,
            session_id=row.session,
            error_code="SESSION_UNRECOVERABLE",
        )
    masked = change.masked(row)
    change.subject = row.spec
    change.put(masked)
    change.add_facts(run=row.session, **{_FACT: _digest(masked) if is_sound else ""})


def is_own(view: Reading, row: SpecSession) -> bool:
    """Whether the row of a run is what the last entry about it says."""
    before: int | None = None
    while sequences := view.sequences(subject=row.spec, before=before, limit=_AT_ONCE):
        for sequence in sequences:
            facts = load_fields(next(view.entries(sequence, sequence + 1))).get("f", {})
            if facts.get("run") == row.session and _FACT in facts:
                return facts[_FACT] == _digest(row)
        before = sequences[-1]
    # Entries of older versions do not say it.
    return True


def _digest(row: SpecSession) -> str:
    columns = {name: value for name, value in asdict(row).items() if name not in _UNSAID}
    return canonical.text_digest(canonical.dump_any(columns))

"""What is said of a ledger that goes on in another database."""

from __future__ import annotations

from counterpoint.core.model.trust.heads import MovedAway
from counterpoint.kernel.errors import LedgerMoved


def moved_fault(project: str, moved: MovedAway) -> LedgerMoved:
    """Return what keeps everybody from writing, and from comparing, the copy that was left."""
    return LedgerMoved(
        f"the ledger of {project!r} was moved to {moved.place} at {moved.time}: nothing is written here any more",
        hint=f"Use it there: `--db {moved.place}`, or COUNTERPOINT_DB. If that database is lost, restore a backup of it.",
        place=moved.place,
    )

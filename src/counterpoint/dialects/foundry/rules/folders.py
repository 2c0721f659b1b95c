"""Between which folders a spec may be moved, and in which state its root then is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from counterpoint.core.rules.wording import few
from counterpoint.dialects.foundry.nouns.nodes import ARCHIVED, PENDING, Folder, Tally
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, GateClosed

MOVES: Final[Mapping[Folder, tuple[Folder, ...]]] = {
    "pending": ("active", "archived"),
    "active": ("pending", "completed", "archived"),
    "completed": ("active", "archived"),
    "archived": ("pending", "active"),
}
STATES: Final[Mapping[Folder, str]] = {
    "pending": "open",
    "active": "active",
    "completed": "done",
    # Parked, so that nothing of it is offered.
    "archived": "backlog",
}
LABELS: Final[Mapping[Folder, str]] = {"pending": PENDING, "archived": ARCHIVED}
"""The label of a spec in a folder that does not follow from the state of its root alone."""


def refuse_move(spec: str, before: Folder, after: Folder) -> None:
    """Raise Conflict unless a spec may go from one folder to another."""
    if after not in MOVES[before]:
        ways = " or ".join(MOVES[before])
        raise Conflict(
            f"{spec} is {before} and cannot become {after}",
            hint=f"From {before} it may become {ways}.",
            moves=list(MOVES[before]),
        )


def refuse_unfinished(spec: str, tally: Tally) -> None:
    """Raise Conflict while not all of a spec is done."""
    if not is_finished(tally):
        raise Conflict(
            f"{spec} is not finished: {tally.completed} of {tally.total} tasks are completed",
            hint="Finish the rest, or complete it with force, which skips what is open.",
            total_tasks=tally.total,
            completed_tasks=tally.completed,
        )


def refuse_awaiting(names: Sequence[str]) -> None:
    """Raise GateClosed while something of a spec awaits a verdict, or what else its gates ask for."""
    if names:
        raise GateClosed(awaits_text(names), hint=f"{Act.REVIEW}.", nodes=list[Json](names))


def awaits_text(names: Sequence[str]) -> str:
    """Return that nodes are done but for what their gates ask for."""
    return f"All tasks are completed; what awaits a verdict, or its gates: {few(names)}"


def is_finished(tally: Tally) -> bool:
    """Return whether there was something to do, and all of it is done."""
    return 0 < tally.total == tally.completed

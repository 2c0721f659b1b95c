"""What an item waits for at its end: submission, review or fixes.

Rule 1: what was sent back is to be mended until it is handed in anew; nothing else of it counts before. Rule 2: what is in
review waits for a verdict while a gate asks for one. Rule 3: a part whose work is all done is to be handed in if a review
or an artifact is asked for; a task is handed in by the end of its claim.
"""

from __future__ import annotations

from collections.abc import Collection

from counterpoint.core.model.answers import Step
from counterpoint.core.model.journal import Submission, Verdict
from counterpoint.core.model.work import GateKind, Item


def step_of(
    item: Item, closed: Collection[GateKind], rejection: Verdict | None, *, is_whole: bool
) -> Step | None:
    """Return what an item waits for; None if for nothing of this.

    closed: the kinds of gates that hold back its end. is_whole: nothing below it is open.
    """
    if item.is_closed:
        return None
    if rejection is not None:
        return "mend"
    if item.category == "review":
        return "review" if "review" in closed else None
    is_asked = "review" in closed or "artifact" in closed
    return "submit" if is_asked and is_whole and not item.is_workable else None


def rejection_of(item: Item, last: Verdict | None, handed: Submission | None) -> Verdict | None:
    """Return the last verdict on an item if it sent it back, and nothing was handed in since.

    handed: the last submission of the item.
    """
    if last is None or last.decision != "reject" or item.category not in {"open", "active"}:
        return None
    is_anew = (
        handed is not None and handed.id != last.submission and handed.created_at >= last.created_at
    )
    return None if is_anew else last

"""What of a tree closes with its top, and what disturbs that while it goes on.

Rule 1: what is open below closes as what holds it, or else is cancelled. Rule 2: where an end is declared, tasks stay as
they are, and so does all below them. Rule 3: a tree that is being closed is disturbed by another state, another place, a
fresh item and a live claim in it; words, labels, records and counters are anybody's.
"""

from __future__ import annotations

from counterpoint.core.model.rows import Noun
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item


def end_of(child: Item, above: str, *, is_declared: bool) -> str:
    """Return the state in which an open child closes with what holds it; empty if it stays as it is.

    above: the state of what holds it. is_declared: whether the end of that, or of anything above, is declared.
    """
    if is_declared and child.is_workable:
        return ""
    return above if child.states.allows(child.status, above) else "cancelled"


def list_disturbed_items(before: Noun | None, after: Noun) -> tuple[str, ...]:
    """Return the items of which none may be in a tree that is being closed, for a row to be written so."""
    if isinstance(after, Claim):
        return (after.item,) if after.is_held else ()
    if not isinstance(after, Item):
        return ()
    if not isinstance(before, Item):
        return (after.parent,)
    if before.parent != after.parent:
        return (after.id, before.parent, after.parent)
    return () if before.status == after.status else (after.id,)

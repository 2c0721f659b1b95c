"""Decides what each word that moves an item requires of its caller, as one table.

Rule 1: the table is about categories, so that every table of states is held to it. Rule 2: what is not in it asks
nothing: to give back, to reopen and to send back release nothing that waits.

    gates   those that hold the end are met, nothing blocks it; where work is left out they are loosened
    drop    the gates of a part of a whole in which work has begun are loosened: that work stays, and nobody would judge it
    judge   it is no work of one's own, unless somebody has judged it
    take    one did not loosen it
    part    it is a part in the work
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from counterpoint.core.model.lifecycles import Category, Lifecycle

Ask = Literal["gates", "drop", "judge", "take", "part"]

ASKS: Final[Mapping[tuple[Category, Category], tuple[Ask, ...]]] = {
    ("open", "active"): ("take", "part"),
    ("open", "review"): ("take", "part"),
    ("open", "done"): ("gates", "take", "part"),
    ("open", "dropped"): ("drop",),
    ("active", "active"): ("part",),
    ("active", "review"): ("part",),
    ("active", "done"): ("gates", "part"),
    ("active", "dropped"): ("drop",),
    ("review", "done"): ("gates", "judge"),
    ("review", "dropped"): ("drop",),
    ("dropped", "done"): ("gates", "part"),
    ("dropped", "dropped"): ("drop",),
}


def asks(states: Lifecycle, origin: str, goal: str) -> tuple[Ask, ...]:
    """Return what a word asks by which something goes from one state to another."""
    requirements = ASKS.get((states.category(origin), states.category(goal)), ())
    # What failed still holds open what it is a part of, until somebody decides.
    if states.is_undecided(goal):
        return ()
    # Who leaves work out does not do it.
    return (
        tuple(ask for ask in requirements if ask != "take")
        if goal in states.skips
        else requirements
    )

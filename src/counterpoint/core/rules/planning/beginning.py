"""What of a plan that is not made yet could be started at once.

It answers of a draft what `rules/readiness.py` answers of items: nothing before it is open, of itself or of what holds it, no
gate holds its start, and nothing open is below it. What lies outside of the plan counts as open unless it is said to be done.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from counterpoint.core.model.work import WORKABLE
from counterpoint.core.rules.areas import list_overlaps
from counterpoint.core.rules.drafting import PlannedItem

MAX_COMPARED: Final = 500
"""Items with areas that are compared with each other."""


def list_startable(plan: Sequence[PlannedItem], done: Collection[str] = ()) -> tuple[int, ...]:
    """Return the places of a plan that could be started once it is made; done: the items outside that are done."""
    waiting: list[bool] = []
    open_below = [False] * len(plan)
    for part in plan:
        above = part.parent is not None and waiting[part.parent]
        waits = any(not plan[need].draft.done for need in part.needs)
        waits = waits or any(item not in done for item in part.outside)
        waiting.append(above or waits or part.draft.approval)
        if part.parent is not None and not part.draft.done:
            open_below[part.parent] = True
    return tuple(
        index
        for index, part in enumerate(plan)
        if part.draft.kind in WORKABLE
        and not part.draft.done
        and not waiting[index]
        and not open_below[index]
    )


def list_area_waits(plan: Sequence[PlannedItem], ready: Sequence[int]) -> dict[int, int]:
    """Return which startable items of a plan wait for an area of another one, and for which, by their indexes; the urgent and the first go before.

    Only the first `MAX_COMPARED` with areas are compared, each with each.
    """
    with_areas = [index for index in ready if plan[index].draft.areas]
    with_areas.sort(key=lambda index: (plan[index].draft.priority, index))
    unhindered: list[int] = []
    waits: dict[int, int] = {}
    for index in with_areas[:MAX_COMPARED]:
        areas = plan[index].draft.areas
        for other in unhindered:
            if list_overlaps(areas, plan[other].draft.areas):
                waits[index] = other
                break
        else:
            unhindered.append(index)
    return waits

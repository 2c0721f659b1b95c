"""Finds the items of an earlier import that the lines of a check-list mean (seam: a pure rule).

A check-list has no ids. Its reader makes them of titles, with a number where a title comes again, or of the numbers before the titles;
both change when a line is put in above. So lines find their items as those of a plan do (planning/matching.py), by title and place in the
tree, and get the ids that these have. Where two cannot be told apart nothing is changed, and that is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.foreign import ForeignItem, ForeignWork, Remark
from counterpoint.core.rules.drafting import PlannedItem
from counterpoint.core.rules.planning.matching import KnownItem, match_plan
from counterpoint.core.rules.planning.merging import last_of

ROOT: Final = "/"
"""What stands for the whole: no id is like it, since each begins with the name of its source."""
_ALIKE: Final = (
    "cannot be told from others of the same title that are here, so nothing of it is changed;"
    " another title, or `{#name}` behind it, tells them apart"
)


def has_ids_of_its_own(work: ForeignWork) -> bool:
    """Return whether the ids of a source say which item is meant whenever it comes."""
    return all(item.naming == "id" for item in work.items)


def rename_items(
    work: ForeignWork, items: Mapping[str, ForeignItem], earlier: Sequence[KnownItem]
) -> ForeignWork:
    """Return a source with the ids that its items have here. items: its items put right, parents first; earlier: those that came before."""
    places = {name: index for index, name in enumerate(items, 1)}
    planned = [PlannedItem(draft=Draft(kind="plan", title=""), parent=None, position=0)]
    planned += [_planned(item, places) for item in items.values()]
    ids = {item.id for item in earlier}
    own_ids = {name for name, item in items.items() if item.naming == "id"}
    candidates = [replace(item, name=item.id) if item.id in own_ids else item for item in earlier]
    numbered = {places[n]: n for n, item in items.items() if item.naming == "number" and n in ids}
    matches = match_plan(planned, candidates, ROOT, numbered)
    new_ids = {name: matches.ids[index] for name, index in places.items() if index in matches.ids}
    taken = ids | set(new_ids.values())
    for name, index in places.items():
        if name not in new_ids and index not in matches.unsure_places:
            new_ids[name] = _free(name, taken)
            taken.add(new_ids[name])
    remarks = [
        Remark(f"{name}: {_ALIKE}", item.where, "loss")
        for name, item in items.items()
        if places[name] in matches.unsure_places
    ]
    arriving = [item for item in work.items if item.id not in items or item.id in new_ids]
    return replace(
        work,
        items=tuple(_with_ids(item, new_ids) for item in arriving),
        remarks=(*work.remarks, *remarks),
    )


def title_of(last: Mapping[str, object]) -> str:
    """Return what stands for a title in what is kept of an import (`last_of`)."""
    return str(last.get("title", ""))


def _planned(item: ForeignItem, places: Mapping[str, int]) -> PlannedItem:
    draft = Draft(
        kind="phase" if item.is_phase else "task",
        title=title_of(last_of(item)),
        name=item.id if item.naming == "id" else "",
    )
    return PlannedItem(draft=draft, parent=places.get(item.parent, 0), position=0)


def _with_ids(item: ForeignItem, new_ids: Mapping[str, str]) -> ForeignItem:
    return replace(
        item,
        id=new_ids.get(item.id, item.id),
        parent=new_ids.get(item.parent, item.parent),
        needs=tuple(new_ids.get(name, name) for name in item.needs),
    )


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no item has."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}-{count}"
    return free

"""Trees of work as text: one line for each item, its mark before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import ItemFilter
from counterpoint.core.model.work import DEFAULT_PRIORITY, Item
from counterpoint.core.rules.drafting import PlannedItem
from counterpoint.kernel.plurals import counted

_AT_ONCE: Final = 500
"""Items that are read together."""


def tick(is_met: bool, text: str) -> str:
    """Return a text behind a box that is ticked or not."""
    return f"[{'x' if is_met else ' '}] {text}"


def tree_below(core: Core, item: Item) -> list[tuple[int, Item]]:
    """Return all below an item in the order of the tree, each with how many levels below it stands.

    They are read level by level, so that a large tree takes few looks.
    """
    children: dict[str, list[Item]] = defaultdict(list)
    level = [item.id]
    while level:
        items = [
            child
            for start in range(0, len(level), _AT_ONCE)
            for child in _level(core, level[start : start + _AT_ONCE])
        ]
        for current in items:
            children[current.parent].append(current)
        level = [child.id for child in items]
    below: list[tuple[int, Item]] = []
    queue = [(1, child) for child in _in_places(children[item.id])]
    while queue:
        depth, current = queue.pop()
        below.append((depth, current))
        queue += [(depth + 1, child) for child in _in_places(children[current.id])]
    return below


def _in_places(items: list[Item]) -> list[Item]:
    """Return siblings, the last of them first."""
    return sorted(items, key=lambda sibling: (sibling.position, sibling.number), reverse=True)


def _level(core: Core, parents: Sequence[str]) -> Iterator[Item]:
    after = 0
    while True:
        page = core.overview.items(ItemFilter(parent=tuple(parents)), after, _AT_ONCE)
        yield from page
        if len(page) < _AT_ONCE:
            return
        after = page[-1].number


def lines_of_plan(
    plan: Sequence[PlannedItem], ready: Sequence[int], area_waits: Mapping[int, int]
) -> Iterator[tuple[str, bool]]:
    """Return a plan as lines in the order of its tree, each with whether it could be started now, beside all that could.

    area_waits: the places that wait for an area of another one, with that one.
    """
    below: list[list[int]] = [[] for _ in plan]
    for index, part in enumerate(plan):
        if part.parent is not None:
            below[part.parent].append(index)
    starts, queue = frozenset(ready), [(0, 0)] if plan else []
    while queue:
        index, depth = queue.pop()
        other = plan[area_waits[index]].draft.title if index in area_waits else ""
        wait = f"waits for an area of {other}" if other else "ready" if index in starts else ""
        yield f"{'  ' * depth}{_line(plan, index, wait)}", wait == "ready"
        queue += [(child, depth + 1) for child in reversed(below[index])]


def _line(plan: Sequence[PlannedItem], index: int, wait: str) -> str:
    part = plan[index]
    draft = part.draft
    waits = [plan[need].draft.title for need in part.needs] + list(part.outside)
    asks = [
        *([wait] if wait else []),
        *([f"after {', '.join(waits)}"] if waits else []),
        *([f"priority {draft.priority}"] if draft.priority != DEFAULT_PRIORITY else []),
        *(["approval"] if draft.approval else []),
        *(["review"] if draft.review else []),
        *(["artifact"] if draft.artifact else []),
        *([counted(len(draft.checks), "check")] if draft.checks else []),
        *([f"areas {', '.join(draft.areas)}"] if draft.areas else []),
    ]
    notes = f"  ({'; '.join(asks)})" if asks else ""
    sort = "" if draft.kind == "task" else f"{draft.kind}: "
    return f"{tick(draft.done, f'{sort}{draft.title}')}{notes}"

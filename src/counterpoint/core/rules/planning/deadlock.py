"""Which parts of a plan can never become ready, and why.

Circles are refused (rules/drafting.py). What is left are ends that no work brings about: of a part that closes with the
last thing below it and has nothing below it, and of what is outside of the plan and was cancelled or failed; and gates that
only a person opens where no person has a key. What waits for one of these waits until somebody changes the plan, so
whoever makes it is told, and a look before says the same. What is parked, or ends by word, waits for a word and is no deadlock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from counterpoint.core.model.lifecycles import lifecycle
from counterpoint.core.model.work import WORKABLE
from counterpoint.core.rules.drafting import PlannedItem, waits_of
from counterpoint.core.rules.wording import few
from counterpoint.kernel.plurals import agree

_TOLD: Final = 20
_TITLE: Final = 80


def deadlocks(
    planned: Sequence[PlannedItem], dropped: Mapping[str, str], *, needs_person: bool = False
) -> tuple[str, ...]:
    """Return what is in the way of a plan for good, each with how much waits for it; nothing if all can be taken up.

    dropped: the state of each item outside that the plan waits for and that was given up. needs_person: whether
    only a person opens reviews here, and none has a key.
    """
    waiters = _waiters(planned)
    obstacles = [
        *_empty_parts(planned, waiters),
        *_given_up(planned, waiters, dropped),
        *(_unopened(planned) if needs_person else ()),
    ]
    more = len(obstacles) - _TOLD
    return (*obstacles[:_TOLD], *([f"and {more} more of the kind"] if more > 0 else []))


def _empty_parts(planned: Sequence[PlannedItem], waiters: Sequence[Sequence[int]]) -> Iterator[str]:
    filled = {part.parent for part in planned}
    for index, part in enumerate(planned):
        if index in filled or not _closes_with_work(part):
            continue
        count = _waiting(planned, waiters, [2 * index + 1])
        if count:
            yield (
                f"{_named(part)} has no task, so it never ends by work, and {agree(count, 'item', 'waits')} for it: give it a task,"
                " or take it out"
            )


def _given_up(
    planned: Sequence[PlannedItem], waiters: Sequence[Sequence[int]], dropped: Mapping[str, str]
) -> Iterator[str]:
    for item, state in dropped.items():
        starts = [2 * index for index, part in enumerate(planned) if item in part.outside]
        count = _waiting(planned, waiters, starts)
        if count:
            yield f"{item} is {state} and {agree(count, 'item', 'waits')} for it: reopen it, or let nothing come after it"


def _unopened(planned: Sequence[PlannedItem]) -> Iterator[str]:
    asking = [
        _named(part)
        for part in planned
        if (part.draft.approval or part.draft.review) and not part.draft.done
    ]
    if asking:
        yield (
            f"reviews ask for a person here and no person has a key, so nobody opens the gates of {few(asking)}:"
            " a person makes one with `counterpoint key add`"
        )


def _closes_with_work(part: PlannedItem) -> bool:
    """Return whether an item that is not done ends with the last of what is below it, and only so."""
    draft = part.draft
    if draft.done or draft.kind in WORKABLE:
        return False
    return not draft.lifecycle or lifecycle(draft.lifecycle).closes_itself


def _waiters(planned: Sequence[PlannedItem]) -> list[list[int]]:
    """Return what waits for each beginning and each end (`waits_of`)."""
    waiters: list[list[int]] = [[] for _ in range(2 * len(planned))]
    for node, needs in enumerate(waits_of(planned)):
        for need in needs:
            waiters[need].append(node)
    return waiters


def _waiting(
    planned: Sequence[PlannedItem], waiters: Sequence[Sequence[int]], starts: Collection[int]
) -> int:
    """Return how many items that are not done cannot begin before some beginnings or ends."""
    seen, queue = set(starts), list(starts)
    while queue:
        for node in waiters[queue.pop()]:
            if node not in seen:
                seen.add(node)
                queue.append(node)
    return sum(node % 2 == 0 and not planned[node // 2].draft.done for node in seen)


def _named(part: PlannedItem) -> str:
    draft = part.draft
    where = f" (line {draft.line})" if draft.line else ""
    return f"the {draft.kind} {draft.title[:_TITLE]!r}{where}"

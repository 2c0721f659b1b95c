"""Counting how far a whole is, in the words of whoever asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from counterpoint.core.model.answers import Progress
from counterpoint.core.model.lifecycles import LIFECYCLES, Category

Word = TypeVar("Word", bound=str)

CATEGORIES: Final[Mapping[str, Category]] = {
    status: category
    for table in LIFECYCLES.values()
    for status, category in table.categories.items()
}
"""The category of each state; a state means the same in every table."""


def counted(progress: Progress, word: Callable[[str, bool], Word]) -> Counter[Word]:
    """Return how many parts there are for each word.

    word: answers what a state is called, and what it is called with an open blocker.
    """
    found: Counter[Word] = Counter()
    for status, count in progress.states.items():
        blocked = progress.blocked.get(status, 0)
        if count > blocked:
            found[word(status, False)] += count - blocked
        if blocked:
            found[word(status, True)] += blocked
    return found


def by_category(progress: Progress) -> dict[str, int]:
    """Return how many parts there are of each category."""
    return dict(counted(progress, lambda status, _blocked: CATEGORIES[status]))

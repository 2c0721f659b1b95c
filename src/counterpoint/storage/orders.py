"""Whether rows are sorted, or read from an index that has them in their order.

Without statistics a database takes the order for dearer than the filter: it walks through all rows of a project in the order that
is asked for, and leaves out those that nobody wanted. So where no index begins with what a filter says and goes on in that order,
and all rows are wanted that match, the order is by expressions that no index has: then the filter is looked up, and the few rows are
sorted. Of a page of rows that is not said, since one that many rows match is found soonest by walking.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from counterpoint.core.model.rows import Noun

Shape = tuple[tuple[str, int | str], ...]
"""The columns of a filter, each with how many values it has; -1 is one value that must equal.

A word of the noun's partial indexes stands there itself.
"""
Ways = tuple[tuple[str, bool], ...]
"""The columns of an order, each with whether it runs downward."""


@cache
def is_sorted(noun: type[Noun], shape: Shape, ways: Ways) -> bool:
    """Return whether all rows that a filter matches are to be sorted, rather than read in their order."""
    filtered = {name for name, _ in shape}
    every = _indexes(noun, shape)
    if filtered.isdisjoint(index[0] for index in every):
        return False
    fixed = {name for name, many in shape if isinstance(many, str) or many < 0}
    order = [name for name, _ in ways]
    is_even = len({down for _, down in ways}) == 1
    return not (is_even and any(_gives_order(index, filtered, fixed, order) for index in every))


def _indexes(noun: type[Noun], shape: Shape) -> list[list[str]]:
    """Return the columns of each index that a filter may use, after the project."""
    column_lists = [*noun.indexes, *noun.unique]
    partial = noun.partial
    if partial is not None and dict(shape).get(partial.column) in partial.words:
        column_lists += partial.indexes
    key = [name for name in noun.key if name != "project"]
    return [index for index in (key, *(columns.split(",") for columns in column_lists)) if index]


def _gives_order(
    index: Sequence[str], filtered: set[str], fixed: set[str], order: Sequence[str]
) -> bool:
    """Return whether an index begins with what is asked for, and what follows stands in an order."""
    if index[0] not in filtered:
        return False
    open_columns = [name for name in index if name not in fixed]
    # What has one value may stand in an order too.
    open_order = [name for name in order if name not in fixed]
    many = min(len(open_columns), len(open_order))
    return open_columns[:many] == open_order[:many] and bool(open_columns or not open_order)

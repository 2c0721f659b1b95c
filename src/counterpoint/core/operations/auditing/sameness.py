"""Compares what is kept with what the entries say: cell by cell, hash by hash.

Rules: (1) two tables are walked side by side in the order of their keys, so memory does not grow with
them. (2) The first differences of a table are told, all rows are counted. (3) Of the tree the lowest
wrong hash is told; those above it are wrong because of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from counterpoint.core.ledger.merkle import Node
from counterpoint.core.model.rows import Noun, columns
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.errors import LedgerBroken, StateDiffers

DIFFERENCES_SHOWN: Final = 20
_NODES: Final = 2048


def compare_table(
    noun: type[Noun], view: Reading, replayed: Reading
) -> tuple[int, list[StateDiffers]]:
    """Walk two tables side by side, both in the order of their keys; answer the rows and what differs."""
    count = 0
    differences: list[StateDiffers] = []
    kept_rows, theirs = view.table(noun), replayed.table(noun)
    row: Any = next(kept_rows, None)
    other: Any = next(theirs, None)
    while row is not None or other is not None:
        if row == other:  # as nearly all are
            count += 1
            row, other = next(kept_rows, None), next(theirs, None)
            continue
        key, other_key = _key(noun, row), _key(noun, other)
        is_here = other is None or (row is not None and key <= other_key)
        is_there = row is None or (other is not None and other_key <= key)
        pair = row if is_here else None, other if is_there else None
        if len(differences) < DIFFERENCES_SHOWN:
            differences.append(_differs(noun, *pair))
        if is_here:
            count += 1
            row = next(kept_rows, None)
        if is_there:
            other = next(theirs, None)
    return count, differences


class TreeCheck:
    """Compares the hashes that are kept of a tree with those that entries complete, some at a time."""

    def __init__(self, view: Reading) -> None:
        """Begin before the first entry."""
        self._view = view
        self._size = 0
        self._waiting: list[Node] = []
        self._wrong: set[tuple[int, int]] = set()

    def read(self, leaves: list[bytes], nodes: Iterable[Node]) -> Iterator[StateDiffers]:
        """Take in the leaf hashes of some entries and what they complete; say what differs."""
        self._waiting += [(0, position, leaf) for position, leaf in enumerate(leaves, self._size)]
        self._waiting += nodes
        self._size += len(leaves)
        if len(self._waiting) >= _NODES:
            yield from self.close()

    def close(self) -> Iterator[StateDiffers]:
        """Say in what those that were taken in and not yet compared differ."""
        waiting, self._waiting = sorted(self._waiting), []
        for level, row in groupby(waiting, key=itemgetter(0)):
            yield from _wrong_nodes(self._view, level, list(row), self._wrong)


def _wrong_nodes(
    view: Reading, level: int, row: list[Node], wrong: set[tuple[int, int]]
) -> Iterator[StateDiffers]:
    """Compare the hashes of a level, which stand side by side; `wrong` are those found before."""
    first, last = row[0][1], row[-1][1]
    if view.nodes(level, first, last + 1) == [digest for _, _, digest in row]:
        return
    for _, index, digest in row:
        if _node(view, level, index) == digest:
            continue
        below = {(level - 1, 2 * index), (level - 1, 2 * index + 1)}
        wrong.add((level, index))
        # What stands on a wrong hash says nothing of its own.
        if below.isdisjoint(wrong):
            yield StateDiffers(
                f"hash {index} at level {level} of the tree is not that of the entries",
                table="nodes",
                key=f"{level}/{index}",
            )


def _node(view: Reading, level: int, index: int) -> bytes:
    try:
        return view.node(level, index)
    except LedgerBroken:
        return b""


def _key(noun: type[Noun], row: tuple[Any, ...] | None) -> tuple[Any, ...]:
    names = [column.name for column in columns(noun)]
    return tuple(row[names.index(name)] for name in noun.key) if row is not None else ()


def _differs(noun: type[Noun], row: Any, other: Any) -> StateDiffers:
    key = "/".join(str(part) for part in _key(noun, row or other)[1:])
    if other is None:
        what = "is in the table, but no entry wrote it"
    elif row is None:
        what = "was written by an entry, but is not in the table"
    else:
        what = "is not what the entries say"
    return StateDiffers(
        f"row {key} of {noun.table} {what}",
        hint="Run `counterpoint restore` with a backup, or keep the file for inspection.",
        table=noun.table,
        key=key,
    )

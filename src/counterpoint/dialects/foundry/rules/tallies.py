"""Tallies of a spec, updated while single tasks change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from counterpoint.core.ledger.lines import REDACTION
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import WORKABLE, Alias, Gate, Item, Staging
from counterpoint.dialects.foundry.nouns.nodes import REMOVED, Tally
from counterpoint.dialects.foundry.rules.nodes import sum_up

_SHAPE: Final = frozenset(("kind", "parent", "root"))
"""What of an item says where it stands in its tree."""
_ABOUT: Final = frozenset((Alias.table, Gate.table))
"""The tables of what a list of phases says of them, beside blockers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The work of a spec by parent: direct leaves only.

    parents: by holder, what holds that; empty for the root. own: by holder, the leaves directly below it.
    gone: holders that were removed, with all below them.
    """

    parents: Mapping[str, str]
    own: Mapping[str, Tally]
    gone: frozenset[str] = frozenset()


class Tallies:
    """The progress of each parent of a spec, with all below it."""

    def __init__(self, work: Held) -> None:
        """Start with counted work."""
        self._held = work
        self._own = dict(work.own)
        self._sums = sum_up(work.own, work.parents)
        self._leaves: dict[str, dict[str, bool]] = {}

    def of(self, holder: str) -> Tally | None:
        """Return the tally of a parent with all below it; None for an item without children."""
        return self._sums.get(holder)

    def was_removed(self, item: str) -> bool:
        """Return whether an item held work and was removed, so that its return changes the tree."""
        return item in self._held.gone

    def knows(self, holder: str) -> bool:
        """Return whether each leaf directly below a holder is known."""
        return holder in self._leaves

    def size(self) -> int:
        """Return how many holders and leaves are known."""
        return len(self._sums) + sum(map(len, self._leaves.values()))

    def forget_leaves(self) -> None:
        """Know the sums alone; leaves are entered again when one of them changes."""
        self._leaves.clear()

    def enter(self, holder: str, leaves: Mapping[str, bool]) -> tuple[str, ...]:
        """Set the leaves below a parent, each with whether it is done; return the items whose tallies changed."""
        self._leaves[holder] = dict(leaves)
        return self._settle(holder, Tally(len(leaves), sum(leaves.values())))

    def put(self, holder: str, leaf: str, *, is_done: bool) -> tuple[str, ...]:
        """Update one leaf of a parent whose leaves are known; return the items whose tallies changed."""
        leaves, own = self._leaves[holder], self._own.get(holder, Tally())
        before = leaves.get(leaf)
        leaves[leaf] = is_done
        more = Tally(
            own.total + int(before is None), own.completed + int(is_done) - int(bool(before))
        )
        return self._settle(holder, more)

    def _settle(self, holder: str, own: Tally) -> tuple[str, ...]:
        """Set the direct tally of a parent, and update all above it."""
        before = self._own.get(holder, Tally())
        self._own[holder] = own
        if own == before:
            return ()
        total, completed = own.total - before.total, own.completed - before.completed
        changed: list[str] = []
        current = holder
        while current in self._sums:
            tally = self._sums[current]
            self._sums[current] = Tally(tally.total + total, tally.completed + completed)
            changed.append(current)
            current = self._held.parents[current]
        return tuple(changed)


@dataclass(slots=True)
class Touched:
    """What entries of the ledger have changed that tallies and lists of phases are made of.

    items: those that are new or were changed. placed: those of them that may have another place among their siblings.
    is_reshaped: whether a tree, or what of it is seen, may be another. are_phases_other: whether names, gates or blockers may be.
    """

    items: dict[str, None] = field(default_factory=dict[str, None])
    placed: set[str] = field(default_factory=set[str])
    is_reshaped: bool = False
    are_phases_other: bool = False

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add the changes of an entry, by its short keys."""
        # The text of a title may be gone.
        self.are_phases_other |= entry["a"] == REDACTION
        for row in entry.get("r", ()):
            table, is_whole = row["t"], "v" in row
            if table == Item.table:
                self._add_item(row["k"].get("id", ""), row["v"] if is_whole else row["c"], is_whole)
            elif table == Staging.table:
                self.is_reshaped = True
            elif table in _ABOUT:
                self.are_phases_other = True
            elif table == Record.table:
                # What is said of a record later on is mostly that nothing is blocked any more.
                self.are_phases_other |= not is_whole or _is_blocker(row["v"])

    def _add_item(self, item: str, values: Mapping[str, Any] | None, is_whole: bool) -> None:
        self.items[item] = None
        # What is new is told whole: where it stands is looked up.
        self.is_reshaped |= values is None or not (is_whole or _SHAPE.isdisjoint(values))
        if values is not None and "position" in values:
            self.placed.add(item)


def is_leaf(kind: str, status: str) -> bool:
    """Return whether an item that holds nothing counts as work."""
    return kind in WORKABLE and status != REMOVED


def _is_blocker(values: Mapping[str, Any] | None) -> bool:
    return values is not None and values.get("kind") == "blocker"

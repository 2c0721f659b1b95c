"""A cache of the tallies of specs, so that no call counts all of their tasks again.

A cached spec belongs to one position of one ledger: its number of entries, and the leaf of the last. Rules: (1) callers bring their
own view. Later entries are read, and what they touched is looked up in the view; so it does not matter who wrote
them, or in which process; the first of them names the leaf that was the last. (2) If they do not follow that place (a backup was put back), are many, or change the tree itself, all is
counted anew: in an index, as without any of this. A view of an earlier moment is counted for itself. (3) The leaves below a holder are
read when one of them first changes, and known from then on. (4) Nobody keeps what he has written in his own
transaction: he counts for himself. (5) What was not asked for longest is forgotten first, above so many items in all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Head, Reading
from counterpoint.dialects.foundry.models.specs import REMOVED, PhaseItself, PhaseLine, Tally
from counterpoint.dialects.foundry.nodes.queries import Nodes, chunks
from counterpoint.dialects.foundry.nodes.rules.progress import Tallies, Touched, is_leaf
from counterpoint.dialects.foundry.specs.operations import (
    line_of_phase,
    phases_of,
    phases_themselves,
)
from counterpoint.kernel.errors import MalformedDocument

_MAX_ENTRIES: Final = 100
"""Later entries from which counting anew takes no longer than reading them."""
_MAX_CACHED: Final = 20_000
"""Parents and leaves that are cached, of all specs: about a hundred bytes each."""
_COLUMNS: Final = ("id", "root", "kind", "parent", "status", "category")


@dataclass(slots=True, kw_only=True)
class _CachedSpec:
    """One spec at a position of its ledger; phases: None until they are asked for, and after one changed."""

    head: Head
    tallies: Tallies
    phases: dict[str, PhaseItself] | None = None
    lines: dict[str, PhaseLine] = field(default_factory=dict[str, PhaseLine])


class SpecTallies:
    """The cached tallies of the specs that were used last."""

    def __init__(self) -> None:
        """Start with an empty cache."""
        self._kept: dict[tuple[str, str], _CachedSpec] = {}
        self._lock = threading.Lock()

    def of(self, nodes: Nodes, items: Iterable[str] = ()) -> Mapping[str, Tally]:
        """Return the tallies of the root and of some items; items without children have none."""
        with self._lock:
            tallies = self._get_cached(nodes).tallies
            tallies_by_item = {item: tallies.of(item) for item in (nodes.root.id, *items)}
        return {item: tally for item, tally in tallies_by_item.items() if tally is not None}

    def phases(self, nodes: Nodes) -> tuple[PhaseLine, ...]:
        """Return the phases of a spec in their order, each with its progress."""
        with self._lock:
            cached = self._get_cached(nodes)
            if cached.phases is None:
                cached.phases = {phase.item: phase for phase in phases_of(nodes)}
                cached.lines = {}
                _refresh_lines(cached, cached.phases)
            return tuple(cached.lines.values())

    def _get_cached(self, nodes: Nodes) -> _CachedSpec:
        """Return the cached spec brought up to a view."""
        key, head = (nodes.view.project, nodes.root.id), nodes.view.head()
        cached = self._kept.pop(key, None)
        if cached is not None and cached.head.size > head.size:
            # Another caller has seen more already; an older backup comes to more entries than these in time.
            self._kept[key] = cached
            return _CachedSpec(head=head, tallies=Tallies(nodes.held()))
        if cached is None or not _has_followed(cached, nodes, head):
            cached = _CachedSpec(head=head, tallies=Tallies(nodes.held()))
        self._kept[key] = cached
        self._forget()
        return cached

    def size(self) -> int:
        """Return how many parents and leaves are cached of all specs."""
        return sum(cached.tallies.size() for cached in self._kept.values())

    def _forget(self) -> None:
        excess = self.size() - _MAX_CACHED
        while excess > 0 and len(self._kept) > 1:
            excess -= self._kept.pop(next(iter(self._kept))).tallies.size()
        if excess > 0:
            # A single spec that fills the cache keeps only its sums.
            for cached in self._kept.values():
                cached.tallies.forget_leaves()


def tallies_for(context: Context) -> SpecTallies:
    """Return the cache of this process, or an empty one for a caller that may have written in its transaction."""
    is_writing = context.unit is not None and context.unit.writing is not None
    return SpecTallies() if is_writing else context.ports.remember(SpecTallies)


def _has_followed(cached: _CachedSpec, nodes: Nodes, head: Head) -> bool:
    """Bring a cached spec to the end of a ledger; return False where all has to be counted anew."""
    if head.size == cached.head.size:
        return head.leaf == cached.head.leaf
    if head.size - cached.head.size > _MAX_ENTRIES:
        return False
    touched = _read_touched(nodes.view, cached.head, head)
    if touched is None or touched.is_reshaped or not _is_applied(cached, nodes, touched):
        return False
    cached.head = head
    return True


def _read_touched(view: Reading, since: Head, head: Head) -> Touched | None:
    """Return what entries have changed since a head; None if they do not follow it, or cannot be read."""
    touched, previous = Touched(), since.leaf
    try:
        for data in view.entries(since.size, head.size):
            entry = load_fields(data)
            # Each entry names the one before it; the first of these has to name the last known one.
            if previous and entry["h"] != previous:
                return None
            previous = ""
            touched.add(entry)
    except MalformedDocument:
        # Damage is reported by the audit.
        return None
    return touched


def _is_applied(cached: _CachedSpec, nodes: Nodes, touched: Touched) -> bool:
    """Count the touched items as they are now; return False where the tree itself has changed."""
    phases: list[str] = []
    for some in chunks(list(touched.items)):
        for row in nodes.view.cells(Item, _COLUMNS, id=some):
            if row[1] != nodes.root.id:
                continue
            if not _is_counted(cached, nodes, row):
                return False
            if row[2] == "phase":
                phases.append(row[0])
    _refresh_phases(cached, nodes, phases, touched)
    return True


def _is_counted(cached: _CachedSpec, nodes: Nodes, row: tuple[str, ...]) -> bool:
    name, root, kind, parent, status, category = row
    tallies = cached.tallies
    if status == REMOVED or tallies.was_removed(name):
        return name == root
    if tallies.of(name) is not None or not is_leaf(kind, status):
        return True
    if tallies.of(parent) is None:
        return False
    if tallies.knows(parent):
        changed = tallies.put(parent, name, is_done=category == "done")
    else:
        changed = tallies.enter(parent, _load_leaves(nodes.view, tallies, parent))
    _refresh_lines(cached, changed)
    return True


def _refresh_phases(
    cached: _CachedSpec, nodes: Nodes, changed: list[str], touched: Touched
) -> None:
    """Read changed phases again; forget all where there are others, or another order."""
    phases, some = cached.phases, set(changed)
    if phases is None:
        return
    if touched.are_phases_other or touched.placed & some or not some <= phases.keys():
        cached.phases = None
        return
    for names in chunks(changed):
        for phase in phases_themselves(nodes, nodes.view.select(Item, id=names)):
            phases[phase.item] = phase
            _refresh_lines(cached, (phase.item,))


def _load_leaves(view: Reading, tallies: Tallies, parent: str) -> dict[str, bool]:
    rows = view.cells(Item, ("id", "kind", "status", "category"), parent=parent)
    return {
        name: category == "done"
        for name, kind, status, category in rows
        if is_leaf(kind, status) and tallies.of(name) is None
    }


def _refresh_lines(cached: _CachedSpec, items: Iterable[str]) -> None:
    """Build the lines of the phases among some items anew."""
    phases = cached.phases or {}
    for item in items:
        if item in phases:
            cached.lines[item] = line_of_phase(phases[item], cached.tallies.of(item) or Tally())

"""How far specs are, kept so that no call counts all of their tasks again.

What is kept is of one place of one ledger: how many entries there were, and the leaf of the last. Rules: (1) whoever asks brings his
own view. Entries behind the place are read, and what they touched is looked up as the view has it; so it does not matter who wrote
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
from counterpoint.dialects.foundry.nouns.nodes import REMOVED, Tally
from counterpoint.dialects.foundry.nouns.specs import PhaseItself, PhaseLine
from counterpoint.dialects.foundry.rules.tallies import Tallies, Touched, is_leaf
from counterpoint.dialects.foundry.verbs.queries import Nodes, chunks
from counterpoint.dialects.foundry.verbs.specs import (
    line_of_phase,
    phases_of,
    phases_themselves,
)
from counterpoint.kernel.errors import MalformedDocument

_MANY: Final = 100
"""Entries behind which counting anew takes no longer than reading them."""
_MOST: Final = 20_000
"""How many holders and leaves are known, of all specs: about a hundred bytes each."""
_COLUMNS: Final = ("id", "root", "kind", "parent", "status", "category")


@dataclass(slots=True, kw_only=True)
class _Kept:
    """One spec as it was at a place of its ledger; phases: None until somebody asks, and after one changed."""

    head: Head
    tallies: Tallies
    phases: dict[str, PhaseItself] | None = None
    lines: dict[str, PhaseLine] = field(default_factory=dict[str, PhaseLine])


class SpecTallies:
    """The tallies of the specs that were asked for last."""

    def __init__(self) -> None:
        """Know of no spec yet."""
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._lock = threading.Lock()

    def of(self, known: Nodes, items: Iterable[str] = ()) -> Mapping[str, Tally]:
        """Return the tallies of the root and of some items; what holds nothing has none."""
        with self._lock:
            tallies = self._at(known).tallies
            found = {item: tallies.of(item) for item in (known.root.id, *items)}
        return {item: tally for item, tally in found.items() if tally is not None}

    def phases(self, known: Nodes) -> tuple[PhaseLine, ...]:
        """Return the phases of a spec in their order, each with what is done of it."""
        with self._lock:
            kept = self._at(known)
            if kept.phases is None:
                kept.phases = {one.item: one for one in phases_of(known)}
                kept.lines = {}
                _redraw(kept, kept.phases)
            return tuple(kept.lines.values())

    def _at(self, known: Nodes) -> _Kept:
        """Return what is known of a spec as a view shows it."""
        place, head = (known.view.project, known.root.id), known.view.head()
        kept = self._kept.pop(place, None)
        if kept is not None and kept.head.size > head.size:
            # Somebody else has seen more already; an older backup comes to more entries than these in time.
            self._kept[place] = kept
            return _Kept(head=head, tallies=Tallies(known.held()))
        if kept is None or not _has_followed(kept, known, head):
            kept = _Kept(head=head, tallies=Tallies(known.held()))
        self._kept[place] = kept
        self._forget()
        return kept

    def size(self) -> int:
        """Return how many holders and leaves are known of all specs."""
        return sum(one.tallies.size() for one in self._kept.values())

    def _forget(self) -> None:
        left = self.size() - _MOST
        while left > 0 and len(self._kept) > 1:
            left -= self._kept.pop(next(iter(self._kept))).tallies.size()
        if left > 0:
            # Of one spec that is as large as all the others may be, only the sums stay.
            for one in self._kept.values():
                one.tallies.forget_leaves()


def tallies_for(context: Context) -> SpecTallies:
    """Return what this process keeps, or for whoever may have written in his transaction one that knows nothing."""
    is_writing = context.unit is not None and context.unit.writing is not None
    return SpecTallies() if is_writing else context.ports.remember(SpecTallies)


def _has_followed(kept: _Kept, known: Nodes, head: Head) -> bool:
    """Bring what is known of a spec to the end of a ledger; answer False where all has to be counted anew."""
    if head.size == kept.head.size:
        return head.leaf == kept.head.leaf
    if head.size - kept.head.size > _MANY:
        return False
    touched = _touched(known.view, kept.head, head)
    if touched is None or touched.is_reshaped or not _is_taken_in(kept, known, touched):
        return False
    kept.head = head
    return True


def _touched(view: Reading, since: Head, head: Head) -> Touched | None:
    """Return what entries have changed since a place; None if they do not follow it, or cannot be read."""
    found, previous = Touched(), since.leaf
    try:
        for data in view.entries(since.size, head.size):
            entry = load_fields(data)
            # Each names the one before it, and the first of these the last that was known.
            if previous and entry["h"] != previous:
                return None
            previous = ""
            found.add(entry)
    except MalformedDocument:
        # What is damaged is for the audit to tell.
        return None
    return found


def _is_taken_in(kept: _Kept, known: Nodes, touched: Touched) -> bool:
    """Count what was touched as it is now; answer False where the tree itself became another."""
    phases: list[str] = []
    for some in chunks(list(touched.items)):
        for row in known.view.cells(Item, _COLUMNS, id=some):
            if row[1] != known.root.id:
                continue
            if not _is_counted(kept, known, row):
                return False
            if row[2] == "phase":
                phases.append(row[0])
    _look_at_phases(kept, known, phases, touched)
    return True


def _is_counted(kept: _Kept, known: Nodes, row: tuple[str, ...]) -> bool:
    name, root, kind, parent, status, category = row
    tallies = kept.tallies
    if status == REMOVED or tallies.was_removed(name):
        return name == root
    if tallies.of(name) is not None or not is_leaf(kind, status):
        return True
    if tallies.of(parent) is None:
        return False
    if tallies.knows(parent):
        changed = tallies.put(parent, name, is_done=category == "done")
    else:
        changed = tallies.enter(parent, _leaves(known.view, tallies, parent))
    _redraw(kept, changed)
    return True


def _look_at_phases(kept: _Kept, known: Nodes, changed: list[str], touched: Touched) -> None:
    """Look again at phases that were changed; forget all where these may be others, or in another order."""
    phases, some = kept.phases, set(changed)
    if phases is None:
        return
    if touched.are_phases_other or touched.placed & some or not some <= phases.keys():
        kept.phases = None
        return
    for names in chunks(changed):
        for phase in phases_themselves(known, known.view.select(Item, id=names)):
            phases[phase.item] = phase
            _redraw(kept, (phase.item,))


def _leaves(view: Reading, tallies: Tallies, parent: str) -> dict[str, bool]:
    rows = view.cells(Item, ("id", "kind", "status", "category"), parent=parent)
    return {
        name: category == "done"
        for name, kind, status, category in rows
        if is_leaf(kind, status) and tallies.of(name) is None
    }


def _redraw(kept: _Kept, items: Iterable[str]) -> None:
    """Draw the lines of those of some items anew that are phases."""
    phases = kept.phases or {}
    for item in items:
        if item in phases:
            kept.lines[item] = line_of_phase(phases[item], kept.tallies.of(item) or Tally())

"""What is in the way of an item, counted from the tables alone."""

from __future__ import annotations

from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Dependency, Gate, Item
from counterpoint.core.operations.recording.links import holds_back
from counterpoint.core.ports.store import Reading


def recount(view: Reading, item: Item) -> int:
    """Answer what an item's counter must be, from the tables alone."""
    open_needs = sum(
        1
        for edge in view.select(Dependency, item=item.id)
        if (needed := view.find(Item, edge.needs)) is not None and holds_back(view, needed)
    )
    gates = len(view.select(Gate, item=item.id, holds="start", status="closed"))
    blockers = len(view.select(Record, item=item.id, kind="blocker", status="open"))
    parent = view.find(Item, item.parent) if item.parent else None
    held = int(parent is not None and parent.blockers > 0)
    return open_needs + gates + blockers + held + int(item.status in item.states.parked)

"""What others hold stays in its place and its words, and can be finished."""

from __future__ import annotations

from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.operations.recording.seats import refuse_strange


def refuse_held_at(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed if somebody else holds an item, or something below it; people may go on."""
    live = change.select(Claim, state="live", order="item")
    held = [one for one in live if any(above.id == item.id for above in line_of(change, one.item))]
    refuse_strange(change, held)

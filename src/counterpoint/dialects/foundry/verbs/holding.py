"""Protects what others hold: it keeps its place and its texts, and can be finished.

Holders, and people, are refused nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.operations.recording.seats import refuse_strange, strange_among


def refuse_held_at(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed if another agent holds an item, or something below it."""
    refuse_strange(change, _list_claims_below(change, (item.id,)))


def refuse_held_over(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed if another agent holds an item, or one above it: its end would wait for new children."""
    claims = [change.find(Claim, above.id) for above in line_of(change, item.id)]
    refuse_strange(change, [claim for claim in claims if claim is not None])


def refuse_reordered(change: Change, before: Sequence[str], after: Sequence[str]) -> None:
    """Raise AlreadyClaimed if a new order of items moves what another agent holds, or something below that.

    Held items stay in their order: all others may be put anywhere between.
    """
    places = set(before)
    claims: dict[str, Claim] = {}
    for claim in strange_among(change, _list_claims_below(change, places)):
        claims.update(
            (ancestor.id, claim)
            for ancestor in line_of(change, claim.item)
            if ancestor.id in places
        )
    if [item_id for item_id in before if item_id in claims] != [
        item_id for item_id in after if item_id in claims
    ]:
        refuse_strange(change, list(claims.values()))


def _list_claims_below(change: Change, items: Collection[str]) -> list[Claim]:
    """Return the claims of some items, and of all below these."""
    live = change.select(Claim, state="live", order="item")
    return [
        claim
        for claim in live
        if any(ancestor.id in items for ancestor in line_of(change, claim.item))
    ]

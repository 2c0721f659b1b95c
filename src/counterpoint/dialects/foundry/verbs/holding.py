"""What others hold stays in its place and its words, and can be finished.

Who holds something himself, and people, are refused nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.operations.recording.seats import refuse_strange, strange_among


def refuse_held_at(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed if somebody else holds an item, or something below it."""
    refuse_strange(change, _held_at(change, (item.id,)))


def refuse_held_over(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed if somebody else holds an item, or one above it: its end would wait for what is put below."""
    claims = [change.find(Claim, above.id) for above in line_of(change, item.id)]
    refuse_strange(change, [one for one in claims if one is not None])


def refuse_reordered(change: Change, before: Sequence[str], after: Sequence[str]) -> None:
    """Raise AlreadyClaimed if another order of some items moves what somebody else holds, or something below that.

    What others hold goes on in its order: all else may be put anywhere between.
    """
    places = set(before)
    held: dict[str, Claim] = {}
    for claim in strange_among(change, _held_at(change, places)):
        held.update((here.id, claim) for here in line_of(change, claim.item) if here.id in places)
    if [one for one in before if one in held] != [one for one in after if one in held]:
        refuse_strange(change, list(held.values()))


def _held_at(change: Change, items: Collection[str]) -> list[Claim]:
    """Return the claims of some items, and of all below these."""
    live = change.select(Claim, state="live", order="item")
    return [one for one in live if any(here.id in items for here in line_of(change, one.item))]

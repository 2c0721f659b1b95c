"""When an item is ready: the one definition for list, next and claim.

Ready if and only if (1) a session can work on its kind, (2) its state is of the category `open`, or
`active` without a lease that still runs of somebody who is there, (3) nothing is in the way: no unfinished dependency, no closed
gate that holds the start, no open blocker, no parked state, no blocked parent, (4) no work below it is open, and
(5) its areas do not overlap with the areas of an item that another session holds at this moment.

There are two exceptions. Work that is begun by word, claimed with it or not: `holds_against_word` says what of
(3) refuses that. And a task that is made by whoever begins it in the same call (`Claims.begin`): it is what its
maker does now, whatever holds its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from counterpoint.core.model.answers import Obstacle, Readiness, Standing
from counterpoint.core.model.journal import Record
from counterpoint.core.model.presence import Departure
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.rules.areas import overlap_reasons
from counterpoint.core.rules.claims import held_until, holder_of, other_claim
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

LEFT_OUT: Final = frozenset({"skipped", "cancelled"})
"""States of what was given up."""


@frozen
class Surroundings:
    """What readiness looks at beside the item itself.

    obstacles: each open thing in the way. has_open_below: whether work below it is not closed.
    claim: the item's last claim. departure: that the holder of that is gone.
    busy: areas of every item that is held now by who is there, by item.
    """

    obstacles: tuple[Obstacle, ...] = ()
    has_open_below: bool = False
    claim: Claim | None = None
    departure: Departure | None = None
    areas: tuple[str, ...] = ()
    busy: Mapping[str, tuple[str, ...]]


def judge(item: Item, around: Surroundings, session: str, now: Timestamp) -> Readiness:
    """Return whether a session may take up an item, and why or why not."""
    reasons = list(_state_reasons(item, around, session, now))
    reasons += [obstacle_text(obstacle, item) for obstacle in around.obstacles]
    if around.has_open_below:
        reasons.append("its sub-tasks are not finished")
    reasons += overlap_reasons(around.areas, around.busy, but=item.id)
    if reasons:
        is_held = around.claim is not None and around.claim.is_live(now) and not _is_free(around)
        holder = around.claim.session if is_held and around.claim is not None else ""
        is_blocked = any(obstacle.kind == "blocker" for obstacle in around.obstacles)
        return Readiness(
            is_ready=False,
            may_go_on=item.category != "open" and not holder,
            reasons=tuple(reasons),
            held_by=holder,
            is_blocked=is_blocked,
        )
    why = [f"priority {item.priority}", "nothing in the way"]
    claim, is_mine = around.claim, False
    if item.category == "active" and claim is not None and claim.is_held:
        is_mine = claim.is_live(now) and not _is_free(around)
        why.append(_holding_reason(claim, around.departure, now))
    return Readiness(is_ready=True, may_go_on=True, reasons=tuple(why), is_mine=is_mine)


def _is_free(around: Surroundings) -> bool:
    return around.departure is not None and around.departure.is_over


def _holding_reason(claim: Claim, departure: Departure | None, now: Timestamp) -> str:
    """Return why an item that somebody holds may be taken up."""
    if not claim.is_live(now):
        return f"the lease of {holder_of(claim)} has run out"
    if departure is None:
        return f"you hold it until {claim.leased_until}"
    if departure.was_own:
        return f"you left it at {departure.since}, under the name {holder_of(claim)}; you take it up again"
    return f"its holder {holder_of(claim)} is gone since {departure.since}; you take it over"


def holds_against_word(item: Item, obstacles: Iterable[Obstacle]) -> list[Obstacle]:
    """Return those obstacles that refuse a word by which an item would be begun.

    Unfinished dependencies and closed gates. The word itself takes an item out of a parked state and
    resolves what blocks it, and it is no news for an item that was begun already.
    """
    if item.category != "open":
        return []
    return [obstacle for obstacle in obstacles if obstacle.kind in {"need", "gate"}]


def part_state(status: str, category: str, blocked: bool = False) -> Standing:
    """Return how a part of a whole in a state stands; blocked: whether it has an open blocker.

    What failed is no end: somebody has to decide, so it stands as blocked.
    """
    if status in LEFT_OUT:
        return "skipped"
    if category == "done":
        return "done"
    if blocked or category == "dropped":
        return "blocked"
    return "open" if category == "open" else "active"


def obstacle_text(obstacle: Obstacle, item: Item) -> str:
    """Return what is in the way of an item in words, with its id."""
    thing = obstacle.thing
    if isinstance(thing, Gate):
        text = f"gate {thing.name} ({thing.kind}) is closed"
    elif isinstance(thing, Record):
        text = f"blocker {thing.id}: {thing.title}"
    elif obstacle.kind == "parked":
        text = f"it is in the {thing.status}"
    else:
        way_on = f"; {way_past(thing.id, obstacle.item.id)}" if thing.category == "dropped" else ""
        text = f"waits for {thing.id} ({thing.status}{way_on}): {thing.title}"
    return text if obstacle.item.id == item.id else f"{obstacle.item.id} {text}"


def way_past(needed: str, waiting: str) -> str:
    """Return what a person decides about an item that was given up, and that another waits for."""
    return f"reopen it with `counterpoint reopen {needed}`, or let nothing come after it with `counterpoint edit {waiting} --not-after {needed}`"


def _state_reasons(item: Item, around: Surroundings, session: str, now: Timestamp) -> Sequence[str]:
    if not item.is_workable:
        return [f"a {item.kind} holds work and is not claimed itself"]
    if item.category == "open":
        return []
    if item.category != "active":
        return [f"it is {'in ' if item.status == 'review' else ''}{item.status}"]
    other = other_claim(around.claim, session, now)
    return [held_until(other, around.departure)] if other and not _is_free(around) else []

"""Moves a part of a whole to the state that a word names.

Rule 1: what is blocked has an open blocker that says why; any other word for it resolves that. Rule 2: whoever
completes or skips a whole says that nothing more is needed in it: what is open below it is skipped, and named in the
answer. Rule 3: what refuses a word for a start is what `holds_against_word` of the core's readiness says. Rule 4: nobody
moves what somebody else holds; any word but `blocked` ends the claim of whoever gives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from counterpoint.core.model.answers import MovedPart, Obstacle, Standing
from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.lifecycles import UNCLOSED
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.journal import Journal, resolve_blocker
from counterpoint.core.operations.readiness import obstacles
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.connection_sessions import refuse_foreign_claims
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import set_attributes
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.moves import move
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.readiness import holds_against_word, part_state
from counterpoint.core.rules.sessions import may_write
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import NotReady

_STATES: Final[dict[Standing, str]] = {
    "open": "open",
    "active": "active",
    "done": "done",
    "skipped": "skipped",
}


def bring(
    change: Change, item: Item, to: Standing, reason: str = "", *, keeps: str = ""
) -> MovedPart:
    """Bring a part of a whole to stand so, within a change; the same again changes nothing.

    keeps: the name of the value that says why it was left out; empty for none. Raises NotReady, AlreadyClaimed, GateClosed.
    """
    change.subject = item.id
    skipped: list[str] = []
    stuck = open_blockers(change, item)
    before = part_state(*item.state_key, bool(stuck))
    if before != to:
        refuse_other(change, item)
        change.add_facts(moved=[before, to])
        change.add_texts(reason=reason)
        if to == "blocked":
            block(change, item, reason or f"{item.title} is blocked")
        else:
            item = unblock(change, item, stuck, reason)
            skipped = _settle(change, item, to, reason, keeps)
    return MovedPart(item=change.get(Item, item.id), standing=to, skipped=tuple(skipped))


def part_status(change: Change, item: Item) -> Standing:
    """Return how a part stands."""
    return part_state(*item.state_key, bool(open_blockers(change, item)))


def block(
    change: Change, item: Item, reason: str, details: Mapping[str, Json] | None = None
) -> Record:
    """Write down what an item waits for, so that nobody takes it up; what is closed is reopened."""
    item = walk(change, item, "open") if item.is_closed else item
    note = Note(kind="blocker", body=reason, item=item.id, details=details or {})
    record = Journal(change.context).draft(change, note, change.context.caller.actor.session, ())
    change.put(record)
    change.add_facts(record=record.id)
    shift(change, change.get(Item, item.id), 1)
    return record


def unblock(change: Change, item: Item, blockers: Iterable[Record], reason: str) -> Item:
    """Resolve blockers of an item; return it as it is then. Forbidden to whoever flagged one for a person."""
    for record in blockers:
        resolve_blocker(change, record, reason)
    return change.get(Item, item.id)


def open_blockers(change: Change, item: Item) -> list[Record]:
    """Return what blocks an item and nobody has resolved, the oldest first."""
    return change.select(Record, item=item.id, kind="blocker", status="open", order="number")


def refuse_other(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed if somebody else holds an item at this moment."""
    claim = change.find(Claim, item.id)
    if claim is not None:
        refuse_foreign_claims(change, [claim])


def holder_context(context: Context, view: Reading | Change, item: str) -> Context:
    """Return the context in the session in which the caller holds an item, or else his own."""
    claim, caller = view.find(Claim, item), context.caller
    if claim is None or not claim.is_held or claim.session == caller.actor.session:
        return context
    session = view.find(Session, claim.session)
    if session is None or session.status != "active":
        return context
    is_his = may_write(session, caller.actor, caller.capability)
    return context.in_session(session.id) if is_his else context


def walk(change: Change, item: Item, goal: str) -> Item:
    """Return an item brought to a state on the caller's word, through those between; IllegalMove."""
    for state in item.states.way(item.status, item.states.named(goal)):
        item = move(change, change.get(Item, item.id), state)
    return item


def skip_below(change: Change, item: Item) -> list[str]:
    """Skip what is open below an item; answer the titles, in order. AlreadyClaimed, Forbidden."""
    titles: list[str] = []
    for child in _open_below(change, item):
        titles += _let_go(change, child)
        _skip(change, child.id)
    return titles


def _settle(change: Change, item: Item, to: Standing, reason: str, keeps: str) -> list[str]:
    """Bring an item that nothing blocks to stand so; answer the titles of what is skipped with it."""
    skipped: list[str] = []
    if to == "active" or (to == "done" and item.is_workable):
        _refuse_waiting(change, item)
    if to == "done":
        skipped = skip_below(change, item)
    elif to == "skipped":
        skipped = [title for child in _open_below(change, item) for title in _let_go(change, child)]
    item = change.get(Item, item.id)
    if keeps:
        set_attributes(change, item, {keeps: (reason or None) if to == "skipped" else None})
    if to == "skipped":
        _skip(change, item.id)
    else:
        walk(change, item, _STATES[to])
    return skipped


def _skip(change: Change, name: str) -> None:
    """Skip an item and all below it, from the top: what stays at work below its end is skipped too."""
    walk(change, change.get(Item, name), "skipped")
    for child in _open_below(change, change.get(Item, name)):
        _skip(change, child.id)


def _let_go(change: Change, item: Item) -> list[str]:
    """Resolve what blocks an item and all below it that is open; answer the titles of all of these."""
    refuse_other(change, item)
    unblock(change, item, open_blockers(change, item), "what it was a part of has ended")
    below = [title for child in _open_below(change, item) for title in _let_go(change, child)]
    return [item.title, *below]


def _open_below(change: Change, item: Item) -> list[Item]:
    return change.select(Item, parent=item.id, category=UNCLOSED, order="position,number")


def _refuse_waiting(change: Change, item: Item) -> None:
    """Raise NotReady if something that no word lifts is in the way of a part."""
    in_the_way = holds_against_word(item, obstacles(change.writing, item))
    reasons = [_waits_text(obstacle) for obstacle in in_the_way]
    if reasons:
        raise NotReady("; ".join(reasons), hint="Complete or skip these first.", reasons=reasons)


def _waits_text(obstacle: Obstacle) -> str:
    if isinstance(obstacle.thing, Gate):
        return f"{obstacle.item.title!r} waits for its {obstacle.thing.name}"
    return f"{obstacle.item.title!r} comes after {obstacle.thing.title!r}, which is not completed"

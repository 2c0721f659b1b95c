"""News for the holder of work, read from the ledger: what others did with it since.

given_up    an item, or what holds it, was cancelled or skipped; the claim ended with it, unless the item stayed as it was
taken_over  another holds the item now
released    a person, or a maintainer, ended the claim
changed     the item is held as before, and its text, place, needs or gates are others
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.model.answers import Live, News
from counterpoint.core.model.identity import Contribution
from counterpoint.core.model.journal import Outcome
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Area, Criterion, Dependency, Gate, Item
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.handover import RELEASED, find_ending, release_at
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.claims import holder_of
from counterpoint.core.rules.readiness import LEFT_OUT
from counterpoint.core.rules.trust.succession import SAME_WORKER
from counterpoint.kernel.acts import Act
from counterpoint.kernel.clock import Timestamp

TAKEN_OVER: Final = "task.taken_over"
"""The action by which a claim goes to another session."""
GIVEN_UP: Final = f"What you changed stays in the tree: say where it is if it is worth keeping, and {Act.TAKE_OTHER_WORK}."
_STILL_YOURS: Final = f"Ask whoever did that whether it is still wanted; if not, give it back and {Act.TAKE_OTHER_WORK}."
_LAST_ENTRIES: Final = 5
"""How many of the last entries of a kind, or of an item, are looked at."""
_LAST_ITEMS: Final = 20
"""How many of the items that were given up last are looked at."""
_KINDS: Final = ("task", "issue")
_FIELDS: Final = {
    "title": "title",
    "body": "description",
    "parent": "parent",
    "priority": "priority",
    "assignee": "assignee",
    "profile": "profile",
    "status": "status",
}
"""Columns of an item that others change, as they are called in words."""
_PARTS: Final = {
    Dependency.table: "what it waits for",
    Criterion.table: "acceptance",
    Area.table: "areas",
    Gate.table: "gates",
}


def list_news(
    view: Reading, context: Context, live_items: Iterable[Live], *, with_lost: bool
) -> list[News]:
    """Return what others did with work of the caller's session, what ended its claims first.

    live_items: what the caller holds; with_lost: also what it holds no more. Nothing where others whom nothing tells from the caller write in the same session.
    """
    session = context.caller.actor.session
    if not session or context.caller.is_shared:
        return []
    changed = [
        news for live in live_items for news in (*_without_whole(view, live), *_changed(view, live))
    ]
    if not with_lost:
        return changed
    return [
        *_given_up(view, session),
        *_taken_over(view, context),
        *_released(view, session),
        *changed,
    ]


def _given_up(view: Reading, session: str) -> Iterator[News]:
    dropped = view.select(
        Item, kind=_KINDS, category="dropped", order="updated_at desc", limit=_LAST_ITEMS
    )
    items = {item.id: item for item in dropped if item.status in LEFT_OUT}
    if not items:
        return
    for claim in view.select(Claim, item=tuple(items), session=session, state="released"):
        ended_it = view.exists(Outcome, item=claim.item, token=claim.token)
        ending = None if ended_it else find_ending(view, claim.item)
        if ending is not None and ending.session != session:
            yield News(item=claim.item, kind="given_up", text=f"{ending}.", hint=GIVEN_UP)


def _taken_over(view: Reading, context: Context) -> Iterator[News]:
    actor = context.caller.actor
    for sequence in view.sequences(action=TAKEN_OVER, limit=_LAST_ENTRIES):
        entry = load_fields(next(view.entries(sequence, sequence + 1)))
        facts, item = entry.get("f", {}), entry.get("s", "")
        if facts.get("taken_over_from") not in {actor.name, actor.session}:
            continue
        if facts.get("why") in SAME_WORKER or entry["w"].get("s") == actor.session:
            continue
        claim = view.find(Claim, item)
        if claim is None or not claim.is_held or claim.session == actor.session:
            continue
        if context.caller.connection is not None and not view.exists(
            Contribution, item=item, principal=context.caller.connection.id, how="worked"
        ):
            continue
        text = f"{item} is now held by {holder_of(claim)}, who took it over at {entry['t']}."
        yield News(item=item, kind="taken_over", text=text, hint=GIVEN_UP)


def _released(view: Reading, session: str) -> Iterator[News]:
    for sequence in view.sequences(action=RELEASED, limit=_LAST_ENTRIES):
        for release in release_at(view, sequence):
            claim = view.find(Claim, release.item)
            if claim is None or claim.is_held or claim.session != session:
                continue
            if claim.token == release.token:
                text = f"{release.by} released {release.item} at {release.at}: it is yours no more."
                hint = f"{Act.START}, or {Act.TAKE_OTHER_WORK}."
                yield News(item=release.item, kind="released", text=text, hint=hint)


def _without_whole(view: Reading, live: Live) -> Iterator[News]:
    """Return what above an item was given up by another, where the item stays as it is."""
    ending = find_ending(view, live.item.id)
    if ending is not None and ending.session != live.claim.session:
        because = f", because: {ending.reason}" if ending.reason else ""
        what = f"{ending.by} {ending.status} {ending.part} at {ending.at}{because}"
        text = f"{what}. {live.item.id} is below it, and still yours."
        yield News(item=live.item.id, kind="given_up", text=text, hint=_STILL_YOURS)


def _changed(view: Reading, live: Live) -> Iterator[News]:
    item, claim = live.item, live.claim
    if item.updated_at <= claim.claimed_at:
        return
    for sequence in view.sequences(subject=item.id, limit=_LAST_ENTRIES):
        entry = load_fields(next(view.entries(sequence, sequence + 1)))
        if Timestamp(entry["t"]) <= claim.claimed_at or entry["w"].get("s") == claim.session:
            continue
        if names := _names_of_changes(entry.get("r", ()), item.id):
            text = f"{entry['w']['n']} changed {', '.join(names)} of {item.id} at {entry['t']}."
            hint = "Read it again before you go on with it."
            yield News(item=item.id, kind="changed", text=text, hint=hint)
            return


def _names_of_changes(rows: Sequence[Mapping[str, Any]], item: str) -> list[str]:
    names: dict[str, None] = {}
    for row in rows:
        if row["t"] == Item.table and row["k"].get("id") == item:
            columns: Mapping[str, Any] = row.get("v") or row.get("c") or {}
            names |= dict.fromkeys(_FIELDS[name] for name in columns if name in _FIELDS)
        elif row["t"] in _PARTS and row["k"].get("item") == item:
            names[_PARTS[row["t"]]] = None
    return list(names)

"""Hands work over, and tells what happened meanwhile.

News for the holder of work, read from the ledger: what others did with it since.
given_up    an item, or what holds it, was cancelled or skipped; the claim ended with it, unless the item stayed as it was
taken_over  another holds the item now
released    a person, or a maintainer, ended the claim
changed     the item is held as before, and its text, place, needs or gates are others
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os.path import relpath
from typing import Any, Final

from counterpoint.core.ledger.entry import load_fields, parse_reference
from counterpoint.core.model.answers import Live, News, Release
from counterpoint.core.model.evidence import Snapshot
from counterpoint.core.model.filters import Handover
from counterpoint.core.model.identity import Contribution
from counterpoint.core.model.journal import Outcome, StartPoint
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.work import Area, Criterion, Dependency, Gate, Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.connection_sessions import (
    live_claims,
    refuse_foreign_claims,
)
from counterpoint.core.operations.recording.context import Caller, Context
from counterpoint.core.operations.recording.contributions import note_part
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.operations.recording.moves import bump_version, give_back
from counterpoint.core.ports.store import Filter, Query, Reading
from counterpoint.core.rules.claims import holder_of
from counterpoint.core.rules.evidence import files_text
from counterpoint.core.rules.readiness import LEFT_OUT
from counterpoint.core.rules.trust.succession import OWN, SAME_WORKER, Reason
from counterpoint.kernel.acts import Act
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.frozen import frozen

RELEASED: Final = "claim.released"
"""The action by which a person frees what somebody holds."""
_FEW: Final = 10
"""How many of the last entries of an item are looked at for the one that gave it up."""
_TOKEN_BYTES: Final = 4
"""Of chance in a token that alone proves a claim: after two million of an item they would be no numbers of JSON any more."""


def leave(change: Change, handover: Handover, session: Session) -> Handoff:
    """Write down what a session leaves for the next, in a change."""
    number, its_id = change.next_id(Handoff)
    claims = live_claims(change.writing, session.id)
    handoff = Handoff(
        project=session.project,
        id=its_id,
        number=number,
        session=session.id,
        agent=session.agent,
        action=handover.action,
        item=claims[0].item if claims else change.context.caller.item,
        summary=Prose(handover.summary),
        next_steps=Proses(handover.next_steps),
        blockers=Proses(handover.blockers),
        context=Prose(handover.context),
        created_at=change.now,
    )
    change.put(handoff)
    change.subject = handoff.item
    change.add_facts(session=session.id, handoff=handoff.id)
    return handoff


def close(change: Change, session: Session, status: str) -> tuple[Session, tuple[Claim, ...]]:
    """Return a session that has ended, and the claims that it has given back with that.

    Whoever may end a session ends what is held in it, so that nothing is asked again for each claim.
    """
    claims = let_go(change, session.id)
    # Read through the change, so that the entry tells only what differs.
    change.get(Session, session.id)
    after = session.moved(status, change.now)
    change.put(after)
    return after, claims


def let_go(change: Change, session: str) -> tuple[Claim, ...]:
    """Return the claims of a session, which it has given back; whether the caller may do that is asked before."""
    claims = live_claims(change.writing, session)
    for claim in claims:
        change.get(Claim, claim.item)
        change.put(replace(claim, state="released"))
        give_back(change, change.get(Item, claim.item))
    return tuple(claims)


def refuse_loss(change: Change, session: Session, why: Reason) -> None:
    """Raise AlreadyClaimed if a session that is to end holds what the caller may only take up."""
    if why not in OWN:
        refuse_foreign_claims(change, live_claims(change.writing, session.id))


def take_over(change: Change, claim: Claim, anew: Snapshot | None = None) -> Claim:
    """Return a claim that somebody holds as the caller's, with the usual lease.

    anew: the tree as it is, where evidence is to begin with that; else the caller goes on with what was begun.
    """
    item, usual = change.get(Item, claim.item), change.context.ports.lease_seconds
    change.get(Claim, item.id)
    first = (
        make_start_point(change, item, claim, anew, is_begun=False)
        if anew
        else change.get(StartPoint, item.id, claim.token)
    )
    taken, _ = make_claim(change, item.id, claim, usual, first)
    change.put(bump_version(change, replace(item, assignee=taken.agent)))
    return taken


def make_claim(
    change: Change, item: str, before: Claim | None, seconds: int, first: StartPoint
) -> tuple[Claim, StartPoint]:
    """Return the caller's claim of an item and the start that its evidence is compared with.

    first: what the work began with, whoever's claim that was (`begun_with`).
    """
    caller, ports = change.context.caller, change.context.ports
    claim = Claim(
        project=change.context.project,
        item=item,
        # The row stays when a claim ends, so that no two claims of an item have the same token.
        token=_next_token(change.context, before),
        session=caller.actor.session,
        agent=caller.actor.name,
        state="live",
        claimed_at=change.now,
        leased_until=later(change.clock, seconds),
        seconds=seconds,
    )
    change.put(claim)
    ports.leases.forget(caller.own_seat)
    note_part(change, item)
    point = replace(first, token=claim.token)
    change.put(point)
    return claim, point


def make_start_point(
    change: Change, item: Item, before: Claim | None, tree_state: Snapshot, *, is_begun: bool
) -> StartPoint:
    """Return what the work of an item began with: the tree as it is here, or as it was when the item was last open.

    is_begun: whether the caller goes on with what it began itself, since the item was last open. Who takes over from
    another begins anew: the end of the work tells beside it what was left (`recording/shared_tree.py`).
    """
    first = change.find(StartPoint, item.id, before.token) if before and is_begun else None
    tree, files = tree_of(change.context.caller), Prose(files_text(tree_state))
    if first is None:
        return StartPoint(
            project=item.project,
            item=item.id,
            token=0,
            method=tree_state.method,
            commit=tree_state.commit,
            branch=tree_state.branch,
            files=files,
            taken_at=change.now,
            tree=tree,
        )
    # What was not committed in another tree never lay in this one.
    is_elsewhere = first.tree != tree and first.method == tree_state.method == "git"
    return replace(first, tree=tree, files=files if is_elsewhere else first.files)


def _next_token(context: Context, before: Claim | None) -> int:
    """Return a number above that of the claim before; where others write in the same session, one that none of them can guess."""
    least = before.token + 1 if before else 1
    if not context.caller.is_shared:
        return least
    return least + int.from_bytes(context.ports.mint.salt()[-_TOKEN_BYTES:])


def tree_of(caller: Caller) -> str:
    """Return the working tree of a caller, by its path from the project's own."""
    return relpath(caller.root, caller.main_tree)


def release_at(view: Reading, sequence: int) -> list[Release]:
    """Return what the entry at a place of the ledger says that was freed, by whom and when."""
    entry = load_fields(next(view.entries(sequence, sequence + 1)))
    facts, by, at = entry.get("f", {}), entry["w"]["n"], Timestamp(entry["t"])
    tokens: dict[str, int] = facts.get("tokens", {})
    return [Release(item=item, token=token, by=by, at=at) for item, token in tokens.items()]


@frozen
class GivenUp:
    """An entry that gave an item up, or what holds it. by, session: whose it is; part: what was given up."""

    item: str
    part: str
    status: str
    by: str
    session: str
    at: str
    reason: str

    def __str__(self) -> str:
        """Return it as a sentence without its end."""
        because = f", because: {self.reason}" if self.reason else ""
        ending = f"{self.by} {self.status} {self.part} at {self.at}"
        below = "" if self.part == self.item else f", and {self.item} with it"
        return f"{ending}{below}{because}"


def find_ending(view: Reading, item: str) -> GivenUp | None:
    """Return who has given an item up, or what holds it, when and why; None if nobody has."""
    for part in line_of(view, item):
        if part.status not in LEFT_OUT:
            continue
        for sequence in view.sequences(subject=part.id, limit=_FEW):
            entry = load_fields(next(view.entries(sequence, sequence + 1)))
            facts = entry.get("f", {})
            if facts.get("moved", ("",))[-1] != part.status:
                continue
            reason = parse_reference(facts.get("reason"))
            return GivenUp(
                item=item,
                part=part.id,
                status=part.status,
                by=entry["w"]["n"],
                session=entry["w"].get("s", ""),
                at=entry["t"],
                reason=(view.text(reason) or "") if reason else "",
            )
    return None


def ending_of(view: Reading, item: str) -> str:
    """Return the same as a sentence without its end; empty if nobody has."""
    ending = find_ending(view, item)
    return str(ending) if ending is not None else ""


TAKEN_OVER: Final = "task.taken_over"
"""The action by which a claim goes to another session."""
GIVEN_UP: Final = f"What you changed stays in the tree: say where it is if it is worth keeping, and {Act.TAKE_OTHER_WORK}."
_STILL_YOURS: Final = f"Ask whoever did that whether it is still wanted; if not, give it back and {Act.TAKE_OTHER_WORK}."
_LAST_ENTRIES: Final = 5
"""How many of the last entries of a kind, or of an item, are looked at."""
_LAST_ITEMS: Final = 20
"""How many of the items that were given up last are looked at."""
_DROPPED: Final[Mapping[str, Filter]] = {"kind": ("task", "issue"), "category": "dropped"}
DROPPED: Final = Query(Item, _DROPPED, "updated_at desc", limit=_LAST_ITEMS)
"""Asks which items were given up last."""
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
    items = {item.id: item for item in DROPPED.rows(view) if item.status in LEFT_OUT}
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

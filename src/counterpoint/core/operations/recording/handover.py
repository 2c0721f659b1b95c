"""Handoffs, claims that go to another session, and the end of a session."""

from __future__ import annotations

from dataclasses import replace
from os.path import relpath
from typing import Final

from counterpoint.core.ledger.entry import load_fields, parse_reference
from counterpoint.core.model.answers import Release
from counterpoint.core.model.evidence import Snapshot
from counterpoint.core.model.filters import Handover
from counterpoint.core.model.journal import StartPoint
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.connection_sessions import refuse_foreign_claims
from counterpoint.core.operations.recording.context import Caller, Context
from counterpoint.core.operations.recording.contributions import note_part
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.operations.recording.moves import bump_version, give_back
from counterpoint.core.operations.recording.resumable_sessions import live_claims
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.evidence import files_text
from counterpoint.core.rules.readiness import LEFT_OUT
from counterpoint.core.rules.trust.succession import OWN, Reason
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

"""Handoffs, claims that go to another session, and the end of a session."""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.filters import Handover
from counterpoint.core.model.journal import StartPoint
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.contributions import take_up
from counterpoint.core.operations.recording.moves import give_back, touched
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.clock import later


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
    """Return a session that has ended, and the claims that it has given back with that."""
    claims = live_claims(change.writing, session.id)
    for claim in claims:
        give_back(change, change.get(Item, claim.item))
    # Read through the change, so that the entry tells only what differs.
    change.get(Session, session.id)
    after = session.moved(status, change.now)
    change.put(after)
    return after, tuple(claims)


def take_over(change: Change, session: Session, claim: Claim) -> Claim:
    """Take a claim over for a session, with a higher token and the same start point."""
    taken = replace(
        claim,
        token=claim.token + 1,
        session=session.id,
        agent=session.agent,
        claimed_at=change.now,
        leased_until=later(change.now, change.context.ports.lease_seconds),
    )
    change.get(Claim, claim.item)
    change.put(taken)
    point = change.get(StartPoint, claim.item, claim.token)
    change.put(replace(point, token=taken.token))
    change.put(touched(change, replace(change.get(Item, claim.item), assignee=session.agent)))
    take_up(change, claim.item)
    return taken


def live_claims(view: Reading, session: str) -> list[Claim]:
    """Return what a session holds, also with a lease that has run out but was not taken over."""
    return view.select(Claim, session=session, state="live", order="claimed_at,item")


def last_handoff(view: Reading, session: str = "") -> Handoff | None:
    """Return the last handoff of a session, or of anybody."""
    if session:
        found = view.select(Handoff, session=session, order="number desc", limit=1)
    else:
        found = view.select(Handoff, order="number desc", limit=1)
    return found[0] if found else None

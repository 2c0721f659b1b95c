"""Pausing, ending, resuming and continuing a session, and what it hands over."""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.answers import HandedOver
from counterpoint.core.model.filters import Handover
from counterpoint.core.model.journal import StartPoint
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.claims import refuse_taken
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.moves import give_back, touched
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.kernel.acts import Act
from counterpoint.kernel.clock import later
from counterpoint.kernel.errors import Conflict, InvalidInput


class Sessions:
    """Verbs for sittings."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def get(self, session: str) -> Session:
        """Return a session; NotFound."""
        with self._context.reading() as view:
            found = view.find(Session, session)
        if found is None:
            raise missing(Session, session)
        return found

    def hand_over(self, handover: Handover) -> HandedOver:
        """Do what the action says.

        pause: keep the claims while their leases run. end: give the claims back. resume: go on with
        the caller's own paused session. continue: take up what another session left, with its claims.
        Raises Conflict, NotFound, InvalidInput, SessionEnded.
        """
        if not self._context.caller.actor.session:
            raise InvalidInput(
                "there is no session to hand over", hint="Start the server with an agent's name."
            )
        verbs = {"pause": self._pause, "end": self._end, "resume": self._resume}
        return verbs.get(handover.action, self._continue)(handover)

    def _pause(self, handover: Handover) -> HandedOver:
        with recording(self._context, "session.paused") as change:
            session = change.get(Session, change.open_session())
            handoff = leave(change, handover, session)
            after = session.moved("paused", change.now)
            change.put(after)
            return HandedOver(
                session=after, handoff=handoff, claims=tuple(live_claims(change.writing, after.id))
            )

    def _end(self, handover: Handover) -> HandedOver:
        with recording(self._context, "session.ended") as change:
            session = change.get(Session, change.open_session())
            handoff = leave(change, handover, session)
            given_back = live_claims(change.writing, session.id)
            for claim in given_back:
                give_back(change, change.get(Item, claim.item))
            status = "handed_off" if handover.next_steps or given_back else "completed"
            after = session.moved(status, change.now)
            change.put(after)
            change.add_facts(given_back=[claim.item for claim in given_back])
            return HandedOver(session=after, handoff=handoff, claims=tuple(given_back))

    def _resume(self, handover: Handover) -> HandedOver:
        mine = self._context.caller.actor.session
        if handover.session not in {"", mine}:
            raise InvalidInput(
                f"{handover.session} is not this session",
                hint=f"{Act.TAKE_OVER}.",
            )
        with recording(self._context, "session.resumed") as change:
            before = change.find(Session, mine)
            if before is None or before.status != "paused":
                raise Conflict(
                    f"session {mine} is {before.status if before else 'not begun'}, not paused",
                    hint="Only a paused session is resumed; others are continued.",
                )
            change.open_session()
            change.add_facts(session=mine)
            return HandedOver(
                session=change.get(Session, mine),
                handoff=last_handoff(change.writing, mine),
                claims=tuple(live_claims(change.writing, mine)),
            )

    def _continue(self, handover: Handover) -> HandedOver:
        mine = self._context.caller.actor.session
        with recording(self._context, "session.continued") as change:
            session = change.get(Session, change.open_session())
            other = self._other(change, handover.session, mine)
            if session.continues not in {"", other.id}:
                raise Conflict(f"this session continues {session.continues} already")
            claims = [
                self._take(change, session, claim)
                for claim in live_claims(change.writing, other.id)
            ]
            if not other.has_ended:
                change.put(other.moved("handed_off", change.now))
            after = replace(session, continues=other.id)
            change.put(after)
            change.add_facts(continues=other.id, claims=[claim.item for claim in claims])
            return HandedOver(
                session=after,
                handoff=last_handoff(change.writing, other.id),
                claims=tuple(claims),
            )

    def _other(self, change: Change, named: str, mine: str) -> Session:
        if not named:
            raise InvalidInput(
                "no session to take up was named",
                hint=f"{Act.NAME_SESSION}.",
            )
        if named == mine:
            raise InvalidInput("a session cannot continue itself", hint=f"{Act.RESUME}.")
        other = change.find(Session, named)
        if other is None:
            raise missing(Session, named)
        running = [
            claim for claim in live_claims(change.writing, named) if claim.is_live(change.now)
        ]
        if other.status == "active" and running:
            until = running[0].leased_until
            refuse_taken(running[0], f"Wait for the handoff of {named}, or until {until}.")
        return other

    def _take(self, change: Change, session: Session, claim: Claim) -> Claim:
        """Take a claim over with a higher token and the same start point."""
        taken = replace(
            claim,
            token=claim.token + 1,
            session=session.id,
            agent=session.agent,
            claimed_at=change.now,
            leased_until=later(change.now, self._context.ports.lease_seconds),
        )
        change.get(Claim, claim.item)
        change.put(taken)
        point = change.get(StartPoint, claim.item, claim.token)
        change.put(replace(point, token=taken.token))
        change.put(touched(change, replace(change.get(Item, claim.item), assignee=session.agent)))
        return taken


def leave(change: Change, handover: Handover, session: Session) -> Handoff:
    """Write down what a session leaves for the next, in a change."""
    number = change.next_number(Handoff)
    claims = live_claims(change.writing, session.id)
    handoff = Handoff(
        project=session.project,
        id=change.id_of(Handoff, number),
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

"""PlanSessions: sessions with a purpose, which others can take up and read again.

Rule 1: only the agent that opened a sitting, or took it up last, writes in it, and only while it is
active. Rule 2: a paused one is taken up once: the first who asks has it. Rule 3: what has ended stays
as it is; it can be followed by another, which has what it left. Rule 4: a sitting from which nothing
came for a day has failed. Rule 5: a connection sits in the session it came with; after that was paused,
ended or taken up by somebody else, in the next one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final, Literal

from counterpoint.core.model.filters import Handover, Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import REDACTED, Prose, load_object
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.moves import give_back
from counterpoint.core.operations.recording.unit import joined, recording
from counterpoint.core.operations.sessions import Sessions, last_handoff, leave, live_claims
from counterpoint.core.ports.store import Filter, Reading
from counterpoint.core.rules.access import session_from
from counterpoint.dialects.agentic.nouns.sessions import (
    IDLE_HOURS,
    STALE,
    Opening,
    Replay,
    SessionFilter,
    SessionView,
    TakenUp,
)
from counterpoint.dialects.agentic.rules.replay import present_handoff
from counterpoint.dialects.agentic.verbs.replay import replayed
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.clock import Timestamp, later
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, SessionEnded

Ended = Literal["completed", "failed", "handed_off"]

_CHUNK: Final = 100
_TAKEN_BY: Final = "taken_by"
_AGENT_TYPE: Final = "agent_type"
_CONTEXT: Final = "context"
_HOUR: Final = 3_600


class PlanSessions:
    """Verbs for sessions that others take up."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def get(self, session: str) -> SessionView:
        """Return a sitting; NotFound."""
        with self._context.reading() as view:
            return _line(view, _found(view, session), self._context.ports.clock.now())

    def own(self) -> str:
        """Return the session that the caller writes in; empty for one who has none."""
        mine = self._context.caller.actor.session
        name = mine
        with self._context.reading() as view:
            while name and (found := view.find(Session, name)) is not None:
                by = _details(found).get(_TAKEN_BY, mine)
                if found.status == "active" and by == mine:
                    break
                name = session_from(name)
        return name

    def named(self, session: str) -> str:
        """Return the session that is told, or else the caller's own if it was opened; InvalidInput."""
        if session:
            return session
        own = self.own()
        with self._context.reading() as view:
            found = view.find(Session, own)
        if found is None or not _is_stint(found):
            raise InvalidInput(
                "no session is open here", hint="Open one first, or name the session."
            )
        return own

    def open(self, wish: Opening) -> Session:
        """Return a sitting that has begun: the caller's own session if nobody opened it yet. NotFound."""
        with joined(self._context):
            own = self.own()
            with self._context.reading() as view:
                begun = view.find(Session, own) if own else None
            is_free = bool(own) and (begun is None or not begun.details)
            context = self._at(own if is_free else self._context.ports.mint.mint("ses"), wish.item)
            with recording(context, "session.opened", wish.item) as change:
                if wish.item:
                    change.get(Item, wish.item)
                begun = change.get(Session, change.open_session())
                given: dict[str, Json] = {
                    _AGENT_TYPE: wish.agent_type,
                    _CONTEXT: dict(wish.context),
                }
                opened = replace(begun, item=wish.item, details=Prose(canonical.dump_any(given)))
                change.put(opened)
                change.add_facts(session=opened.id, agent_type=wish.agent_type)
                return change.get(Session, opened.id)

    def log(self, session: str, note: Note) -> Record:
        """Write down something in a sitting, about the work that it is about.

        Raises NotFound, SessionEnded, Conflict for a paused one, Forbidden for another agent's.
        """
        with joined(self._context):
            found = self._mine(session)
            asked = note if note.item else replace(note, item=found.item)
            return Journal(self._at(session, found.item)).append(asked)

    def pause(self, session: str, handover: Handover) -> TakenUp:
        """Pause a sitting, with what it leaves for who takes it up; the refusals of `log`."""
        with joined(self._context):
            found = self._mine(session)
            sessions = Sessions(self._at(session, found.item))
            done = sessions.hand_over(replace(handover, action="pause"))
            return TakenUp(
                session=done.session, handoff=done.handoff, context=_context(done.session)
            )

    def resume(self, session: str) -> TakenUp:
        """Take up a paused sitting: from now on it is the caller's.

        Raises NotFound, SessionEnded, Conflict if it is not paused: then somebody has it.
        """
        with recording(self._at(session), "session.resumed") as change:
            found = _found(change.writing, session)
            _refuse_ended(found)
            if found.status != "paused":
                raise Conflict(
                    f"the session {session} is {found.status}, not paused",
                    hint="Only a paused session is resumed, and once; follow another one.",
                    state=found.status,
                    agent=found.agent,
                )
            change.get(Session, session)
            given = {**_details(found), _TAKEN_BY: self._context.caller.actor.session}
            after = replace(
                found.moved("active", change.now),
                agent=self._context.caller.actor.name,
                details=Prose(canonical.dump_any(given)),
            )
            change.put(after)
            change.subject = found.item
            change.add_facts(session=session)
            return TakenUp(
                session=after,
                handoff=last_handoff(change.writing, session),
                context=_context(found),
            )

    def follow(self, session: str, agent_type: str = "") -> TakenUp:
        """Open a sitting that goes on where another one stopped, with its claims and its context.

        Raises NotFound, AlreadyClaimed if the other one is still at work.
        """
        with joined(self._context):
            with self._context.reading() as view:
                other = _found(view, session)
                handoff = last_handoff(view, session)
            before = _details(other)
            context: dict[str, Json] = {
                "continued_from": other.id,
                "previous_agent": before.get(_AGENT_TYPE, other.agent),
                "handoff_notes": present_handoff(handoff) if handoff else None,
                "inherited_context": object_of(before.get(_CONTEXT)),
            }
            kind = agent_type or str(before.get(_AGENT_TYPE, other.agent))
            opened = self.open(Opening(agent_type=kind, item=other.item, context=context))
            asked = Handover(action="continue", session=session)
            done = Sessions(self._at(opened.id, other.item)).hand_over(asked)
            return TakenUp(session=done.session, handoff=handoff, context=context)

    def end(self, session: str, status: Ended, summary: str = "") -> SessionView:
        """End a sitting and give back what it holds; a paused one too. The refusals of `log`."""
        with recording(self._at(session), "session.ended") as change:
            found = _found(change.writing, session)
            _refuse_ended(found)
            self._refuse_strange(found)
            after = _end(change, found, status, summary)
            return _line(change.writing, after, change.now)

    def sweep(self) -> list[Session]:
        """End the sittings from which nothing came for a day as failed; answer them."""
        with self._context.reading() as view:
            if not _stale(view, self._context.ports.clock.now()):
                return []
        ended: list[Session] = []
        with joined(self._context):
            with recording(self._context, "sessions.counted") as change:
                names = _stale(change.writing, change.now)
            for name in names:
                with recording(self._at(name), "session.expired") as change:
                    ended.append(_end(change, _found(change.writing, name), "failed", STALE))
        return ended

    def list(
        self, sought: SessionFilter, after: tuple[str, str] | None, limit: int
    ) -> list[SessionView]:
        """Return sittings, the latest first, beyond a time and an id."""
        now = self._context.ports.clock.now()
        with self._context.reading() as view:
            found = islice(_sought(view, sought, after), limit)
            return [_line(view, one, now) for one in found]

    def replay(self, session: str, at: int | None = None) -> Replay:
        """Return what happened in a sitting, up to the entry `at` if one is told.

        Raises NotFound, InvalidInput for an entry from before it, or that is not there.
        """
        with self._context.reading() as view:
            return replayed(view, _found(view, session), at)

    def _mine(self, session: str) -> Session:
        """Return a sitting that the caller may write in now, as the open transaction sees it."""
        with recording(self._context, "session.entered") as change:
            found = _found(change.writing, session)
        _refuse_ended(found)
        if found.status == "paused":
            raise Conflict(
                f"the session {session} is paused", hint="Resume it first.", state="paused"
            )
        self._refuse_strange(found)
        return found

    def _refuse_strange(self, session: Session) -> None:
        actor = self._context.caller.actor
        if actor.kind == "agent" and session.agent != actor.name:
            raise Forbidden(
                f"the session {session.id} is that of {session.agent}",
                hint="Open a session of your own, or follow that one.",
                agent=session.agent,
            )

    def _at(self, session: str, item: str = "") -> Context:
        """Return a context of this call where the same caller writes in another session."""
        caller = self._context.caller
        actor = replace(caller.actor, session=session)
        return Context(
            ports=self._context.ports,
            caller=replace(caller, actor=actor, item=item or caller.item),
            unit=self._context.unit,
        )


def _found(view: Reading, session: str) -> Session:
    found = view.find(Session, session)
    if found is None:
        raise missing(Session, session)
    return found


def _refuse_ended(session: Session) -> None:
    if session.has_ended:
        raise SessionEnded(
            f"the session {session.id} is {session.status}",
            hint="What has ended stays as it is; follow it with another session.",
            state=session.status,
        )


def _end(change: Change, session: Session, status: Ended, summary: str) -> Session:
    for claim in live_claims(change.writing, session.id):
        give_back(change, change.get(Item, claim.item))
    change.get(Session, session.id)
    leave(change, Handover(action="end", summary=summary), session)
    after = session.moved(status, change.now)
    change.put(after)
    change.subject = session.item
    return after


def _details(session: Session) -> dict[str, Json]:
    return load_object(session.details)


def _context(session: Session) -> dict[str, Json]:
    return object_of(_details(session).get(_CONTEXT))


def _is_stint(session: Session) -> bool:
    return session.details == REDACTED or _AGENT_TYPE in _details(session)


def _line(view: Reading, session: Session, now: Timestamp) -> SessionView:
    details = _details(session)
    records = view.select(Record, session=session.id, order="number desc", limit=1)
    handed = last_handoff(view, session.id)
    claims = live_claims(view, session.id)
    times = [session.started_at, *(one.created_at for one in records)]
    times += [handed.created_at] if handed else []
    times += [claim.claimed_at for claim in claims]
    last = max(times)
    is_idle = later(last, IDLE_HOURS * _HOUR) < now and not any(one.is_live(now) for one in claims)
    return SessionView(
        session=session,
        agent_type=str(details.get(_AGENT_TYPE, session.agent)),
        context=object_of(details.get(_CONTEXT)),
        last_active_at=last,
        is_stale=session.status == "active" and is_idle,
    )


def _stale(view: Reading, now: Timestamp) -> list[str]:
    active = view.select(Session, status="active")
    return [one.id for one in active if _is_stint(one) and _line(view, one, now).is_stale]


def _sought(
    view: Reading, sought: SessionFilter, after: tuple[str, str] | None
) -> Iterator[Session]:
    equal: dict[str, Filter] = {
        name: value for name in ("item", "status") if (value := getattr(sought, name))
    }
    while True:
        found = view.select(
            Session, order="started_at desc,id desc", after=after or (), limit=_CHUNK, **equal
        )
        for one in found:
            kind = _details(one).get(_AGENT_TYPE)
            if _is_stint(one) and sought.agent_type in {"", kind}:
                yield one
        if len(found) < _CHUNK:
            return
        after = (found[-1].started_at, found[-1].id)

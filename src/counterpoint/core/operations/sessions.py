"""Sessions: opened, written in, paused, taken up, continued, ended, read again.

Rule 1: only the principal that opened a session, or took it up last, writes in it, and only while it is
active; a person may too. Rule 2: a paused one is handed over, once: the first who asks has it. Rule 3: what
has ended stays as it is, and holds nothing; another session can continue it. Rule 4: a connection writes
in the session it came with, and then in the one it opened or took up last, as long as that is active. Rule 5: what
somebody else is at is taken up only as `rules.trust.succession` allows, and with his parts in work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final, Literal, NoReturn

from counterpoint.core.ledger.derived import fill_columns
from counterpoint.core.ledger.entry import load_fields, origin_of_fields, parse_reference
from counterpoint.core.model.answers import HandedOver
from counterpoint.core.model.filters import Handover, Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import REDACTED, Prose, load_object
from counterpoint.core.model.sessions import (
    HistoryEntry,
    Session,
    SessionFilter,
    SessionHistory,
    SessionOpening,
    SessionView,
    credible_end,
)
from counterpoint.core.model.work import Item
from counterpoint.core.operations.claims import refuse_taken
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.connection_sessions import (
    ask_again,
    current_session,
    last_handoff,
    live_claims,
    may_have,
    take_parts,
)
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.contributions import note_part
from counterpoint.core.operations.recording.handover import close, leave, refuse_loss, take_over
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Filter, Reading
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.core.rules.sessions import history, may_write
from counterpoint.core.rules.trust.succession import SAME_WORKER, Reason
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp, elapsed_ms, later
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput

Ended = Literal["completed", "failed", "handed_off"]

_CHUNK: Final = 100


class Sessions(Verbs):
    """Verbs for sessions."""

    def get(self, session: str) -> SessionView:
        """Return a session; NotFound."""
        with self._context.reading() as view:
            return view_of(view, _found(view, session), self._context.ports.clock.now())

    def list(
        self, filters: SessionFilter, after: tuple[str, str] | None, limit: int
    ) -> list[SessionView]:
        """Return sessions in the order of their beginning, beyond a time and an id."""
        now = self._context.ports.clock.now()
        with self._context.reading() as view:
            sessions = islice(_selected(view, filters, after), limit)
            return [view_of(view, session, now) for session in sessions]

    def own(self) -> str:
        """Return the session that the caller writes in; empty for one who has none.

        It is the one that was opened or taken up last, or a fresh id if none can be written in.
        """
        caller = self._context.caller
        if not caller.own_seat:
            return ""
        with self._context.reading() as view:
            session = current_session(view, caller.own_seat, caller.capability)
        return session or self._context.ports.mint.mint("ses")

    def named(self, session: str) -> str:
        """Return the session that is told, or else the caller's own if it was opened; InvalidInput."""
        if session:
            return session
        own = self.own()
        with self._context.reading() as view:
            stored = view.find(Session, own)
        if stored is None or stored.purpose != "work":
            raise InvalidInput(
                "no session is open here", hint=f"Open one first, or {Act.NAME_SESSION}."
            )
        return own

    def open(self, opening: SessionOpening) -> Session:
        """Return a session that has begun.

        Raises NotFound for the item, Conflict if there is a session of the wanted id.
        """
        with transaction(self._context):
            name = opening.id or self._free(opening)
            context = self._context.in_session(name, item=opening.item)
            subject = opening.item if opening.is_own else name
            with recording(context, "session.opened", subject) as change:
                if opening.id and change.find(Session, name) is not None:
                    raise Conflict(
                        f"there is a session {name} already",
                        hint="Choose another id, or leave it out.",
                        session_id=name,
                    )
                if opening.item:
                    change.get(Item, opening.item)
                begun = change.get(Session, change.open_session())
                opened = replace(
                    begun,
                    purpose=opening.purpose,
                    item=opening.item,
                    details=Prose(canonical.dump_any(dict(opening.details))),
                )
                change.put(opened)
                change.add_facts(session=name, **opening.facts)
                return change.get(Session, name)

    def log(self, session: str, note: Note) -> Record:
        """Write down something in a session, about the work that it is about.

        Raises NotFound, SessionEnded, Conflict for a paused one, Forbidden for another agent's.
        """
        with transaction(self._context):
            current = self._writable(session)
            full = note if note.item else replace(note, item=current.item)
            return Journal(self._context.in_session(session, item=current.item)).append(full)

    def pause(self, session: str, handover: Handover) -> HandedOver:
        """Pause a session, with what it leaves for who takes it up; the refusals of `log`."""
        with transaction(self._context):
            current = self._writable(session)
            sessions = Sessions(self._context.in_session(session, item=current.item))
            return sessions.hand_over(replace(handover, action="pause"))

    def resume(self, session: str) -> HandedOver:
        """Take up a paused session: from now on it is the caller's.

        Raises NotFound, SessionEnded, Conflict if it is not paused: then somebody has it.
        """
        with recording(self._context.in_session(session), "session.resumed") as change:
            current = _found(change.writing, session)
            current.refuse_ended()
            if current.status != "paused":
                raise Conflict(
                    f"the session {session} is {current.status}, not paused",
                    hint=f"Only a paused session is resumed, and once; {Act.TAKE_OVER}.",
                    state=current.status,
                    agent=current.agent,
                )
            after = take_up_session(change, current, "handed_over")
            change.subject = current.item
            change.add_facts(session=session)
            claims = tuple(live_claims(change.writing, session))
            handoff = last_handoff(change.writing, session)
            return HandedOver(session=after, handoff=handoff, claims=claims)

    def end(self, session: str, status: Ended, summary: str = "") -> SessionView:
        """End a session, running or paused, and give back what it holds.

        Raises NotFound, SessionEnded, Forbidden for another agent's.
        """
        with recording(self._context.in_session(session), "session.ended") as change:
            current = _found(change.writing, session)
            current.refuse_ended()
            after = end_with(change, change.enter(current), status, summary)
            return view_of(change.writing, after, change.clock)

    def abandon(self, session: str, reason: str) -> Session:
        """End a session as failed; what it holds is given back.

        Raises NotFound, SessionEnded if it has ended, InvalidInput without a reason, Forbidden for one
        that somebody else is at, AlreadyClaimed where the caller may only take up what another holds.
        """
        if not reason.strip():
            raise InvalidInput("to abandon a session needs a reason", hint="Say why.")
        with recording(self._context, "session.abandoned", session) as change:
            current = change.get(Session, session)
            current.refuse_ended(session_id=session)
            why = takeover_reason(change, current)
            if why is None:
                current = change.enter(current)
            else:
                refuse_loss(change, current, why)
            after, _ = close(change, current, "failed")
            # As every end, so that it is read where those are.
            leave(change, Handover(action="end", summary=reason), after)
            change.subject = session
            change.add_texts(reason=reason)
            return after

    def history(self, session: str, at: int | None = None) -> SessionHistory:
        """Return what happened in a session, up to the entry `at` if one is told.

        Raises NotFound, InvalidInput for an entry from before it, or that is not there.
        """
        with self._context.reading() as view:
            return history_of(view, _found(view, session), at)

    def hand_over(self, handover: Handover) -> HandedOver:
        """Do with the caller's session what the action says.

        pause: keep the claims while their leases run. end: give the claims back. resume: go on with
        the caller's own paused session. continue: take up what another session left, with its claims.
        Raises Conflict, NotFound, InvalidInput, SessionEnded.
        """
        own_id = self._context.caller.actor.session
        if not own_id:
            raise InvalidInput(
                "there is no session to hand over", hint="Start the server with an agent's name."
            )
        if handover.action != "continue" and handover.session not in {"", own_id}:
            raise InvalidInput(f"{handover.session} is not this session", hint=f"{Act.TAKE_OVER}.")
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
            is_unfinished = handover.next_steps or live_claims(change.writing, session.id)
            after, claims = close(change, session, "handed_off" if is_unfinished else "completed")
            change.add_facts(given_back=[claim.item for claim in claims])
            return HandedOver(session=after, handoff=handoff, claims=claims)

    def _resume(self, _handover: Handover) -> HandedOver:
        own_id = self._context.caller.actor.session
        with transaction(self._context):
            with self._context.reading() as view:
                before = view.find(Session, own_id)
            if before is None or before.status != "paused":
                raise Conflict(
                    f"session {own_id} is {before.status if before else 'not begun'}, not paused",
                    hint=f"Only a paused session is resumed; {Act.TAKE_OVER}.",
                )
            return self.resume(own_id)

    def _continue(self, handover: Handover) -> HandedOver:
        own_id, caller = self._context.caller.actor.session, self._context.caller
        with self._context.reading() as view:
            is_at_work = bool(live_claims(view, handover.session))
        # Before the transaction: git may take seconds.
        tree = self._context.ports.evidence.snapshot(caller.root) if is_at_work else None
        with recording(self._context, "session.continued") as change:
            session = change.get(Session, change.open_session())
            other = self._other(change, handover.session, own_id)
            if session.continues not in {"", other.id}:
                raise Conflict(f"this session continues {session.continues} already")
            reason = None if other.has_ended else self._take(change, other)
            anew = None if reason == "handed_over" or reason in SAME_WORKER else tree
            claims = [
                take_over(change, claim, anew) for claim in live_claims(change.writing, other.id)
            ]
            after = replace(session, continues=other.id, active_at=change.now)
            change.put(after)
            change.add_facts(continues=other.id, claims=[claim.item for claim in claims])
            return HandedOver(
                session=after,
                handoff=last_handoff(change.writing, other.id),
                claims=tuple(claims),
            )

    def _other(self, change: Change, session_id: str, own_id: str) -> Session:
        if not session_id:
            raise InvalidInput(
                "no session to take up was named",
                hint=f"{Act.NAME_SESSION}.",
            )
        if session_id == own_id:
            raise InvalidInput("a session cannot continue itself", hint=f"{Act.RESUME}.")
        other = change.find(Session, session_id)
        if other is None:
            raise missing(Session, session_id)
        return other

    def _take(self, change: Change, other: Session) -> Reason:
        """End a session whose work the caller takes up, and return why; AlreadyClaimed, Forbidden if it may not."""
        reason = takeover_reason(change, other)
        if reason is None:
            refuse_live(change, other)
        take_parts(change, other, reason)
        change.put(other.moved("handed_off", change.now))
        return reason

    def _free(self, opening: SessionOpening) -> str:
        """Return the caller's own session if nobody opened it for anything yet, else a fresh one."""
        own = self.own() if opening.is_own else ""
        with self._context.reading() as view:
            begun = view.find(Session, own) if own else None
        is_free = bool(own) and (begun is None or begun.purpose == "connection")
        return own if is_free else self._context.ports.mint.mint("ses")

    def _writable(self, session: str) -> Session:
        """Return a session that the caller may write in now, as the open transaction sees it."""
        # It writes nothing and makes no entry: it begins the transaction that is to be looked at.
        with recording(self._context, "session.entered") as change:
            current = change.get(Session, session)
            current.refuse_ended()
            if current.status == "paused":
                raise Conflict(
                    f"the session {session} is paused", hint=f"{Act.RESUME}.", state="paused"
                )
            change.enter(current)
        return current


def takeover_reason(change: Change, session: Session) -> Reason | None:
    """Return why the caller may have a session that has not ended; None: he may not."""
    return may_have(change, session, _lapses_at(change, session), is_named=True)


def take_up_session(change: Change, session: Session, reason: Reason) -> Session:
    """Return a session that is the caller's from now on, in a change that is written in it. reason: why he may have it."""
    caller = change.context.caller
    # Read through the change, so that the entry tells only what differs.
    current = change.get(Session, session.id)
    if may_write(current, caller.actor, caller.capability):
        current = change.enter(current)
    else:
        take_parts(change, current, reason)
    after = replace(
        current,
        agent=caller.actor.name,
        principal=principal_id_of(caller.actor),
        capability=caller.capability,
        writer="" if caller.own_seat == current.id else caller.own_seat,
        entered=change.writing.head().size,
    )
    after = after.moved("active", change.now) if current.status == "paused" else after
    change.put(after)
    for claim in live_claims(change.writing, current.id):
        note_part(change, claim.item)
    return after


def _lapses_at(change: Change, session: Session) -> Timestamp:
    """Return when the last lease of a session ends: without a claim it has one since its last word."""
    usual = change.context.ports.lease_seconds
    last = view_of(change.writing, session, change.clock).last_active_at
    leases = [claim.ends(change.clock) for claim in live_claims(change.writing, session.id)]
    return max(leases, default=credible_end(later(last, usual), usual, change.clock))


def refuse_live(change: Change, session: Session) -> NoReturn:
    """Raise AlreadyClaimed, or Forbidden without a claim: somebody is at a session."""
    until = _lapses_at(change, session)
    hint = f"{ask_again(change, session)}Wait until it is handed over, or until {until}. {Act.RELEASE}."
    running = [c for c in live_claims(change.writing, session.id) if c.is_live(change.clock)]
    if running:
        refuse_taken(running[0], hint)
    raise Forbidden(
        f"the session {session.id} is that of {session.agent}, who is at it",
        hint=hint,
        agent=session.agent,
        until=until,
    )


def end_with(change: Change, session: Session, status: Ended, summary: str) -> Session:
    """Return a session that has ended in a change, with a summary of what came of it."""
    after, _ = close(change, session, status)
    leave(change, Handover(action="end", summary=summary), after)
    change.subject = session.item
    return after


def view_of(view: Reading, session: Session, now: Timestamp) -> SessionView:
    """Return a session with when something last came from it."""
    records = view.select(Record, session=session.id, order="number desc", limit=1)
    handed = last_handoff(view, session.id)
    claims = live_claims(view, session.id)
    times = [session.active_at, *(record.created_at for record in records)]
    times += [handed.created_at] if handed else []
    times += [claim.claimed_at for claim in claims]
    last = max(times)
    # Who holds something is at work, and need not write anything down meanwhile.
    is_holding = any(claim.is_live(now) for claim in claims)
    return SessionView(
        session=session,
        details=load_object(session.details),
        last_active_at=last,
        idle_ms=0 if is_holding else max(0, elapsed_ms(last, now)),
    )


def _found(view: Reading, session: str) -> Session:
    row = view.find(Session, session)
    if row is None:
        raise missing(Session, session)
    return row


def _selected(
    view: Reading, filters: SessionFilter, after: tuple[str, str] | None
) -> Iterator[Session]:
    equal: dict[str, Filter] = {
        name: value for name in ("purpose", "item", "status") if (value := getattr(filters, name))
    }
    order = "started_at,id" if filters.oldest_first else "started_at desc,id desc"
    while True:
        sessions = view.select(Session, order=order, after=after or (), limit=_CHUNK, **equal)
        for session in sessions:
            details = load_object(session.details) if filters.details else {}
            if all(details.get(name) == value for name, value in filters.details.items()):
                yield session
        if len(sessions) < _CHUNK:
            return
        after = (sessions[-1].started_at, sessions[-1].id)


def history_of(view: Reading, session: Session, at: int | None) -> SessionHistory:
    """Return what happened in a session up to an entry; InvalidInput for one that is not of it."""
    size = view.head().size
    last = size - 1 if at is None else at
    first = find_sequence_at(view, session.started_at, size)
    if not first <= last < size:
        raise InvalidInput(
            f"the session {session.id} has no entry {at}",
            hint=f"Give a sequence number from {first} to {size - 1}, or leave `at` out.",
        )

    def text(cell: Json) -> str:
        commitment = parse_reference(cell)
        if not commitment:
            return str(cell)
        body = view.text(commitment)
        return REDACTED if body is None else body

    return history(session.id, _entries(view, session.id, first, last), text)


def find_sequence_at(view: Reading, time: str, size: int) -> int:
    """Return the place of the first entry that is not before a time; times never run backwards."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if load_fields(next(view.entries(middle, middle + 1)))["t"] < time:
            low = middle + 1
        else:
            high = middle
    return low


def _entries(view: Reading, session: str, first: int, last: int) -> Iterator[HistoryEntry]:
    """Return the entries that speak of a session; the others are not even parsed."""
    mark = session.encode()
    for data in view.entries(first, last + 1):
        # An id of random letters stands nowhere by chance, and to look for it is faster than to
        # parse.
        if mark in data:
            yield _entry(view, load_fields(data))


def _entry(view: Reading, entry: dict[str, Any]) -> HistoryEntry:
    origin = origin_of_fields(entry)
    return HistoryEntry(
        sequence=entry["n"],
        time=entry["t"],
        session=entry["w"].get("s", ""),
        agent=entry["w"]["n"],
        action=entry["a"],
        subject=entry.get("s", ""),
        rows=tuple(
            (
                row["t"],
                row["k"],
                fill_columns(
                    view.tables[row["t"]],
                    row["k"],
                    row.get("v", row.get("c")),
                    origin,
                    whole="v" in row,
                ),
            )
            for row in entry.get("r", ())
        ),
    )

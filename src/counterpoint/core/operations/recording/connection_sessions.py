"""Sessions of connections: opened, taken up again, and told apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from counterpoint.core.model.journal import Record
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.authority import caller_authority
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Caller, Context
from counterpoint.core.operations.recording.facets import line_of
from counterpoint.core.operations.recording.holders import LIVE_CLAIMS, absences_of
from counterpoint.core.ports.store import Filter, Query, Reading
from counterpoint.core.rules.claims import held_until, principal_id_of
from counterpoint.core.rules.sessions import may_write
from counterpoint.core.rules.trust.callers import ENTITLED
from counterpoint.core.rules.trust.succession import Asker, Holder, Reason, succession
from counterpoint.kernel.acts import Act
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import AlreadyClaimed

FIRST_CLAIMS: Final = Query(Claim, {"state": "live"}, "claimed_at,item", limit=50)
"""Asks what has been held for longest; those of somebody who comes again are looked for among it."""
_LAST_HANDOFF: Final = Query(Handoff, {}, "number desc", limit=1)
_NAMED: Final = 20
"""How many claims a refusal names."""


def seat_of(view: Reading, capability: str) -> Session | None:
    """Return the session with which the connection came that has a capability; None if it wrote nothing."""
    sessions = view.select(Session, capability=capability, order="started_at,id", limit=1)
    if not capability or not sessions:
        return None
    return view.find(Session, sessions[0].seat) or sessions[0]


def find_latest_session(view: Reading, seat: str, capability: str) -> Session | None:
    """Return the session that a connection opened or took up last after the one it came with; None."""
    sessions = view.select(
        Session,
        capability=capability,
        writer=seat,
        status="active",
        purpose=("connection", "work"),
        order="entered desc,id desc",
        limit=1,
    )
    return sessions[0] if sessions else None


def current_session(view: Reading, seat: str, capability: str) -> str:
    """Return the session that a connection opened or took up last and can write in; empty without one."""
    session, later = view.find(Session, seat), find_latest_session(view, seat, capability)
    # No writer is named until a session was taken up again: until then it writes itself.
    is_open = session is None or (session.status == "active" and session.writer in {"", seat})
    if later is not None and not (is_open and session and session.entered > later.entered):
        return later.id
    return seat if is_open else ""


def list_left_sessions(view: Reading, context: Context) -> list[Session]:
    """Return the sessions with something open that the caller had before, over a connection that has ended."""
    actor = context.caller.actor
    if actor.principal is None:
        return []
    live = FIRST_CLAIMS.rows(view)
    others = tuple(dict.fromkeys(claim.session for claim in live if claim.session != actor.session))
    sessions = view.select(Session, id=others, principal=actor.principal.id) if others else []
    absences = absences_of(view, context.ports, [session.seat for session in sessions])
    return [
        session for session in sessions if session.status == "paused" or session.seat in absences
    ]


def may_have(
    change: Change, session: Session, lapses_at: Timestamp, *, is_named: bool = False
) -> Reason | None:
    """Return why the caller may have a session, or a claim in it, from whoever has it; None: he may not.

    lapses_at: when what is asked for lapses. is_named: whether he asks for the session itself.
    """
    caller, ports = change.context.caller, change.context.ports
    asker = Asker(
        actor=caller.actor,
        capability=caller.capability,
        authority=caller_authority(change),
        is_naming=is_named,
    )
    absence = absences_of(change.writing, ports, [session.seat]).get(session.seat)
    holder = Holder(
        session=session,
        is_here=ports.host.is_here(session.seat, ports.grace_seconds),
        absence=absence.seconds if absence else None,
        lapses_at=lapses_at,
    )
    return succession(asker, holder, change.clock, ports.grace_seconds)


def ask_again(change: Change, session: Session) -> str:
    """Return what a caller who may not have a session now is told, if it may be his own; empty if not.

    Of a client over HTTP that was started again nobody knows that its former connection has ended.
    """
    actor = change.context.caller.actor
    if actor.principal is None or principal_id_of(actor) != session.principal:
        return ""
    seconds = change.context.ports.grace_seconds
    return f"If it was yours before you were started again, ask once more in {seconds} seconds. "


def take_parts(change: Change, session: Session, reason: Reason) -> None:
    """Write down why the caller has what was another's: all that is his if he is the other, else the session's."""
    change.add_facts(why=reason)
    change.inherit(session, is_whole=reason == "capability")


def refuse_ending(change: Change, item: Item) -> None:
    """Raise AlreadyClaimed if somebody else is at something below an item that is to close."""
    live = change.select(Claim, state="live", order="item")
    refuse_foreign_claims(change, [claim for claim in live if _ends_with(change, claim, item)])


def refuse_foreign_claims(change: Change, claims: Sequence[Claim]) -> None:
    """Raise AlreadyClaimed, naming them all, if claims that are to end are live ones of somebody else."""
    foreign = claims_of_others(change, claims)
    if foreign:
        raise AlreadyClaimed(
            "; ".join(f"{claim.item} is {held_until(claim)}" for claim in foreign[:_NAMED]),
            hint=f"Let who holds it finish or hand over first, or {Act.RELEASE}.",
            holder=foreign[0].agent,
            until=max(claim.leased_until for claim in foreign),
            items=[claim.item for claim in foreign[:_NAMED]],
        )


def claims_of_others(change: Change, claims: Iterable[Claim]) -> list[Claim]:
    """Return those of some claims that are live and somebody else's, so that only he ends them, or a person."""
    return [claim for claim in claims if _is_strange(change, claim)]


def _ends_with(change: Change, claim: Claim, item: Item) -> bool:
    """Return whether a claim would end with an item that closes: not where an end is declared."""
    held_item = change.get(Item, claim.item)
    if held_item.root != item.root or not held_item.parent:
        return False
    if not change.get(Item, held_item.parent).states.closes_itself:
        return False
    return any(ancestor.id == item.id for ancestor in line_of(change, held_item.parent))


def _is_strange(change: Change, claim: Claim) -> bool:
    """Return whether a claim is live and belongs to somebody else, so that only he ends it, or a person."""
    caller = change.context.caller
    if claim.session == caller.actor.session or not claim.is_live(change.clock):
        return False
    if caller_authority(change) in ENTITLED:
        return False
    session = change.find(Session, claim.session)
    # Whoever says to be a person and is none is asked as the agent that he may be.
    actor = replace(caller.actor, kind="agent")
    return session is None or not may_write(session, actor, caller.capability)


_OPENED: Final = 5
"""How many open sessions of a connection are offered to it."""


def live_claims(view: Reading, session: str) -> list[Claim]:
    """Return what a session holds, also with a lease that has run out but was not taken over."""
    return _claims_query(session).rows(view)


def _claims_query(session: str) -> Query[Claim]:
    return Query(Claim, {"session": session, "state": "live"}, "claimed_at,item")


def _opened_query(caller: Caller) -> Query[Session]:
    equal: dict[str, Filter] = {"status": ("active", "paused"), "purpose": ("work", "audit")}
    equal["capability"] = caller.capability
    return Query(Session, equal, "entered desc,id desc", limit=_OPENED)


def last_written_queries(session: str) -> tuple[Query[Record], Query[Handoff]]:
    """Return what asks for the last record and the last handoff of a session."""
    equal, order = {"session": session}, "number desc"
    return Query(Record, equal, order, limit=1), Query(Handoff, equal, order, limit=1)


def caller_queries(caller: Caller) -> list[Query[Any]]:
    """Return what is asked to tell a caller what it holds and what it can go on with."""
    session = caller.actor.session
    queries: list[Query[Any]] = [LIVE_CLAIMS, FIRST_CLAIMS, _LAST_HANDOFF]
    if session and not caller.is_shared:
        queries += [Query(Session, {"id": session}, limit=1), _claims_query(session)]
        queries += last_written_queries(session)
        queries += [_opened_query(caller)] if caller.capability else []
    return queries


def list_resumable_sessions(view: Reading, context: Context) -> list[Session]:
    """Return the sessions that the caller can go on in: the one it writes in, those it had before, those it opened or paused.

    None where others whom nothing tells from it write in the same session: any of them may have begun what is in it.
    """
    caller = context.caller
    if caller.is_shared:
        return []
    present = view.find(Session, caller.actor.session)
    sessions = [present] if present is not None else []
    sessions += list_left_sessions(view, context)
    if caller.capability:
        sessions += _opened_query(caller).rows(view)
    last = last_handoff(view)
    left_session = view.find(Session, last.session) if last is not None else None
    # By its name it could be that of another window: only who may write in it left it.
    if left_session is not None and left_session.status == "paused":
        sessions += (
            [left_session] if may_write(left_session, caller.actor, caller.capability) else []
        )
    return list({session.id: session for session in sessions}.values())


def last_handoff(view: Reading, session: str = "") -> Handoff | None:
    """Return the last handoff of a session, or of anybody."""
    query = last_written_queries(session)[1] if session else _LAST_HANDOFF
    return next(iter(query.rows(view)), None)

"""Sessions about plans, which agents follow and which end when left idle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.core.model.answers import HandedOver
from counterpoint.core.model.filters import Handover
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.sessions import Handoff, Session, SessionOpening, SessionView
from counterpoint.core.operations.recording.connection_sessions import last_handoff
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.operations.sessions import Sessions, end_with, view_of
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.wording import parse_details
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.clock import Timestamp

STALE: Final = "nothing came from it for a day"
"""Why a session that nobody ended has failed."""
_IDLE_MS: Final = 24 * 3_600_000
_AGENT_TYPE: Final = "agent_type"
_CONTEXT: Final = "context"


class PlanSessions(Verbs):
    """Verbs for sessions about plans."""

    def open(
        self, agent_type: str, item: str = "", context: Mapping[str, Json] | None = None
    ) -> Session:
        """Return a session that has begun: the caller's own if nobody opened it yet. NotFound."""
        details: dict[str, Json] = {_AGENT_TYPE: agent_type, _CONTEXT: dict(context or {})}
        opening = SessionOpening(
            purpose="work",
            is_own=True,
            item=item,
            details=details,
            facts={_AGENT_TYPE: agent_type},
        )
        return Sessions(self._context).open(opening)

    def follow(self, session: str, agent_type: str = "") -> HandedOver:
        """Open a session that goes on where another one stopped, with its claims and its context.

        Raises NotFound, AlreadyClaimed if the other one is still at work.
        """
        with transaction(self._context):
            previous = Sessions(self._context).get(session)
            other, before = previous.session, agent_type_of(previous)
            with self._context.reading() as view:
                handoff = last_handoff(view, session)
            context: dict[str, Json] = {
                "continued_from": other.id,
                "previous_agent": before,
                "handoff_notes": present_handoff(handoff) if handoff else None,
                "inherited_context": context_of(other),
            }
            opened = self.open(agent_type or before, other.item, context)
            handover = Handover(action="continue", session=session)
            inside = self._context.in_session(opened.id, item=other.item)
            return Sessions(inside).hand_over(handover)

    def sweep(self) -> list[Session]:
        """End sessions that were idle for a day as failed; return them."""
        with self._context.reading() as view:
            if not _stale(view, self._context.ports.clock.now()):
                return []
        ended: list[Session] = []
        with transaction(self._context):
            with recording(self._context, "sessions.counted") as change:
                stale = _stale(change.writing, change.clock)
            for session in stale:
                with recording(self._context.in_session(session.id), "session.expired") as change:
                    ended.append(end_with(change, change.get(Session, session.id), "failed", STALE))
        return ended


def agent_type_of(session_view: SessionView) -> str:
    """Return what kind of agent sits in a session; of one that was not opened here, the agent."""
    return str(session_view.details.get(_AGENT_TYPE, session_view.session.agent))


def context_of(session: Session) -> dict[str, Json]:
    """Return the context that a session was given; empty for one that was not opened here."""
    return object_of(load_object(session.details).get(_CONTEXT))


def is_stale(session_view: SessionView) -> bool:
    """Return whether a session is active, but holds nothing and nothing came from it for a day."""
    return session_view.session.status == "active" and session_view.idle_ms > _IDLE_MS


def present_handoff(handoff: Handoff) -> dict[str, Json]:
    """Return what a handoff says, as it is kept for the next."""
    return {
        "summary": handoff.summary,
        "next_steps": list(handoff.next_steps),
        "blockers": list(handoff.blockers),
        "context_for_next": parse_details(handoff.context),
    }


def _stale(view: Reading, now: Timestamp) -> list[Session]:
    active = view.select(Session, status="active", purpose="work")
    return [session for session in active if is_stale(view_of(view, session, now))]

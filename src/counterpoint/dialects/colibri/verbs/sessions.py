"""Audited sittings: sessions that somebody opens by word, to seal or to give up.

A sitting is a Session that was opened with an intent; its id may be chosen. It ends by being sealed
(see dialects.colibri.verbs.seals) or abandoned; one that has ended accepts no more writes.
"""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.rows import Prose
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import missing
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import item_named
from counterpoint.core.operations.recording.moves import give_back
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.sessions import live_claims
from counterpoint.core.ports.store import Reading
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import Conflict, InvalidInput, SessionEnded

ACTION = "session.opened"
"""What the ledger calls the opening of an audited sitting."""
_ID_LENGTH = 200


class AuditSessions:
    """Verbs for audited sittings."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def open(self, intent: str, *, task: str = "", session: str = "") -> Session:
        """Open a sitting; Conflict if there is a session of that id, InvalidInput.

        task: what it is about, in the caller's words; it may be no item at all.
        """
        if not intent.strip():
            raise InvalidInput("a sitting has an intent", hint="Say what it is for.")
        if len(session) > _ID_LENGTH:
            raise InvalidInput(f"a session's id has at most {_ID_LENGTH} characters")
        name = session or self._context.ports.mint.mint("ses")
        caller = self._context.caller
        with recording(self._context, ACTION, name) as change:
            if change.find(Session, name) is not None:
                raise Conflict(
                    f"there is a session {name} already",
                    hint="Leave `session_id` out, or choose another one.",
                    session_id=name,
                )
            about = item_named(change.writing, task) if task else None
            opened = Session(
                project=self._context.project,
                id=name,
                agent=caller.actor.name,
                profile=caller.actor.profile,
                client=caller.client,
                status="active",
                continues="",
                started_at=change.now,
                ended_at="",
                item=about.id if about else "",
                details=Prose(canonical.dump_any({"intent": intent, "task_id": task})),
            )
            change.put(opened)
        return self.get(name)

    def get(self, session: str) -> Session:
        """Return a session; NotFound."""
        with self._context.reading() as view:
            found = view.find(Session, session)
        if found is None:
            raise missing(Session, session)
        return found

    def list(
        self, *, status: str = "", after: tuple[str, str] | None = None, limit: int = 50
    ) -> list[Session]:
        """Return sessions, the oldest first; `after` is (started_at, id) of the last one seen."""
        only = {"status": status} if status else {}
        with self._context.reading() as view:
            return view.select(
                Session, order="started_at,id", after=after or (), limit=limit, **only
            )

    def abandon(self, session: str, reason: str) -> Session:
        """End a sitting without a seal; what it holds is given back.

        Raises NotFound, SessionEnded if it has ended, InvalidInput without a reason.
        """
        if not reason.strip():
            raise InvalidInput("to abandon a session needs a reason", hint="Say why.")
        with recording(self._context, "session.abandoned", session) as change:
            found = change.get(Session, session)
            if found.has_ended:
                raise SessionEnded(f"session {session} is {found.status}", session_id=session)
            for claim in live_claims(change.writing, session):
                give_back(change, change.get(Item, claim.item))
            after = replace(found.moved("failed", change.now))
            change.put(after)
            change.add_facts(reason=reason)
            return after


def unsealed(view: Reading) -> list[Session]:
    """Return the audited sittings that are open."""
    told = (view.select(Session, status=status) for status in ("active", "paused"))
    return [one for some in told for one in some if '"intent"' in one.details]

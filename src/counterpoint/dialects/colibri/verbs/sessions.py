"""Audit sessions: opened with an intent, to be sealed (see the seals) or given up."""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.sessions import Session, SessionOpening
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.facets import item_named
from counterpoint.core.operations.sessions import Sessions
from counterpoint.kernel.errors import InvalidInput

_ID_LENGTH: Final = 200


class AuditSessions:
    """Verbs for audit sessions."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def open(self, intent: str, *, task: str = "", session: str = "") -> Session:
        """Open an audit session; Conflict if there is a session of that id, InvalidInput.

        task: what it is about, in the caller's words; it may be no item at all.
        """
        if not intent.strip():
            raise InvalidInput("an audit session has an intent", hint="Say what it is for.")
        if len(session) > _ID_LENGTH:
            raise InvalidInput(f"a session's id has at most {_ID_LENGTH} characters")
        with self._context.reading() as view:
            about = item_named(view, task) if task else None
        opening = SessionOpening(
            purpose="audit",
            id=session,
            item=about.id if about else "",
            details={"intent": intent, "task_id": task},
        )
        return Sessions(self._context).open(opening)

"""Events of a run, stored in the journal of its spec."""

from __future__ import annotations

from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.nouns.autonomy import SpecSession
from counterpoint.dialects.foundry.rules.entries import ENTRY_TYPE, SHOWN
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json

SESSION_TYPE = "session"
STEP_TYPE = "step"


def note_event(
    change: Change, row: SpecSession, title: str, text: str, *, type_: str, **details: Json
) -> None:
    """Write an entry of the journal about a run, in the run's session. type_: of the entry; details: empty ones are left out."""
    number, its_id = change.next_id(Record)
    fields: dict[str, Json] = {ENTRY_TYPE: type_, "session_id": row.session}
    fields |= {name: value for name, value in details.items() if value not in ("", None, [])}
    change.put(
        Record(
            project=row.project,
            id=its_id,
            number=number,
            kind="log",
            item=row.spec,
            session=row.session,
            agent=change.context.caller.actor.name,
            title=Prose(title),
            body=Prose(text),
            tags=(),
            files=(),
            details=Prose(canonical.dump_any(fields)),
            status="",
            resolution=Prose(""),
            resolved_by="",
            created_at=change.now,
            resolved_at="",
        )
    )


def events_of(view: Reading, session: str, before: int, limit: int) -> list[Record]:
    """Return the journal entries of a run, the newest first, before the record of a number; 0: all."""
    beyond = (before,) if before else ()
    return view.select(
        Record, session=session, kind=SHOWN, order="number desc", after=beyond, limit=limit
    )

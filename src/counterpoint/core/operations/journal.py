"""Writing down: records of every kind, and the resolving of blockers."""

from __future__ import annotations

from dataclasses import replace

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.claims import refuse_strangers
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.links import shift
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.enumeration import first_line
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Conflict, InvalidInput

_TITLE_FROM_BODY = 120


class Journal:
    """Verbs for records."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def append(self, note: Note, token: int | None = None) -> Record:
        """Write a record down; a blocker stands in its item's way until it is resolved.

        Raises NotFound for the item, ClaimLost for a token that no longer holds it.
        """
        contain = self._context.ports.evidence.contain
        files = tuple(contain(self._context.caller.root, path) for path in note.files)
        with recording(self._context, f"{note.kind}.recorded", note.item) as change:
            session = change.open_session()
            refuse_strangers(change, note.item, token)
            item = change.get(Item, note.item) if note.item else None
            record = self.draft(change, note, session, files)
            change.put(record)
            change.add_facts(record=record.id, title=record.title)
            if item is not None and note.kind == "blocker":
                _refuse_closed(item)
                shift(change, item, 1)
            return record

    def draft(self, change: Change, note: Note, session: str, files: tuple[str, ...]) -> Record:
        """Return the record that a note becomes in a change; nothing is written yet."""
        number, its_id = change.next_id(Record)
        details = canonical.dump_any(dict(note.details)) if note.details else ""
        return Record(
            project=change.writing.project,
            id=its_id,
            number=number,
            kind=note.kind,
            item=note.item,
            session=session,
            agent=self._context.caller.actor.name,
            title=note.title or first_line(note.body, _TITLE_FROM_BODY),
            body=Prose(note.body),
            tags=tuple(dict.fromkeys(note.tags)),
            files=files,
            details=Prose(details),
            status="open" if note.kind == "blocker" else "",
            resolution=Prose(""),
            resolved_by="",
            created_at=change.now,
            resolved_at="",
        )

    def resolve(self, record: str, resolution: str) -> Record:
        """Resolve a blocker, so that it is no longer in the way; a second time changes nothing."""
        with recording(self._context, "blocker.resolved") as change:
            change.open_session()
            found = change.get(Record, record)
            if found.kind != "blocker":
                raise InvalidInput(
                    f"{record} is a {found.kind}", hint="Only a blocker can be resolved."
                )
            if found.status == "resolved":
                return found
            after = replace(
                found,
                status="resolved",
                resolution=Prose(resolution),
                resolved_by=self._context.caller.actor.name,
                resolved_at=change.now,
            )
            change.put(after)
            change.subject = found.item
            change.add_facts(record=record)
            if found.item:
                shift(change, change.get(Item, found.item), -1)
            return after


def _refuse_closed(item: Item) -> None:
    if item.is_closed:
        raise Conflict(
            f"{item.id} is {item.status}: nothing can block it",
            hint=f"{Act.RECORD}, or {Act.REOPEN} first.",
        )

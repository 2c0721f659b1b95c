"""Writing records down, resolving blockers, and taking texts away for good.

The ledger names a text by its commitment, so where one is taken away the entries stay as they were and
every proof holds. What stays is the commitment, who wrote it and when, and a new entry that says who took it
away and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from counterpoint.core.ledger.entry import Entry, load_fields, parse_reference
from counterpoint.core.ledger.lines import REDACTION, list_redacted
from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import NEEDS_PERSON, Record
from counterpoint.core.model.rows import REDACTED, Prose
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.claims import refuse_strangers
from counterpoint.core.operations.recording.authority import caller_authority
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.contributions import selves
from counterpoint.core.operations.recording.links import release, shift
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.trust.callers import PEOPLE
from counterpoint.core.rules.wording import first_line
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.errors import Conflict, Forbidden, InvalidInput, MalformedDocument

_TITLE_FROM_BODY = 120
_MADE = (".recorded", "brief.created", "project.opened")
"""Actions that make one thing with a title."""


class Journal(Verbs):
    """Verbs for records, and for taking texts away."""

    def append(self, note: Note, token: int | None = None) -> Record:
        """Write a record down; a blocker stands in its item's way until it is resolved.

        Raises NotFound for the item, ClaimLost for a token that no longer holds it, InvalidInput for one without a word.
        """
        if not note.title.strip() and not note.body.strip():
            raise InvalidInput("there is no text", hint="Say what is to be kept.")
        contain = self._context.ports.evidence.contain
        # Before the transaction: links are followed on a disk that may be slow.
        files = tuple(contain(self._context.caller.root, path) for path in note.files)
        with recording(self._context, f"{note.kind}.recorded", note.item) as change:
            session = change.open_session()
            refuse_strangers(change, note.item, token)
            item = change.get(Item, note.item) if note.item else None
            record = self.draft(change, note, session, files)
            change.put(record)
            change.add_facts(record=record.id)
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
            title=Prose(note.title or first_line(note.body, _TITLE_FROM_BODY)),
            body=Prose(note.body),
            tags=tuple(dict.fromkeys(tag for tag in note.tags if tag.strip())),
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
            blocker = change.get(Record, record)
            if blocker.kind != "blocker":
                raise InvalidInput(
                    f"{record} is a {blocker.kind}", hint="Only a blocker can be resolved."
                )
            if blocker.status == "resolved":
                return blocker
            after = resolve_blocker(change, blocker, resolution)
            change.subject = blocker.item
            change.add_facts(record=record)
            return after


def resolve_blocker(change: Change, record: Record, resolution: str) -> Record:
    """Resolve an open blocker, so that it is in the way neither of its item nor of what needs that; Forbidden to whoever flagged it for a person."""
    is_flag = NEEDS_PERSON in record.tags
    if is_flag:
        _refuse_flagger(change, record)
    after = replace(
        record,
        status="resolved",
        resolution=Prose(resolution),
        resolved_by=change.context.caller.actor.name,
        resolved_at=change.now,
    )
    change.put(after)
    if record.item:
        item = shift(change, change.get(Item, record.item), -1)
        if is_flag and item.category == "done":
            change.add_facts(released=release(change, item))
    return after


def _refuse_flagger(change: Change, record: Record) -> None:
    """Raise Forbidden if the caller wrote a blocker for a person and is none."""
    if caller_authority(change) in PEOPLE:
        return
    session = change.find(Session, record.session)
    if session is not None and session.principal in selves(change.context.caller):
        raise Forbidden(
            f"you flagged {record.id} for a person, and whoever flags one does not resolve it",
            hint=f"A person resolves it: `counterpoint unblock {record.id}`. Until then go on with other work.",
        )


def _refuse_closed(item: Item) -> None:
    if item.is_closed:
        raise Conflict(
            f"{item.id} is {item.status}: nothing can block it",
            hint=f"{Act.RECORD}, or {Act.REOPEN} first.",
        )


def with_texts(view: Reading, entry: Entry) -> Entry:
    """Return an entry with the texts that its facts refer to, as far as they are still there.

    Whoever made something is told with its title, which stands in the row and need not be a fact.
    """
    texts = {
        name: reference
        for name, value in entry.facts.items()
        if (reference := parse_reference(value))
    }
    if entry.action.endswith(_MADE):
        rows = (row.values for row in entry.rows if row.whole and row.values)
        titles = [reference for row in rows if (reference := parse_reference(row.get("title")))]
        texts |= dict(zip(("title",), titles, strict=False))
    if not texts:
        return entry
    words = {name: view.text(reference) for name, reference in texts.items()}
    shown_words = {name: REDACTED if text is None else text for name, text in words.items()}
    return replace(entry, facts={**entry.facts, **shown_words})


def redactions(view: Reading) -> Iterator[tuple[int, list[str]]]:
    """Return the places of the entries that took texts away, in order, with the texts told.

    An entry that cannot be read tells nothing.
    """
    # They come latest first.
    for sequence in sorted(view.sequences(action=REDACTION, limit=view.head().size)):
        try:
            entry = load_fields(next(view.entries(sequence, sequence + 1)))
        except MalformedDocument:
            continue
        yield sequence, list_redacted(entry)

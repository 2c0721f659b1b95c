"""Thinking aloud, so that nobody can change afterwards what was thought.

A thought is a record of the kind `thought`, which lists and searches know as any other, and beside it
a link of the chain of its task (see core.ledger.thoughts). Both are written in one transaction, in
which nobody else writes, so that any number of writers make one unbroken chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from counterpoint.core.ledger.entry import GENESIS, load_fields
from counterpoint.core.ledger.thoughts import VERSION, Chains, link_of
from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.model.proofs import Examined, Thinking, Thought, ThoughtType
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change, missing
from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.store import Filter, Reading
from counterpoint.kernel.errors import (
    ChainBroken,
    CounterpointError,
    InvalidInput,
    LedgerBroken,
    MalformedDocument,
)

ACTION = "thought.chained"
"""What the ledger calls a thought that joined the chain of its task."""

_AT_ONCE = 200
_EDITED = "Restore a backup; `counterpoint audit rebuild` says which rows are not what was written."


class Thoughts(Verbs):
    """Verbs for what was thought."""

    def think(
        self, kind: ThoughtType, content: str, *, task: str, agent: str = "", title: str = ""
    ) -> Thinking:
        """Add a thought to the end of the chain of a task, in the caller's session.

        agent: who thought it, if that is another name than the caller's. Raises InvalidInput without
        a word of content, NotFound for the task, SessionEnded also if the session is sealed.
        """
        if not content.strip():
            raise InvalidInput("a thought has at least one word", hint="Say what was thought.")
        with recording(self._context, ACTION, task) as change:
            session = change.open_session()
            change.get(Item, task)
            note = Note(kind="thought", body=content, title=title, item=task)
            drafted = Journal(self._context).draft(change, note, session, ())
            # Secrets are masked before anything is hashed: what is kept is what was hashed.
            record = change.masked(drafted)
            thought = self._link(change, kind, record, agent or record.agent)
            change.put(record)
            change.put(thought)
            change.add_facts(record=record.id, type=kind, place=thought.sequence)
            return Thinking(thought=thought, record=record)

    def _link(self, change: Change, kind: ThoughtType, record: Record, agent: str) -> Thought:
        before = last_thought(change.writing, record.item)
        link = Thought(
            project=self._context.project,
            record=record.id,
            number=record.number,
            version=VERSION,
            type=kind,
            task=record.item,
            agent=agent,
            session=record.session,
            sequence=before.sequence + 1 if before else 0,
            created_at=record.created_at,
            content=change.commit(record.body),
            previous=before.hash if before else GENESIS,
            hash="",
        )
        return replace(link, hash=link_of(link).leaf.hex())

    def get(self, record: str) -> Thinking:
        """Return a thought with its text; NotFound."""
        with self._context.reading() as view:
            thought, row = view.find(Thought, record), view.find(Record, record)
        if thought is None or row is None:
            raise missing(Thought, record)
        return Thinking(thought=thought, record=row)

    def list(
        self,
        *,
        task: str = "",
        session: str = "",
        kind: ThoughtType | None = None,
        after: int = 0,
        limit: int | None = 50,
    ) -> list[Thinking]:
        """Return thoughts in the order in which they were written, those beyond a number only.

        after: the `number` of the last thought seen. limit: None for all.
        """
        equal: dict[str, Filter] = {"task": task, "session": session, "type": kind or ""}
        chosen = {name: value for name, value in equal.items() if value}
        with self._context.reading() as view:
            thoughts = view.select(Thought, order="number", after=(after,), limit=limit, **chosen)
            records = _records(view, thoughts)
        return [Thinking(thought=thought, record=records[thought.record]) for thought in thoughts]

    def verify(self, task: str = "") -> Examined:
        """Check the chain of a task, or all of them, with their texts and against the ledger.

        Found are: a field, a text or a place that was changed; a link that was removed, added or
        swapped; links cut off at the end. `Examined.broken` names the thoughts; NotFound.
        """
        with self._context.reading() as view:
            if task and view.find(Item, task) is None:
                raise missing(Item, task)
            if task:
                thoughts = view.select(Thought, task=task, order="sequence")
            else:
                thoughts = view.select(Thought, order="task,sequence")
            faults, redacted = examine(view, thoughts)
            faults += _departures(view, thoughts, task)
        return Examined(
            size=len(thoughts), broken=broken_of(faults), redacted=redacted, faults=tuple(faults)
        )

    def verify_session(self, session: str) -> Examined:
        """Check the thoughts of a session that need not be sealed, each on its own; NotFound.

        Links of other sessions may lie between them, so that a thought cut off is not missed here.
        """
        with self._context.reading() as view:
            if view.find(Session, session) is None:
                raise missing(Session, session)
            thoughts = view.select(Thought, session=session, order="number")
            faults, redacted = examine(view, thoughts, gaps=True)
        return Examined(
            size=len(thoughts), broken=broken_of(faults), redacted=redacted, faults=tuple(faults)
        )


def last_thought(view: Reading, task: str) -> Thought | None:
    """Return the end of the chain of a task, or None before the first thought."""
    thoughts = view.select(Thought, task=task, order="sequence desc", limit=1)
    return thoughts[0] if thoughts else None


def examine(
    view: Reading, thoughts: Iterable[Thought], *, gaps: bool = False
) -> tuple[list[LedgerBroken], int]:
    """Return what is wrong with thoughts, and how many of their texts are gone on purpose.

    The thoughts of each task come in the order of its chain. gaps: links may be missing in between.
    """
    faults: list[LedgerBroken] = []
    chains = Chains(gaps=gaps)
    listed = list(thoughts)
    records = _records(view, listed)
    redacted = 0
    for thought in listed:
        link = link_of(thought)
        record = records.get(thought.record)
        if link.leaf.hex() != thought.hash:
            faults.append(_broken(thought, "does not have the hash that it claims"))
        faults += chains.follow(link, thought.hash)
        if record is None or not _is_text_of(view, thought, record):
            faults.append(_broken(thought, "has another text than the one that was hashed"))
        elif record.body == REDACTED:
            redacted += 1
    return faults, redacted


def broken_of(faults: Iterable[CounterpointError]) -> tuple[str, ...]:
    """Return the ids of the thoughts that faults are about, each once, in the order found."""
    thought_ids = (fault.facts.get("thought") for fault in faults)
    return tuple(dict.fromkeys(str(thought_id) for thought_id in thought_ids if thought_id))


def _records(view: Reading, thoughts: Sequence[Thought]) -> dict[str, Record]:
    """Return the records that hold the texts of thoughts, by their ids."""
    records: dict[str, Record] = {}
    for start in range(0, len(thoughts), _AT_ONCE):
        ids = [thought.record for thought in thoughts[start : start + _AT_ONCE]]
        # Always as many, so that there is one statement for all.
        ids += ids[-1:] * (_AT_ONCE - len(ids))
        records |= {record.id: record for record in view.select(Record, id=tuple(ids))}
    return records


def _is_text_of(view: Reading, thought: Thought, record: Record) -> bool:
    """Return whether a record is the one that was hashed; its text may be gone."""
    position = (record.kind, record.item, record.session, record.number, record.created_at)
    if position != ("thought", thought.task, thought.session, thought.number, thought.created_at):
        return False
    stored = view.salted(thought.content)
    if stored is None:
        return record.body == REDACTED
    return stored.body == record.body and stored.commitment == thought.content


def _departures(view: Reading, thoughts: Sequence[Thought], task: str) -> Iterator[ChainBroken]:
    """Say where chains end in another way than the ledger tells, and if any is missing."""
    for name, end in {thought.task: thought for thought in thoughts}.items():
        if _last_told(view, name) != end.hash:
            yield _broken(end, "is not the end that the ledger tells of")
    written = len(view.sequences(subject=task, action=ACTION, limit=len(thoughts) + 1))
    if written != len(thoughts):
        amount = "more" if written > len(thoughts) else "fewer"
        yield ChainBroken(
            f"the ledger tells of {amount} thoughts than the {len(thoughts)} that are there",
            hint=_EDITED,
            task=task,
        )


def _last_told(view: Reading, task: str) -> str:
    """Return the hash of the last thought about a task that the ledger tells of."""
    for sequence in view.sequences(subject=task, action=ACTION, limit=1):
        try:
            rows = load_fields(next(view.entries(sequence, sequence + 1))).get("r", ())
        except MalformedDocument:
            return ""
        return next((row["v"].get("hash", "") for row in rows if row["t"] == Thought.table), "")
    return ""


def _broken(thought: Thought, how: str) -> ChainBroken:
    return ChainBroken(
        f"thought {thought.record} in the chain of {thought.task} {how}",
        hint=_EDITED,
        thought=thought.record,
        task=thought.task,
    )

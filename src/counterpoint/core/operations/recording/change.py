"""What one verb does to the tables, on its way to becoming one ledger entry.

Rule 1: every mutation of every table happens on a `Change`. Rule 2: what it wrote stands in its entry as
row images, with each text by its commitment; what is derived is left out (see ledger/derived.py). Rule 3: secrets are
masked here, before a row, a text or a fact is made from them; a key that holds one is refused, because
two masked keys could not be told apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from counterpoint.core.ledger.derived import Origin, compact, compact_change, rules
from counterpoint.core.ledger.entry import GENESIS, Entry, RowImage, refer
from counterpoint.core.ledger.merkle import Frontier, leaf_hash
from counterpoint.core.model.identity import Connection, Contribution, Succession
from counterpoint.core.model.rows import (
    REDACTED,
    Cell,
    N,
    Noun,
    Prose,
    changes_of,
    image_of,
    masked_columns,
    prose_columns,
)
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.confirming import (
    refuse_unsigned,
    refuse_used,
)
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Append, Filter, Salted, Writing
from counterpoint.core.rules.claims import standing
from counterpoint.core.rules.secrets import is_plain, mask_json
from counterpoint.core.rules.sessions import may_write
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Forbidden, InvalidInput, NotFound

_SIMPLE: Final = frozenset({str, int, bool})
"""What most facts are: one cheap look tells that no secret is in any of them."""


_Place = tuple[str, tuple[Cell, ...]]
"""A row: its table, and its key without the project."""


@dataclass(slots=True, kw_only=True, eq=False)
class Change:
    """What one verb is doing to the tables, on its way to becoming one entry; `recording` makes it.

    now: its time. subject: the item it is about. facts: what a reader of the log wants to know.
    """

    context: Context
    writing: Writing
    now: Timestamp
    action: str
    subject: str = ""
    facts: dict[str, Json] = field(default_factory=dict[str, Json])
    images: list[RowImage] = field(default_factory=list[RowImage])
    _seen: dict[_Place, Noun] = field(init=False, default_factory=dict[_Place, Noun])
    _commitments: dict[str, str] = field(init=False, default_factory=dict[str, str])
    """Of every text of this change, so that it has one in the whole entry."""
    _unkept: dict[str, Salted] = field(init=False, default_factory=dict[str, Salted])
    """The texts of the row that is being written, by their commitments."""

    def find(self, noun: type[N], *key: Cell) -> N | None:
        """Return the row with this key, or None; what was read or written here is not read again."""
        known = self._seen.get((noun.table, key))
        if known is not None:
            return cast("N", known)
        found = self.writing.find(noun, *key)
        if found is not None:
            self._seen[noun.table, key] = found
        return found

    def get(self, noun: type[N], *key: Cell) -> N:
        """Return the row with this key; NotFound."""
        found = self.find(noun, *key)
        if found is None:
            raise missing(noun, *key)
        return found

    def select(self, noun: type[N], *, order: str = "", **equal: Filter) -> list[N]:
        """Return the rows whose columns equal the filters."""
        found = self.writing.select(noun, order=order, after=(), limit=None, **equal)
        for row in found:
            self._seen[self._place(row)] = row
        return found

    def put(self, noun: Noun) -> None:
        """Write a row: only the changed columns if it was read here before."""
        kind = type(noun)
        clean = self.masked(noun)
        key: dict[str, Any] = {name: getattr(noun, name) for name in kind.key[1:]}
        place = kind.table, tuple(key.values())
        before = self._seen.get(place)
        self._seen[place] = clean
        actor = self.context.caller.actor
        origin = Origin(self.now, actor.name, actor.session)
        if before is None:
            image = image_of(clean, self.commit)
            if self._unkept:
                self._keep_texts()
            self.writing.put(kind, image)
            self._log(kind, key, compact(kind, key, image, origin), whole=True)
            return
        changed = changes_of(before, clean, self.commit)
        if changed:
            if self._unkept:
                self._keep_texts()
            self.writing.change(kind, key, changed)
            # What a reader of the ledger knows of the row before, and need not be told again.
            told = {name: getattr(before, name) for name, _ in rules(kind, whole=False)}
            image = compact_change(kind, told, changed, origin)
            self._log(kind, key, image, whole=False)

    def drop(self, noun: Noun) -> None:
        """Delete a row."""
        kind = type(noun)
        key: dict[str, Json] = {name: getattr(noun, name) for name in kind.key[1:]}
        self._seen.pop(self._place(noun), None)
        self.writing.drop(kind, key)
        self._log(kind, key, None, whole=True)

    def add_facts(self, **facts: Json) -> None:
        """Add facts to the entry: what a reader of the log wants to know."""
        if _SIMPLE.issuperset(map(type, facts.values())):
            # With what no secret has between them, so that none seems to stand across two of them.
            said = "\0".join(map(str, facts.values()))
            if is_plain(said, self.context.ports.secrets):
                self.facts.update(facts)
                return
        for name, value in facts.items():
            self.facts[name] = self._clean(value)

    def add_texts(self, **texts: str) -> None:
        """Add facts that people or agents worded: the entry has a reference in place of each."""
        for name, text in texts.items():
            if text:
                # What was kept in this change is clean.
                kept = self._commitments.get(text) or self.commit(str(self._clean(text)))
                self.facts[name] = refer(kept)
        if self._unkept:
            self._keep_texts()

    def commit(self, text: str) -> str:
        """Return the commitment of a text, which is kept with the row that is written next."""
        commitment = self._commitments.get(text)
        if commitment is None:
            ports = self.context.ports
            commitment, salted = ports.sharing.commit(text, ports.mint)
            self._commitments[text] = commitment
            self._unkept[commitment] = salted
        return commitment

    def _keep_texts(self) -> None:
        self.writing.keep(self._unkept)
        self._unkept = {}

    def next_number(self, noun: type[Noun]) -> int:
        """Return the number the next row of this noun takes."""
        return self.writing.last_number(noun) + 1

    def next_id(self, noun: type[Noun]) -> tuple[int, str]:
        """Return the number and the id of the next row of a noun, such as 12 and `demo-r12`."""
        number = self.writing.last_number(noun) + 1
        return number, f"{self.get(Project).prefix}-{noun.letter}{number}"

    def open_session(self) -> str:
        """Return the caller's session, opened on its first write; SessionEnded, Forbidden.

        With it is kept who stands behind the caller, if that is not known yet.
        """
        caller = self.context.caller
        actor = caller.actor
        session = self.find(Session, actor.session) if actor.session else None
        if session is None:
            self.keep_connection()
        if not actor.session:
            return ""
        if session is None:
            session = Session(
                project=self.context.project,
                id=actor.session,
                agent=actor.name,
                profile=actor.profile,
                client=caller.client,
                status="active",
                continues="",
                started_at=self.now,
                ended_at="",
                item="",
                details=Prose(""),
                purpose="connection",
                writer="" if caller.own_seat == actor.session else caller.own_seat,
                principal=standing(actor),
                capability=caller.capability,
            )
            if caller.own_seat != session.id:
                self._succeed_itself()
            self.put(session)
        # Asked once more for all others, since nearly every write is of this sort.
        elif session.capability != caller.capability or (
            actor.principal.id != session.principal if actor.principal else not caller.capability
        ):
            session = self.enter(session)
        if session.status != "active":
            session.refuse_ended()
            self.put(session.moved("active", self.now))  # it was paused
        return session.id

    def enter(self, session: Session) -> Session:
        """Return a session for the caller to write in; Forbidden for one of somebody else.

        It becomes his if he has the secret of another principal that had it: then he was started again.
        """
        caller = self.context.caller
        if not may_write(session, caller.actor, caller.capability):
            raise Forbidden(
                f"the session {session.id} is that of {session.agent}",
                hint=f"{Act.CONTINUE}, or {Act.TAKE_OVER}.",
                agent=session.agent,
            )
        # Who is not attested only gave another name, which is a label.
        is_label = caller.actor.kind != "agent" or caller.actor.principal is None
        if is_label or session.principal == standing(caller.actor):
            return session
        after = replace(session, principal=standing(caller.actor))
        self.keep_connection()
        self._succeed_itself()
        self.put(after)
        self.inherit(session, is_whole=True)
        return after

    def _succeed_itself(self) -> None:
        """Write down who the caller was before he was started again, in whatever session, ended or not."""
        caller = self.context.caller
        if caller.actor.principal is None or not caller.capability:
            return
        last = self.writing.select(
            Session, capability=caller.capability, order="started_at desc,id desc", limit=1
        )
        # Who has the last of them has done this when he first came.
        if last and last[0].principal != standing(caller.actor):
            for session in self.select(Session, capability=caller.capability):
                self.inherit(session, is_whole=True)

    def inherit(self, session: Session, *, is_whole: bool) -> None:
        """Write down that an agent has a session of somebody else, and with it his parts in work.

        is_whole: whether it is he, started again. What that costs does not grow with what he did.
        """
        actor, before = self.context.caller.actor, session.principal
        mine = standing(actor)
        if actor.kind != "agent" or before == mine:
            return
        self.add_facts(succeeds=before)
        if self.find(Succession, mine, session.id, before) is None:
            self.put(
                Succession(
                    project=self.context.project,
                    principal=mine,
                    session=session.id,
                    former=before,
                    is_whole=is_whole,
                )
            )
        for mark in self.select(Contribution, principal=before, how="loosened") if is_whole else ():
            if self.find(Contribution, mark.item, mine, "loosened") is None:
                self.put(replace(mark, principal=mine))

    def keep_connection(self) -> None:
        """Keep who stands behind the caller, if that is an agent's process that is not known yet."""
        caller = self.context.caller
        connection = caller.connection
        # What a person's command runs below may have agents below it too: that makes no agent of it.
        if connection is None or caller.actor.kind != "agent":
            return
        if self.find(Connection, connection.id) is None:
            self.put(replace(connection, project=self.context.project, opened_at=self.now))

    def append(self) -> None:
        """Append the entry of this change to the ledger; Forbidden if it is no act of its person."""
        if (confirmation := self.context.caller.confirmation) is not None:
            refuse_used(self.writing, confirmation, self.now)
            self.put(confirmation)
        head = self.writing.head()
        entry = Entry(
            project=self.writing.project,
            sequence=head.size,
            time=self.now,
            actor=self.context.caller.actor,
            action=self.action,
            subject=self.subject,
            facts=self.facts,
            rows=tuple(self.images),
            previous=head.leaf or GENESIS,
        )
        data = entry.to_bytes()
        if entry.actor.is_signed:
            refuse_unsigned(self.writing, data)
        leaf = leaf_hash(data)
        self.context.ports.sharing.leaf = leaf.hex()
        writer = entry.actor.principal
        if writer is not None and writer.strength != "person":
            # Before it lands: whoever looks at what has landed finds it here.
            self.context.ports.authored.log.append((writer.id, head.size, leaf))
        frontier, nodes = Frontier.from_bytes(head.frontier).extend((leaf,))
        self.writing.append(
            Append(
                sequence=head.size,
                previous=entry.previous,
                data=data,
                leaf=leaf,
                time=self.now,
                subject=self.subject,
                action=self.action,
                frontier=frontier.to_bytes(),
                nodes=tuple(nodes),
            )
        )

    def _log(
        self, kind: type[Noun], key: dict[str, Json], values: dict[str, Json] | None, *, whole: bool
    ) -> None:
        if values is not None:
            # A copy: the caller's columns go to the table too, which holds bare commitments.
            values = dict(values)
            for name in prose_columns(kind):
                if values.get(name):
                    values[name] = refer(values[name])
        self.images.append(RowImage(table=kind.table, key=key, values=values, whole=whole))

    def _place(self, noun: Noun) -> _Place:
        kind = type(noun)
        return kind.table, tuple(getattr(noun, name) for name in kind.key[1:])

    def masked(self, noun: N) -> N:
        """Return a row as it may be written; InvalidInput if a secret stands in its key."""
        held = masked_columns(type(noun))
        values: list[Any] = [getattr(noun, name) for name, _, _ in held]
        texts: list[str] = [one if isinstance(one, str) else "\0".join(one) for one in values]
        # One cheap look at all of them together is enough for most rows. An escape in JSON can hide what
        # the text says when it is read.
        hides = any(
            column.masking == "json" and "\\" in text
            for column, text in zip(held, texts, strict=True)
        )
        if not hides and is_plain("\0".join(texts), self.context.ports.secrets):
            return noun
        changes: dict[str, Any] = {}
        for (name, _, masking), value in zip(held, values, strict=True):
            clean = self._clean_json(value) if masking == "json" else self._clean(value)
            if clean != value:
                changes[name] = clean
        # Two keys that are masked would be one and the same row.
        if not changes.keys().isdisjoint(noun.key):
            raise InvalidInput(
                f"the name of this {type(noun).__name__.lower()} holds a secret",
                hint="Choose another name, and consider the secret as told to others.",
            )
        return replace(noun, **changes) if changes else noun

    def _clean_json(self, text: str) -> str:
        if not text or text == REDACTED:
            return text
        value = canonical.load(text)
        clean = self._clean(value)
        return text if clean == value else canonical.dump_any(clean)

    def _clean(self, value: Any) -> Any:
        return mask_json(value, self.context.ports.secrets)


def missing(noun: type[Noun], *key: Cell) -> NotFound:
    """Return the error for a row that is not there."""
    words = " ".join(str(part) for part in key)
    return NotFound(f"there is no {noun.__name__.lower()} {words!r} in this project")

"""What one verb does to the tables, on its way to becoming one ledger entry.

Rule 1: every mutation of every table happens on a `Change`. Rule 2: what it wrote stands in its entry as
row images, with each text by its commitment; what is derived is left out (see ledger/derived.py). Rule 3: secrets are
masked here, before a row, a text or a fact is made from them; a key that holds one is refused, because
two masked keys could not be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Final, cast

from counterpoint.core.ledger.derived import Origin, compact, compact_change, rules
from counterpoint.core.ledger.entry import GENESIS, Entry, RowImage, refer
from counterpoint.core.ledger.merkle import Frontier, leaf_hash
from counterpoint.core.model.identity import Authority, Connection, Contribution, Succession
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
from counterpoint.core.model.sessions import Claim, Session
from counterpoint.core.model.work import Ending, Item, Project
from counterpoint.core.operations.recording.confirming import (
    JOINT_ACTIONS,
    JOINT_TABLES,
    proposal_of,
    refuse_unjoined,
    refuse_unsigned,
    refuse_used,
)
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.store import Append, Filter, Patch, Salted, Writing
from counterpoint.core.rules.claims import principal_id_of
from counterpoint.core.rules.planning.ending import list_disturbed_items
from counterpoint.core.rules.secrets import is_plain, mask_json
from counterpoint.core.rules.sessions import is_news, may_write
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Forbidden, InvalidInput, NotFound, StaleVersion
from counterpoint.kernel.frozen import mutable

_SIMPLE: Final = frozenset({str, int, bool})
"""What most facts are: one cheap look tells that no secret is in any of them."""
_WATCHED: Final = frozenset((Item, Claim))
"""Rows by which a tree that is being closed may be disturbed."""


_Place = tuple[str, tuple[Cell, ...]]
"""A row: its table, and its key without the project."""


@mutable
class Change:
    """What one verb is doing to the tables, on its way to becoming one entry; `recording` makes it.

    now: its time. clock: what the clock says, by which what lasts is measured. subject: the item it is about. facts: what a reader of the log wants to know.
    """

    context: Context
    writing: Writing
    now: Timestamp
    clock: Timestamp
    action: str
    subject: str = ""
    facts: dict[str, Json] = field(default_factory=dict[str, Json])
    images: list[RowImage] = field(default_factory=list[RowImage])
    ending: str = ""
    """The top of the tree that this change closes, or a slice of it."""
    authority: Authority | None = field(init=False, default=None)
    """As what the caller acts, once that was asked."""
    _seen: dict[_Place, Noun] = field(init=False, default_factory=dict[_Place, Noun])
    _revised: dict[_Place, dict[str, Any]] = field(
        init=False, default_factory=dict[_Place, dict[str, Any]]
    )
    _commitments: dict[str, str] = field(init=False, default_factory=dict[str, str])
    """Of every text of this change, so that it has one in the whole entry."""
    _unkept: dict[str, Salted] = field(init=False, default_factory=dict[str, Salted])
    """The texts of the row that is being written, by their commitments."""

    def find(self, noun: type[N], *key: Cell) -> N | None:
        """Return the row with this key, or None; what was read or written here is not read again."""
        seen = self._seen.get((noun.table, key))
        if seen is not None:
            return cast("N", seen)
        row = self.writing.find(noun, *key)
        if row is not None:
            self._seen[noun.table, key] = row
        return row

    def get(self, noun: type[N], *key: Cell) -> N:
        """Return the row with this key; NotFound."""
        row = self.find(noun, *key)
        if row is None:
            raise missing(noun, *key)
        return row

    def select(self, noun: type[N], *, order: str = "", **equal: Filter) -> list[N]:
        """Return the rows whose columns equal the filters."""
        rows = self.writing.select(noun, order=order, after=(), limit=None, **equal)
        for row in rows:
            self._seen[self._place(row)] = row
        return rows

    def as_left(self, noun: N) -> N:
        """Return a row as this change has left it; as it is if nothing here has touched it."""
        row_key = self._place(noun)
        if row_key in self._revised and row_key not in self._seen:
            return replace(noun, **self._revised[row_key])
        return cast("N", self._seen.get(row_key, noun))

    def put(self, noun: Noun) -> None:
        """Write a row: only the changed columns if it was read here before."""
        kind = type(noun)
        clean = mask_row(noun, self.context.ports.secrets)
        key: dict[str, Any] = {name: getattr(noun, name) for name in kind.key[1:]}
        row_key = kind.table, tuple(key.values())
        before = self._seen.get(row_key)
        if kind in _WATCHED and self.context.ports.under_way.free != self.writing.project:
            for item in list_disturbed_items(before, clean):
                self.refuse_closing(item)
        elif kind is Ending:
            self.context.ports.under_way.write()
        self._seen[row_key] = clean
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
            derived = {name: getattr(before, name) for name, _ in rules(kind, whole=False)}
            image = compact_change(kind, derived, changed, origin)
            self._log(kind, key, image, whole=False)

    def revise(
        self,
        noun: type[Noun],
        columns: tuple[str, ...],
        anew: Callable[..., tuple[Cell, ...]],
        **equal: Filter,
    ) -> None:
        """Change columns that hold no texts of all rows whose columns equal the filters: a fifth of what `put` takes for each.

        anew: answers the columns of a row for its key and what they are. By which nothing is disturbed: places and states are put.
        """
        own, ruled = noun.key[1:], tuple(name for name, _ in rules(noun, whole=False))
        actor = self.context.caller.actor
        origin, patches = Origin(self.now, actor.name, actor.session), list[Patch]()
        for row in self.writing.cells(noun, (*own, *columns, *ruled), **equal):
            key, was = row[: len(own)], row[len(own) : len(own) + len(columns)]
            values = anew(*key, *was)
            changed = {
                name: value
                for name, old, value in zip(columns, was, values, strict=True)
                if value != old
            }
            row_key = noun.table, key
            if row_key in self._seen:
                self._seen[row_key] = replace(self._seen[row_key], **changed)
            else:
                self._revised.setdefault(row_key, {}).update(changed)
            derived = dict(zip(ruled, row[len(own) + len(columns) :], strict=True))
            image = compact_change(noun, derived, changed, origin)
            key_columns = dict(zip(own, key, strict=True))
            self.images.append(
                RowImage(table=noun.table, key=key_columns, values=image, whole=False)
            )
            patches.append(Patch(key, values))
        if patches:
            self.writing.change_each(noun, columns, patches)

    def refuse_closing(self, item: str) -> None:
        """Raise StaleVersion if an item is in a tree that is being closed, unless this change does so."""
        under_way = self.context.ports.under_way.all(self.writing) if item else ()
        tops = {ending.item for ending in under_way} - {self.ending}
        while tops and item and (ancestor := self.find(Item, item)) is not None:
            if item in tops:
                raise StaleVersion(
                    f"{item} is being closed with all below it",
                    hint="Repeat the call in a moment.",
                    closing=item,
                )
            item = ancestor.parent

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
            text = "\0".join(map(str, facts.values()))
            if is_plain(text, self.context.ports.secrets):
                self.facts.update(facts)
                return
        for name, value in facts.items():
            self.facts[name] = self._clean(value)

    def add_texts(self, **texts: str) -> None:
        """Add facts that people or agents worded: the entry has a reference in place of each."""
        for name, text in texts.items():
            if text:
                # What was kept in this change is clean.
                commitment = self._commitments.get(text) or self.commit(str(self._clean(text)))
                self.facts[name] = refer(commitment)
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

    def adopt(self, texts: Mapping[str, tuple[str, Salted]]) -> None:
        """Let texts have the commitments that they were given before the transaction; the next row keeps them."""
        for text, (commitment, salted) in texts.items():
            self._commitments[text] = commitment
            self._unkept[commitment] = salted

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
                principal=principal_id_of(actor),
                capability=caller.capability,
                active_at=self.now,
                entered=0 if caller.own_seat == actor.session else self.writing.head().size,
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
        elif session.purpose == "work" and is_news(session, self.now):
            self.put(replace(session, active_at=self.now))
        behind, principal = caller.connection, actor.principal
        if behind and principal and actor.kind == "agent" and behind.id != principal.id:
            self._keep_host(session.id, behind)
        return session.id

    def _keep_host(self, session: str, behind: Connection) -> None:
        """Keep through which process the bearer of a credential writes in a session: when that has ended, he is gone."""
        if self.find(Contribution, session, behind.id, "hosted") is None:
            project = self.context.project
            self.put(Contribution(project=project, item=session, principal=behind.id, how="hosted"))
            self.keep_connection()

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
        if is_label or session.principal == principal_id_of(caller.actor):
            return session
        after = replace(session, principal=principal_id_of(caller.actor), active_at=self.now)
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
        if last and last[0].principal != principal_id_of(caller.actor):
            for session in self.select(Session, capability=caller.capability):
                self.inherit(session, is_whole=True)

    def inherit(self, session: Session, *, is_whole: bool) -> None:
        """Write down that an agent has a session of somebody else, and with it his parts in work.

        is_whole: whether it is he, started again. What that costs does not grow with what he did.
        """
        actor, before = self.context.caller.actor, session.principal
        own_principal = principal_id_of(actor)
        if actor.kind != "agent" or before == own_principal:
            return
        self.add_facts(succeeds=before)
        if self.find(Succession, own_principal, session.id, before) is None:
            self.put(
                Succession(
                    project=self.context.project,
                    principal=own_principal,
                    session=session.id,
                    former=before,
                    is_whole=is_whole,
                )
            )
        for mark in self.select(Contribution, principal=before, how="loosened") if is_whole else ():
            if self.find(Contribution, mark.item, own_principal, "loosened") is None:
                self.put(replace(mark, principal=own_principal))

    def keep_connection(self) -> None:
        """Keep who stands behind the caller, if that is an agent's process that is not known yet."""
        caller = self.context.caller
        connection = caller.connection or caller.origin.unseen
        # What a person's command runs below may have agents below it too: that makes no agent of it.
        if connection is None or caller.actor.kind != "agent":
            return
        if self.find(Connection, connection.id) is None:
            self.put(replace(connection, project=self.context.project, opened_at=self.now))

    def append(self) -> None:
        """Append the entry of this change to the ledger; Forbidden if it is no act of its person."""
        caller = self.context.caller
        if (confirmation := caller.confirmation) is not None:
            refuse_used(self.writing, confirmation, self.now, caller.origin.doubt)
            self.put(confirmation)
            if proposal := proposal_of(confirmation):
                self.facts["proposal"] = proposal
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
        writer = entry.actor.writer
        if not writer:
            refuse_unsigned(self.writing, data)
        if self.action in JOINT_ACTIONS or any(
            image.table in JOINT_TABLES for image in self.images
        ):
            refuse_unjoined(self.writing, data)
        leaf = leaf_hash(data)
        ports = self.context.ports
        ports.sharing.leaf = ports.under_way.leaf = leaf.hex()
        if writer:
            # Before it lands: whoever looks at what has landed finds it here.
            ports.authored.log.append((writer, head.size, leaf))
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
        return mask_row(noun, self.context.ports.secrets)

    def _clean(self, value: Any) -> Any:
        return mask_json(value, self.context.ports.secrets)


def mask_row(noun: N, secrets: frozenset[str]) -> N:
    """Return a row as it may be written, without secrets; InvalidInput if one stands in its key."""
    text_columns = masked_columns(type(noun))
    values: list[Any] = [getattr(noun, name) for name, _, _ in text_columns]
    texts: list[str] = [cell if isinstance(cell, str) else "\0".join(cell) for cell in values]
    # One cheap look at all of them together is enough for most rows. An escape in JSON can hide what
    # the text says when it is read.
    joined_texts = "\0".join(texts)
    hides = "\\" in joined_texts and any(
        column.masking == "json" and "\\" in text
        for column, text in zip(text_columns, texts, strict=True)
    )
    if not hides and is_plain(joined_texts, secrets):
        return noun
    changes: dict[str, Any] = {}
    for (name, _, masking), value in zip(text_columns, values, strict=True):
        clean = _clean_json(value, secrets) if masking == "json" else mask_json(value, secrets)
        if clean != value:
            changes[name] = clean
    # Two keys that are masked would be one and the same row.
    if not changes.keys().isdisjoint(noun.key):
        raise InvalidInput(
            f"the name of this {type(noun).__name__.lower()} holds a secret",
            hint="Choose another name, and consider the secret as told to others.",
        )
    return replace(noun, **changes) if changes else noun


def _clean_json(text: str, secrets: frozenset[str]) -> str:
    if not text or text == REDACTED:
        return text
    value = canonical.load(text)
    clean = mask_json(value, secrets)
    return text if clean == value else canonical.dump_any(clean)


def missing(noun: type[Noun], *key: Cell) -> NotFound:
    """Return the error for a row that is not there."""
    words = " ".join(str(part) for part in key)
    return NotFound(f"there is no {noun.__name__.lower()} {words!r} in this project")

"""Sessions: what they hold, what they hand over, and what happened in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar, Literal

from counterpoint.core.model.lifecycles import CLOSED, SESSION
from counterpoint.core.model.rows import (
    Agent,
    Digest,
    Id,
    InSession,
    JsonText,
    Name,
    Noun,
    Number,
    Partial,
    Prose,
    Proses,
    Searched,
    Time,
    Touched,
    Word,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import TOLERANCE_MS, Timestamp, elapsed_ms
from counterpoint.kernel.errors import SessionEnded
from counterpoint.kernel.frozen import frozen

DEFAULT_LEASE_SECONDS = 1800
"""How long a claim holds if neither the caller nor the settings say otherwise."""
DEFAULT_GRACE_SECONDS = 60
"""How long others wait after the end of a connection, if the settings do not say otherwise."""


def credible_end(until: Timestamp, seconds: int, now: Timestamp) -> Timestamp:
    """Return when something ends that lasts so many seconds: by now if it is further away than it can be."""
    return now if elapsed_ms(now, until) > seconds * 1000 + TOLERANCE_MS else until


Purpose = Literal["connection", "work", "audit"]
"""What a session is for: the writes of a connection, work that others take up, or a sealed audit."""


@frozen
class Session(Noun):
    """What an agent writes in; `continues` names the session whose work it took up.

    item: the work that it is about, if it was opened for one. details: what it was given to begin
    with, a JSON object as text. purpose: `connection` until somebody opens it for more. writer: the
    connection that writes in it, by the session that it came with; empty for that session itself.
    principal: whom it belongs to, as `rules.claims.principal_id_of` gives it. capability: the SHA-256 of what
    only its holder has; empty without such a secret. active_at: when something came from it, or was written in it,
    to the minute. entered: the place in the ledger at which its writer opened it or took it up last; 0 for
    the session that a connection came with.
    """

    table: ClassVar[str] = "sessions"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    indexes: ClassVar[tuple[str, ...]] = ("agent", "item", "capability")

    id: Name
    agent: Agent
    profile: Name
    client: Name
    status: Word
    continues: Id
    started_at: Timestamp
    ended_at: Time
    item: Id
    details: JsonText
    purpose: Purpose
    writer: Id
    principal: Name
    capability: Digest
    active_at: Touched
    entered: int

    @property
    def seat(self) -> str:
        """The session with which the connection came that writes in it."""
        return self.writer or self.id

    @property
    def has_ended(self) -> bool:
        """Whether it accepts no more writes."""
        return SESSION.category(self.status) in CLOSED

    def moved(self, status: str, at: Timestamp) -> Session:
        """Return this session in another state; IllegalMove unless the table has the edge."""
        SESSION.check(self.status, status, self.id)
        ended = at if SESSION.category(status) in CLOSED else ""
        return replace(self, status=status, ended_at=ended, active_at=at)

    def refuse_ended(self, hint: str = "", **facts: Json) -> None:
        """Raise SessionEnded if it accepts no more writes."""
        if self.has_ended:
            own_facts: dict[str, Json] = {"session": self.id, "state": self.status}
            raise SessionEnded(
                f"session {self.id} is {self.status}", hint=hint, **own_facts, **facts
            )


@frozen
class Claim(Noun):
    """An item held by a session until the lease ends.

    seconds: how long the lease was given for, first and with every renewal. leased_until: by the clock, and not
    by the ledger, whose time may stand still. token: the fencing token; it rises with every claim of the item and never falls, so that a
        worker whose lease was taken over can be told from the one who holds it now.
    """

    table: ClassVar[str] = "claims"
    key: ClassVar[tuple[str, ...]] = ("project", "item")
    partial: ClassVar[Partial | None] = Partial(
        column="state", words=("live",), indexes=("session,state", "state,item")
    )

    item: Id
    token: int
    session: InSession
    agent: Agent
    state: Literal["live", "released"]
    claimed_at: Timestamp
    leased_until: Timestamp
    seconds: int

    @property
    def is_held(self) -> bool:
        """Whether nobody gave it back; its lease may have run out."""
        return self.state == "live"

    def is_live(self, now: Timestamp) -> bool:
        """Whether the lease still runs."""
        return self.state == "live" and now < self.leased_until and now < self.ends(now)

    def is_ahead(self, now: Timestamp) -> bool:
        """Whether a clock that was ahead has stamped it, so that it was not given yet."""
        return self.ends(now) != self.leased_until

    def ends(self, now: Timestamp) -> Timestamp:
        """Return when its lease ends: by now if a clock that was ahead had stamped it."""
        return credible_end(self.leased_until, self.seconds, now)

    def is_held_by(self, session: str) -> bool:
        """Whether it is that of a session, which did not give it back."""
        return self.is_held and self.session == session


@frozen
class Handoff(Noun):
    """What one session leaves for the next."""

    table: ClassVar[str] = "handoffs"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "h"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number", "session,number")
    searched: ClassVar[Searched | None] = Searched(body="summary", about="item")

    id: Id
    number: Number
    session: InSession
    agent: Agent
    action: Literal["pause", "end", "resume", "continue"]
    item: Id
    summary: Prose
    next_steps: Proses
    blockers: Proses
    context: Prose
    created_at: Timestamp


@frozen
class SessionOpening:
    """A session to open.

    id: the id that it shall have; empty for one of its own. is_own: whether the caller's connection
    becomes it, unless that was opened for something before. details: what it is given to begin with.
    facts: what the log tells of it.
    """

    purpose: Purpose
    id: str = ""
    is_own: bool = False
    item: str = ""
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])


@frozen
class SessionFilter:
    """Which sessions a list is of, the latest first; empty fields ask for all.

    details: values that its details must have.
    """

    purpose: str = ""
    item: str = ""
    status: str = ""
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])
    oldest_first: bool = False


@frozen
class SessionView:
    """A session with what it was given, and when something last came from it.

    idle_ms: how long ago that was, in milliseconds; 0 while it holds an item.
    """

    session: Session
    details: Mapping[str, Json]
    last_active_at: Timestamp
    idle_ms: int


@frozen
class HistoryEntry:
    """One entry of the ledger: who wrote in which session, what, and the rows it left behind.

    rows: (table, key, columns); the columns are None for a row that is gone.
    """

    sequence: int
    time: str
    session: str
    agent: str
    action: str
    subject: str
    rows: tuple[tuple[str, Mapping[str, Json], Mapping[str, Json] | None], ...]


@frozen
class Activity:
    """One thing that was done in a session.

    kind: of the record that it left; `action` for what left none. details: what stands beside the
    text of that record. record: its id.
    """

    sequence: int
    at: str
    kind: str
    message: str
    subject: str = ""
    path: str = ""
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])
    record: str = ""

    @property
    def type(self) -> str:
        """The word that was given to the record, or else its kind."""
        return str(self.details.get("type", self.kind))


@frozen
class SessionHistory:
    """What happened in a session up to an entry of the ledger.

    session: the columns of its row as they were. activities: everything, the first first.
    handoff: what it left last, by column; empty if it left nothing. final: what it said at its end.
    """

    sequence: int
    session_id: str
    session: Mapping[str, Json]
    details: Mapping[str, Json]
    activities: tuple[Activity, ...]
    handoff: Mapping[str, Json]
    final: str

    @property
    def log(self) -> tuple[Activity, ...]:
        """What it wrote down."""
        return tuple(
            activity for activity in self.activities if activity.kind not in {"action", "artifact"}
        )

    def of(self, kind: str) -> tuple[Activity, ...]:
        """Return the activities of one type."""
        return tuple(activity for activity in self.activities if activity.type == kind)

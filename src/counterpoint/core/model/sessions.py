"""Sessions and what they hold: claims with leases, and what they hand over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from counterpoint.core.model.lifecycles import SESSION
from counterpoint.core.model.rows import (
    Id,
    JsonText,
    Name,
    Noun,
    Prose,
    Proses,
    Searched,
    Time,
    Word,
)
from counterpoint.kernel.clock import Timestamp

DEFAULT_LEASE_SECONDS = 1800
"""How long a claim holds if neither the caller nor the settings say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Noun):
    """One agent's sitting; `continues` names the session whose work it took up.

    item: the work that it is about, if it was opened for one. details: what it was given to begin
        with, a JSON object as text.
    """

    table: ClassVar[str] = "sessions"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    indexes: ClassVar[tuple[str, ...]] = ("agent", "item")

    id: Name
    agent: Name
    profile: Name
    client: Name
    status: Word
    continues: Id
    started_at: Timestamp
    ended_at: Time
    item: Id
    details: JsonText

    @property
    def has_ended(self) -> bool:
        """Whether it accepts no more writes."""
        return SESSION.category(self.status) in {"done", "dropped"}

    def moved(self, status: str, at: Timestamp) -> Session:
        """Return this session in another state; IllegalMove unless the table has the edge."""
        SESSION.check(self.status, status, self.id)
        ended = SESSION.category(status) in {"done", "dropped"}
        return replace(self, status=status, ended_at=at if ended else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Noun):
    """An item held by a session until the lease ends.

    token: the fencing token; it rises with every claim of the item and never falls, so that a
        worker whose lease was taken over can be told from the one who holds it now.
    """

    table: ClassVar[str] = "claims"
    key: ClassVar[tuple[str, ...]] = ("project", "item")
    indexes: ClassVar[tuple[str, ...]] = ("session", "state,leased_until")

    item: Id
    token: int
    session: Id
    agent: Name
    state: Literal["live", "released"]
    claimed_at: Timestamp
    leased_until: Timestamp

    def is_live(self, now: Timestamp) -> bool:
        """Whether the lease still runs."""
        return self.state == "live" and now < self.leased_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff(Noun):
    """What one sitting leaves for the next."""

    table: ClassVar[str] = "handoffs"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "h"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number", "session,number")
    searched: ClassVar[Searched | None] = Searched(body="summary", about="item")

    id: Id
    number: int
    session: Id
    agent: Name
    action: Literal["pause", "end", "resume", "continue"]
    item: Id
    summary: Prose
    next_steps: Proses
    blockers: Proses
    context: Prose
    created_at: Timestamp

"""What is asked of sittings and answered: openings, lists, what happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from counterpoint.core.model.sessions import Handoff, Session
from counterpoint.kernel.canonical import Json

IDLE_HOURS = 24
"""How long nothing may come from a sitting before it counts as failed."""
STALE = "nothing came from it for a day"
"""Why a sitting that nobody ended has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A sitting to open. agent_type: what kind of agent sits in it. item: what it is about."""

    agent_type: str
    item: str = ""
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sittings a list is of; empty fields ask for all."""

    item: str = ""
    status: str = ""
    agent_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A sitting with what it was given and when something last came from it."""

    session: Session
    agent_type: str
    context: Mapping[str, Json]
    last_active_at: str
    is_stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenUp:
    """A sitting that goes on, or that follows another, and what the one before left for it."""

    session: Session
    handoff: Handoff | None
    context: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One thing that was done in a sitting.

    type: of a line of the log its own; `artifact`; for anything else `action`.
    """

    sequence: int
    at: str
    type: str
    message: str
    subject: str = ""
    path: str = ""
    content: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What happened in a sitting up to an entry of the ledger.

    session: the columns of its row as they were. deeds: everything, the first first.
    handoff: what it left last, by column; empty if it left nothing. final: what it said at its end.
    """

    sequence: int
    session_id: str
    session: Mapping[str, Json]
    agent_type: str
    context: Mapping[str, Json]
    deeds: tuple[Activity, ...]
    handoff: Mapping[str, Json]
    final: str

    @property
    def log(self) -> tuple[Activity, ...]:
        """What it wrote down."""
        return tuple(one for one in self.deeds if one.type not in {"action", "artifact"})

    def of(self, kind: str) -> tuple[Activity, ...]:
        """Return the deeds of one type."""
        return tuple(one for one in self.deeds if one.type == kind)

"""Who did something: an agent, a human, or the system itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ActorKind = Literal["agent", "human", "system"]


Strength = Literal["person", "credential", "connection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is attested to stand behind an actor, and by what; the strongest is a person's own key."""

    strength: Strength
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who an entry of the ledger speaks of.

    name: what the caller is known by; never empty.
    profile: the role it plays, such as `judge`; empty without one.
    session: the id of its session; empty outside a session.
    principal: who stands behind it; None: nothing attests who that is.
    """

    kind: ActorKind
    name: str
    profile: str = ""
    session: str = ""
    principal: Principal | None = None

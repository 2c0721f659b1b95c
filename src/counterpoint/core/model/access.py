"""Who calls: actors, who stands behind them, and tokens for other machines.

A token is shown once, when it is made: `cpt_` and 64 hexadecimal digits, 256 random bits. The ledger
and the tables hold only its SHA-256. One kind is for callers over the network, the other for agents on this
machine: whoever launches one gives it to that one, in its environment.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Final, Literal

from counterpoint.core.model.rows import Digest, Id, InSession, Name, Names, Noun, Time
from counterpoint.kernel.clock import Timestamp, elapsed_ms
from counterpoint.kernel.frozen import frozen

ActorKind = Literal["agent", "human", "system"]

PROGRAM: Final = "program"
"""The writer for whom nobody is attested: what the program does by itself, and for whom nothing tells."""


Strength = Literal["person", "credential", "connection"]


Independence = Literal["self", "declared", "attested", "person"]
"""How surely a judge is somebody else: a person judged own work, the names differ, both principals are attested, a person's key."""


_SHOWN: Final = 6


@frozen
class Principal:
    """Who is attested to stand behind an actor, and by what; the strongest is a person's own key."""

    strength: Strength
    id: str

    @property
    def short(self) -> str:
        """Its strength, and as much of its id as tells one from another in a list."""
        mark = max(self.id.find("_"), self.id.find(":")) + 1
        return f"{self.strength} {self.id[: mark + _SHOWN]}"


@frozen
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

    @property
    def is_signed(self) -> bool:
        """Whether this is a person whose key signs what he does."""
        return self.principal is not None and self.principal.strength == "person"

    @property
    def writer(self) -> str:
        """For whom the program signs what this actor writes; empty for a person, who signs it himself."""
        principal = self.principal
        if principal is None:
            return PROGRAM
        return "" if principal.strength == "person" else principal.id


Scope = Literal["read", "write", "run", "maintain"]

SCOPES: tuple[Scope, ...] = ("read", "write", "run", "maintain")
"""What a token may do, the lesser first; each includes those before it, but for `run`, which only itself gives."""
RUN: Final = "run"
"""The scope to have commands run that the project does not list."""
MAINTAIN: Final = "maintain"
"""The scope of a credential that may loosen what others work on."""
WORKS: tuple[Scope, ...] = ("read", "write")
"""What a token may do unless more or less is asked for: not loosen what others work on."""

TokenKind = Literal["caller", "agent"]
"""Who brings a token: a caller over the network, or an agent on this machine."""

LONGEST_SECONDS: Final = 10 * 366 * 86_400
"""How long a token may last."""
NOTICE_SECONDS: Final = 7 * 86_400
"""How long before its end, and after it, a token is told of."""
SECRET_PREFIX = "cpt_"  # noqa: S105 -- how every token begins, and no token itself


@frozen
class Token(Noun):
    """One key to the project, for a caller over the network or for an agent.

    surfaces, tools: those that it opens; none named: all. addresses: networks a caller may come
    from; none named: all. calls_a_minute, calls_a_month: 0 for no limit. session: that of
    calls that name none. expires_at, revoked_at: empty while there is none. tool_limits: how often
    in a minute it may call a tool, each as `tool=number`. maker: the principal that made it.
    """

    table: ClassVar[str] = "tokens"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    indexes: ClassVar[tuple[str, ...]] = ("name",)
    unique: ClassVar[tuple[str, ...]] = ("sha256",)

    id: Id
    name: Name
    sha256: Digest
    surfaces: Names
    scopes: Names
    tools: Names
    addresses: Names
    calls_a_minute: int
    session: InSession
    created_at: Timestamp
    expires_at: Time
    revoked_at: Time
    calls_a_month: int = 0
    tool_limits: Names = ()
    kind: TokenKind = "caller"
    maker: Id = ""

    def is_ending(self, now: Timestamp) -> bool:
        """Whether it was not revoked, and ends within a week or has ended within the last."""
        if self.revoked_at or not self.expires_at:
            return False
        return abs(elapsed_ms(now, Timestamp(self.expires_at))) < NOTICE_SECONDS * 1000


@frozen
class TokenRequest:
    """What a token to be made shall allow."""

    name: str
    surfaces: tuple[str, ...] = ()
    scopes: tuple[str, ...] = WORKS
    tools: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    calls_a_minute: int = 0
    lasts_seconds: int = 0
    calls_a_month: int = 0
    tool_limits: tuple[str, ...] = ()
    kind: TokenKind = "caller"


@frozen
class DraftToken:
    """The id and the secret of a token that is still to be made, so that a person can sign which."""

    id: str
    secret: str = field(repr=False)


@frozen
class Issued:
    """A token that was just made, and its secret, which nobody can read again."""

    token: Token
    secret: str

    def __repr__(self) -> str:
        """Say which token it is and keep the secret out of every log."""
        return f"Issued(token={self.token.id!r})"


@frozen
class Bearer:
    """Who brings a key over the network.

    name: what the key is called. capability: the SHA-256 of what only this connection has, or of the key
    itself. session: that of the key, where it has one. principal: who is attested by it. spare_name: of whoever has
    no token here, for when one is called as he is.
    """

    name: str
    capability: str
    session: str = ""
    principal: Principal | None = None
    spare_name: str = ""


@frozen
class CallIdentity:
    """As whom, and in which session, a call without a connection of its own is heard.

    seat: the session with which the caller's connection began.
    """

    agent: str
    session: str
    seat: str = ""


@frozen
class Usage:
    """How many calls of a calendar month (UTC) are used, and when the next month begins.

    resets_in: the seconds until then. granted: how many were just taken for the caller.
    """

    month: str
    used: int
    resets_at: Timestamp
    resets_in: int
    granted: int = 0

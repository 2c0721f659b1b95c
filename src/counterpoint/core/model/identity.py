"""Who is behind a connection or a key: processes, and people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Final, Literal, NamedTuple

from counterpoint.core.model.access import ActorKind, Principal
from counterpoint.core.model.presence import ProcessMark
from counterpoint.core.model.rows import (
    Agent,
    Digest,
    Id,
    JsonText,
    Name,
    Noun,
    Partial,
    Time,
    Word,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen


@frozen
class Process:
    """One process as the kernel tells of it.

    parent: number of the process that has it now: the one that started it, or after the end of that
        one whoever takes up orphans; 0 if there is none, or none that can be seen from here.
    session: number of the process that leads its session (setsid(2)); 0 if it cannot be told.
    has_terminal: whether a terminal controls that session.
    started: ticks since the boot (Linux), microseconds since 1970 (macOS).
    executable: path of the program, or the name alone where the kernel does not show where it lies, as
        for another user's.
    script: what an interpreter runs, by its file name without an ending; empty for other programs.
    unit: the control group that it is in, if its user can move no process there; else empty.
    """

    pid: int
    parent: int
    uid: int
    session: int
    has_terminal: bool
    started: int
    executable: str
    script: str = ""
    unit: str = ""

    @property
    def name(self) -> str:
        """The file name of the program."""
        return self.executable.rpartition("/")[2]


class Peer(NamedTuple):
    """Who is at the other end of a connection.

    lineage: its process and the ancestors of that, the nearest first; none if the kernel does not say.
    boot: what tells this boot of the machine from all others.
    namespace: in which the numbers of processes are meant; empty where there is only one.
    is_foreign: whether it lives in another one than whoever looks. is_covered: whether something is mounted over what the kernel
        says of it, or it lives in another user or mount namespace than those above it. is_served: whether a server of the ledger has
        started it.
    """

    lineage: tuple[Process, ...]
    boot: str
    namespace: str = ""
    is_foreign: bool = False
    is_covered: bool = False
    is_served: bool = False


COVERED: Final = "covered"
"""The boot of whoever has something mounted over what tells it: it may be any."""

Doubt = Literal["unseen", "foreign", "covered", "cut", "orphan", "served"]
"""Why nobody is attested: the kernel shows no process; it lives in a namespace of its own; what it
sees may be its own making; those above it cannot be
seen to the end; whoever had started it is gone; a server has started it, for one of its callers."""


@frozen
class Connection(Noun):
    """The process of an agent that was seen to connect: a principal.

    agent, client: what it called itself when it was first seen; a label. pid, started, boot, namespace: which
    process it is. held_since: when the outermost in its line began that what takes up orphans has as a child, so
    that whoever was there before may have left it; 0 if there is none. unit: the control group of both, if nobody
    of the account can go there from another; else empty. What stands for all whose process was not seen, over HTTP in
    one boot, has the namespace `http`, and no process. ancestry: a JSON array of `{"pid",
    "started", "executable", "terminal"}`, as they were when it was first seen, the nearest first; `terminal`:
    whether it is the shell of one, or an editor that shows it.
    """

    table: ClassVar[str] = "connections"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    indexes: ClassVar[tuple[str, ...]] = ("boot",)

    id: Id
    agent: Agent
    client: Name
    uid: int
    pid: int
    started: int
    boot: Id
    namespace: Id
    executable: Name
    held_since: int
    unit: Name
    ancestry: JsonText
    opened_at: Timestamp

    @property
    def mark(self) -> ProcessMark:
        """What tells its process from all others."""
        return ProcessMark(
            uid=self.uid,
            pid=self.pid,
            started=self.started,
            boot=self.boot,
            namespace=self.namespace,
        )


Part = Literal["worked", "loosened", "hosted"]
"""How somebody was part of the work on an item."""


@frozen
class Contribution(Noun):
    """A principal's part in an item, or in something below it; it stays when the claim goes to another.

    item: empty for the whole project, of which somebody took gates away. principal: as
    `rules.claims.principal_id_of` gives it. how: `worked` for whoever claimed, handed in or
    moved it, or anything below it; `loosened` for whoever took a gate away before that: of this very item;
    `hosted` for the process through which the bearer of a credential worked; of that the item may be a session, in which
    he wrote through it.
    """

    table: ClassVar[str] = "contributions"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "principal", "how")
    partial: ClassVar[Partial | None] = Partial(
        column="how", words=("loosened",), indexes=("principal,item",)
    )

    item: Id
    principal: Name
    how: Part


@frozen
class Succession(Noun):
    """A principal that has a session which was another's: what the other did counts as its own.

    is_whole: whether it is the other one, started again: then all of it does; else what was done in that
    session, and what holds it.
    """

    table: ClassVar[str] = "successions"
    key: ClassVar[tuple[str, ...]] = ("project", "principal", "session", "former")

    principal: Name
    session: Name
    former: Name
    is_whole: bool


@frozen
class Origin:
    """Which process of which machine a caller comes from, as far as the kernel tells.

    boot: what tells this boot of the machine from all others. process: what attests him, also of one who
    signs; None without. doubt: why nothing does. unseen: what is kept of him when he writes, if he calls over HTTP
        from this machine, where the kernel names nobody.
    """

    boot: str = ""
    process: Connection | None = None
    doubt: Doubt | None = None
    unseen: Connection | None = None


Authority = Literal["signed", "program", "person", "maintainer", "agent", "nobody"]
"""As what somebody acts: a person whose key signs this act; the product of its own accord; whoever sits at the
command line and can be no agent that is known; a credential with the scope `maintain`; an agent, or who may be
one; what a server has started for one of its callers."""


@frozen
class Attested:
    """Who stands behind a connection, and what is to be kept of it if that is not known yet.

    principal: None: nothing attests anybody. connection: the process, also behind a credential. name, scopes: those
    of the credential, if it is one. vouched_by: the key of the person who signed that credential; empty if nobody did.
    """

    principal: Principal | None
    connection: Connection | None = None
    name: str = ""
    scopes: frozenset[str] = frozenset()
    origin: Origin = field(default_factory=Origin)
    vouched_by: str = ""


BY_EPOCH: Final = "epoch "
"""What stands before its number where an epoch let a key in."""
KeyStorage = Literal["passphrase", "ssh", "agent", "hardware"]
"""Where the private half of a person's key is, and so what unlocks it."""


@frozen
class Key(Noun):
    """The public key of a person, whose private half stands outside of the repository.

    id: its fingerprint, as `ssh-keygen -l` says it. owner: whose it is; a label. public_key: the sort and the base64 of
    OpenSSH. enrolled_by, revoked_by: the keys that signed it; the first key of a ledger is enrolled by itself, and one
    that was recovered by `epoch N`.
    """

    table: ClassVar[str] = "keys"
    key: ClassVar[tuple[str, ...]] = ("project", "id")

    id: Id
    owner: Name
    public_key: Digest
    storage: Word
    enrolled_by: Id
    enrolled_at: Timestamp
    revoked_by: Id
    revoked_at: Time

    @property
    def is_in_force(self) -> bool:
        """Whether it may sign what comes now."""
        return not self.revoked_at

    @property
    def recovered_in(self) -> int:
        """The epoch that let it in, which nobody else confirmed; 0: a key that was in force, or it was the first."""
        number = self.enrolled_by.removeprefix(BY_EPOCH)
        return int(number) if number != self.enrolled_by else 0


@frozen
class Confirmation(Noun):
    """A person's signature over one act, in the entry of that act.

    id: the nonce of the statement. statement, signature: as core/ledger/people says. reason: why, with the salt of its
    commitment; may be taken away.
    """

    table: ClassVar[str] = "confirmations"
    key: ClassVar[tuple[str, ...]] = ("project", "id")

    id: Id
    signed_by: Id
    statement: Digest
    signature: Digest
    reason: JsonText


@frozen
class ProposedAct:
    """What a person is about to decide: action, subject and facts of the entry that will say so.

    shown: facts in words that a person knows, by their names; they are shown before he signs, and not signed.
    """

    action: str
    subject: str = ""
    decision: Mapping[str, Json] = field(default_factory=dict[str, Json])
    shown: Mapping[str, str] = field(default_factory=dict[str, str])


@frozen
class Identity:
    """Who a connection speaks for: bound once, when it starts."""

    kind: ActorKind
    name: str
    profile: str = ""
    session: str = ""
    client: str = ""
    item: str = ""
    attested: Attested | None = None
    confirmation: Confirmation | None = None
    capability: str = ""
    seat: str = ""
    is_shared: bool = False

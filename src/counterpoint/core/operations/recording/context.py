"""The context a call works at: the caller, and everything it may ask outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from counterpoint.core.model.access import Actor
from counterpoint.core.model.identity import Confirmation, Connection, Origin
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.sessions import DEFAULT_GRACE_SECONDS, DEFAULT_LEASE_SECONDS
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.operations.recording.caches import (
    Authored,
    CommitmentCache,
    LastReads,
    UnderWay,
)
from counterpoint.core.operations.recording.leases import Leases
from counterpoint.core.ports.evidence import Evidence
from counterpoint.core.ports.host import Host, OnlyHost
from counterpoint.core.ports.models import (
    Fetching,
    Models,
    NoFetching,
    NoModels,
    NoSearching,
    OpenEmbedder,
    OpenEmbeddings,
    Searching,
    no_embedder,
    no_embeddings,
)
from counterpoint.core.ports.signer import EverythingTrusted, Signer, TrustedHere
from counterpoint.core.ports.store import Anchors, Library, Reading, Store, Writing
from counterpoint.core.ports.witnesses import (
    Cosigned,
    Trailers,
    Witness,
    no_trailers,
    none_cosigned,
)
from counterpoint.kernel.clock import Clock, Timestamp
from counterpoint.kernel.frozen import frozen, mutable
from counterpoint.kernel.ids import Mint

V = TypeVar("V")


class OpenUnit(Protocol):
    """The transaction a call may have open; `recording` makes and ends it."""

    writing: Writing | None


@frozen
class Caller:
    """Who is calling: bound when an agent's connection starts.

    actor: with the session every write belongs to; without one for people at the command line.
    connection: what is to be kept of who stands behind the actor, if that is a connection.
    confirmation: what a person signed of the one act that this caller may do as that person.
    capability: the SHA-256 of what only this connection has; it makes what it opens its own.
    seat: the session that the connection came with; empty: that of the actor. is_shared: whether others whom nothing
        tells from this caller write in that session too.
    item: the item the connection was started for, if any.
    root: the working tree evidence is measured in; may be a linked worktree.
    home: the folder that working trees are named from, the same for every caller; None: the root.
    scopes: what the caller's credential allows beyond working, such as `maintain`.
    vouched_by: the key of the person who signed that credential; empty if nobody did.
    origin: which process the caller is, whatever it brings.
    """

    actor: Actor
    root: Path
    home: Path | None = None
    client: str = ""
    item: str = ""
    connection: Connection | None = None
    scopes: frozenset[str] = frozenset()
    confirmation: Confirmation | None = None
    capability: str = ""
    seat: str = ""
    is_shared: bool = False
    vouched_by: str = ""
    origin: Origin = field(default_factory=Origin)

    @property
    def own_seat(self) -> str:
        """The session that the connection came with."""
        return self.seat or self.actor.session

    @property
    def main_tree(self) -> Path:
        """The project's own tree, which outlives those that were opened for one item."""
        return self.home or self.root


@frozen
class Ports:
    """What the core was given at start: one of each port, for one project.

    scratch: makes an empty store of some nouns that passes away, for replaying the ledger into.
    may_sign: whether a command may have the present end of the ledger signed before it proves anything.
    find_secrets: answers the values that are masked wherever they turn up; asked by the first writing.
    lease_seconds: how long a claim holds when the caller does not say.
    grace_seconds: how long others wait for what somebody left whose connection has ended.
    reads_global: whether roles are given what they remembered as global in other projects.
    host: the process that runs the calls.
    witnesses: answers who keeps heads of the ledger elsewhere; asked when somebody compares or tells.
    trailers: answers the heads that commits have. cosigned: those that are kept here with a cosignature.
    checking: answers what the project says of commands; None: any may be run. embedder: answers the model that texts are found
        by, beside their words. embeddings: answers who is asked for vectors, if the project wants a model of a provider.
    sharing: the texts that were kept last. under_way: the trees that are being closed. last_reads: when each connection looked last. leases: when each has to renew.
    authored: what this process has appended, until its writers' signatures are there.
    connected: answers which agents are connected to the ledger now, or were to its server, whatever they have written;
        asked when somebody at the command line decides.
    extras: answers what only the verbs of a dialect ask for, each by its class; asked when they do.
    models, searching, fetching: answer who is asked for models, for searches on the web and for its pages; asked when somebody is.
    remembered: what such verbs know of this database from one call to the next, each by its class.
    trusted: what this account has trusted of the ledger.
    """

    store: Store
    evidence: Evidence
    signer: Signer
    library: Library
    anchors: Anchors
    scratch: Callable[[tuple[type[Noun], ...]], Store]
    clock: Clock
    mint: Mint
    project: str
    find_secrets: Callable[[], frozenset[str]] = frozenset
    may_sign: bool = True
    lease_seconds: int = DEFAULT_LEASE_SECONDS
    grace_seconds: int = DEFAULT_GRACE_SECONDS
    reads_global: bool = False
    host: Host = field(default_factory=OnlyHost)
    witnesses: Callable[[], tuple[Witness, ...]] = tuple[Witness, ...]
    checking: Callable[[], Checking] | None = None
    trailers: Trailers = no_trailers
    cosigned: Cosigned = none_cosigned
    embedder: OpenEmbedder = no_embedder
    embeddings: OpenEmbeddings = no_embeddings
    sharing: CommitmentCache = field(default_factory=CommitmentCache)
    under_way: UnderWay = field(default_factory=UnderWay)
    authored: Authored = field(default_factory=Authored)
    last_reads: LastReads = field(default_factory=LastReads)
    leases: Leases = field(default_factory=Leases)
    connected: Callable[[], Collection[Connection]] = tuple[Connection, ...]
    extras: Callable[[], Mapping[type[Any], Any]] = dict[type[Any], Any]
    models: Callable[[], Models] = NoModels
    searching: Callable[[], Searching] = NoSearching
    fetching: Callable[[], Fetching] = NoFetching
    remembered: dict[type[Any], Any] = field(default_factory=dict[type[Any], Any])
    trusted: TrustedHere = field(default_factory=EverythingTrusted)

    @cached_property
    def secrets(self) -> frozenset[str]:
        """The values that are masked wherever they turn up, as they were at the first writing."""
        return self.find_secrets()

    def get(self, kind: type[V]) -> V:
        """Return what the verbs of one dialect ask of their surroundings, by its class."""
        return self.extras()[kind]

    def remember(self, kind: type[V]) -> V:
        """Return what the verbs of one dialect know of this database, by its class; made when it is first asked for."""
        stored = self.remembered.get(kind)
        # Several threads may make one; the first that is kept is the one for all.
        return self.remembered.setdefault(kind, kind()) if stored is None else stored


@mutable
class Context:
    """One call's place: made for the call, used by one thread, then thrown away.

    conditions: asked in the first view of the call and at the beginning of each transaction; one that raises ends
    it. key: the idempotency
    key that the call came with; empty without one.
    """

    ports: Ports
    caller: Caller
    unit: OpenUnit | None = field(default=None)
    conditions: tuple[Callable[[Reading], None], ...] = ()
    key: str = ""
    looked: Timestamp | None = field(default=None)
    """When its connection looked last before this call, as far as that is known."""
    is_asked: bool = field(default=False)
    """Whether the conditions were asked in a view or a transaction of this call."""
    _has_looked: bool = field(default=False)
    _view: Reading | None = field(default=None)
    """The view of a block that sees one moment."""

    @property
    def project(self) -> str:
        """The project everything here is of."""
        return self.ports.project

    def in_session(self, session: str, *, item: str = "") -> Context:
        """Return the context of the same call as its caller writes in another session.

        item: what the session is about; empty for what the caller's connection is about.
        """
        caller = self.caller
        changes = {"actor": replace(caller.actor, session=session), "seat": caller.own_seat}
        return replace(self, caller=replace(caller, **changes, item=item or caller.item))

    @contextmanager
    def reading(self) -> Generator[Reading]:
        """Open a view: of the open transaction or the moment that this call has, else of the store."""
        if self.unit is not None and self.unit.writing is not None:
            yield self.unit.writing
        elif self._view is not None:
            yield self._view
        else:
            if not self._has_looked and self.caller.own_seat:
                self._has_looked = True
                self.looked = self.ports.last_reads.look(
                    self.caller.own_seat, self.ports.clock.now()
                )
            with self.ports.store.reading(self.project) as view:
                if self.conditions and not self.is_asked:
                    self.is_asked = True
                    for ask in self.conditions:
                        ask(view)
                yield view

    @contextmanager
    def one_moment(self) -> Generator[None]:
        """Answer all reading of a block, which writes nothing, from one view; what is asked again is remembered."""
        with self.reading() as view:
            self._view = view
            try:
                yield
            finally:
                self._view = None


class Verbs:
    """A group of verbs, which work at the context of one call."""

    def __init__(self, context: Context) -> None:
        """Work for one caller."""
        self._context = context

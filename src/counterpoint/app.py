"""The one place where parts are joined: settings, store, evidence, keys, core."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from counterpoint.core.coordinator import Core
from counterpoint.core.model import lifecycles
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.identity import Attested, Confirmation, Identity, Peer
from counterpoint.core.model.trust.heads import WitnessedHead
from counterpoint.core.model.work import Project
from counterpoint.core.operations.recording.caches import Authored
from counterpoint.core.operations.recording.context import Caller, Ports
from counterpoint.core.ports.circuits import Breaker
from counterpoint.core.ports.evidence import Evidence
from counterpoint.core.ports.signer import EverythingTrusted, Signer
from counterpoint.core.ports.store import Reading, Store
from counterpoint.core.ports.witnesses import Witness
from counterpoint.core.rules import wording
from counterpoint.core.rules.identity import agent_behind
from counterpoint.dialects.nouns import EVERY as NOUNS
from counterpoint.evidence.directories import FileAnchors, TemplateDirectory
from counterpoint.evidence.environment import secret_values
from counterpoint.evidence.git.opened import OpenTrees
from counterpoint.evidence.host import ProcessHost
from counterpoint.evidence.opening import open_evidence
from counterpoint.evidence.places import (
    Places,
    check_state,
    chosen_tree,
    find_places,
    open_folder,
    slug,
)
from counterpoint.evidence.processes import ConnectedAgents, peer
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.evidence.trust.connected import connected_agents
from counterpoint.evidence.trust.known import Past, TrustedPlace, open_past, open_trusted
from counterpoint.evidence.trust.opening import cursor_secret, open_signer, own_places
from counterpoint.evidence.witnesses.repository import known_heads
from counterpoint.kernel.client_session import find_credential
from counterpoint.kernel.clock import Clock, SystemClock
from counterpoint.kernel.errors import Conflict, CounterpointError, NotFound
from counterpoint.kernel.frozen import mutable
from counterpoint.kernel.ids import RandomMint
from counterpoint.kernel.places import (
    DATABASE,
    FOLDER,
    find_database,
    find_prefix,
    find_service_address,
    hint_in_bare,
    is_home_or_above,
)
from counterpoint.kernel.visible import checked_name, label
from counterpoint.settings import HOSTED, Settings, is_address, load_settings, masked
from counterpoint.storage import drivers
from counterpoint.storage.breaker import GuardedStore
from counterpoint.storage.readonly import writable
from counterpoint.storage.sqlite.store import MEMORY, fresh_file, open_scratch, open_sqlite

if TYPE_CHECKING:
    from counterpoint.core.operations.projects import Projects
    from counterpoint.core.ports.reads import ReadLog
    from counterpoint.evidence.git.roots import Sighting
    from counterpoint.evidence.reads import FileReadLogs
    from counterpoint.providers.outside import Outside

_NOBODY: Final = Attested(principal=None)
_NAME_LENGTH = 16
_PASSING = "memory"


@mutable
class App:
    """The product in one folder: opened lazily, closed once.

    breaker: counts the faults of the database; only guarded callers ask it. trees: the working trees that were looked at. evidence: what measures and runs; None: this machine.
    connected: the agents that were seen to connect. authored: what this process has appended, for each project. remembered: as in `Ports`.
    serving: the variables that git and commands get theirs of: those of the server; None: the same as `environ`.
    hiding: the variables whose secrets are masked wherever they are written; None: the same as `environ`.
    is_open: whether any command may be run, whatever the project says: for a program that embeds this one. begins_anew: whether a person has said that what was in this place is gone.
    begins_at_home: whether a ledger is asked for here, also in the user's home folder or above it. is_from_anywhere: whether this may be
    the repository of another project. records_reads: whether what callers read is recorded where the project
    asks for it: not what shows or switches the record itself. only_looks: whether nothing
    is written that nobody asked for: what is looked at may be a copy. remarks: what whoever opened the project has to know.
    """

    settings: Settings
    places: Places
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    clock: Clock = field(default_factory=SystemClock)
    breaker: Breaker = field(default_factory=Breaker, repr=False)
    trees: OpenTrees = field(default_factory=OpenTrees, repr=False)
    evidence: Evidence | None = field(default=None, repr=False)
    connected: ConnectedAgents = field(default_factory=ConnectedAgents, repr=False)
    authored: dict[str, Authored] = field(default_factory=dict[str, Authored], repr=False)
    remembered: dict[type[Any], Any] = field(default_factory=dict[type[Any], Any], repr=False)
    serving: Mapping[str, str] | None = field(default=None, repr=False)
    hiding: Mapping[str, str] | None = field(default=None, repr=False)
    is_open: bool = False
    begins_anew: bool = False
    begins_at_home: bool = False
    is_from_anywhere: bool = False
    records_reads: bool = True
    only_looks: bool = False
    remarks: list[str] = field(default_factory=list[str], repr=False)
    _follows_ledger: bool = field(init=False, default=False, repr=False)
    """Whether the ledger was asked for its record of reads, and keeps none."""

    @property
    def database(self) -> Path:
        """Where the database lies, or will; for one on a server or in memory the name of its files."""
        if self.is_remote:
            name = sha256(self.place.encode()).hexdigest()[:_NAME_LENGTH]
            return self.places.folder / f"postgresql-{name}"
        if self.settings.db == MEMORY:
            return self.places.folder / _PASSING
        if self.settings.db:
            return Path(find_database("", self.settings.db))
        return self.places.folder / DATABASE

    @property
    def credential(self) -> str:
        """The secret that whoever launched this agent gave to it; empty without one."""
        return find_credential(self.environ)

    @cached_property
    def is_remote(self) -> bool:
        """Whether the database is on a server, so that many machines can share it."""
        return is_address(self.settings.db)

    @property
    def place(self) -> str:
        """Where the database is, as it can be shown: without a password."""
        return masked(self.settings.db) if self.is_remote else str(self.database)

    @property
    def folder(self) -> Path:
        """The folder of the database and its keys; of a database on a server the project's own."""
        return self.database.parent

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints: those of a server's database lie apart."""
        kept = self.folder / "checkpoints"
        return kept / self.database.name if self.is_remote else kept

    @cached_property
    def project(self) -> str:
        """The id of the project: as set, or of the item that was set, or of the only one, or the folder's.

        So a repository that was renamed or moved goes on with the project it had. A database on a
        server may be that of many repositories: there only the first and the last are tried.
        """
        if self.settings.project:
            return self.settings.project
        named = wording.parse(self.settings.item) if self.settings.item else None
        if named is not None and self.exists:
            owner = (one.project for one in self.store.projects() if one.prefix == named[0])
            found = next(owner, None)
            if found is not None:
                return found
        is_mine = self.exists and not self.is_remote
        known = [project.project for project in self.store.projects()] if is_mine else []
        if len(known) == 1 and self._may_have(known[0]):
            return known[0]
        return self._project_of_folder()

    def _may_have(self, project: str) -> bool:
        """Return whether a project is not known to be that of other repositories than this."""
        if not self._is_shared:
            return True
        roots = self._remembered_roots(project)
        return not roots or not self._root_commits or self._comes_from(roots)

    def _project_of_folder(self) -> str:
        """Return the id of the project of the folder's name, or of the one that remembers this repository under another.

        The latter goes first: a folder can have been moved. Before names had letters of every script other folders had the same.
        """
        from counterpoint.kernel.naming import project_name_of

        name = project_name_of(self.places.home.name)
        if not self._is_shared or not self.exists:
            return name
        roots_by_project = {
            one.project: self._remembered_roots(one.project) for one in self.store.projects()
        }
        is_seen = bool(self._root_commits)
        mine = {
            project
            for project, roots in roots_by_project.items()
            if is_seen and roots and self._comes_from(roots)
        }
        if name in mine:
            return name
        if len(mine) == 1:
            return mine.pop()
        former = slug(self.places.home.name)
        is_left = former in roots_by_project and not (is_seen and roots_by_project[former])
        return former if name not in roots_by_project and is_left else name

    def _remembered_roots(self, project: str) -> frozenset[str]:
        from counterpoint.core.operations.projects import root_commits_of

        with self.store.reading(project) as view:
            return frozenset(root_commits_of(view))

    @property
    def _is_shared(self) -> bool:
        """Whether the ledger can be that of other repositories: it lies elsewhere than in this one's own folder."""
        return (
            self.settings.db not in {"", MEMORY} and self.database != self.places.folder / DATABASE
        )

    @cached_property
    def sighting(self) -> Sighting:
        """What git tells of the repository here."""
        from counterpoint.evidence.git.roots import sight_repository

        return sight_repository(self.places.tree, self.serving or self.environ)

    @cached_property
    def _branch_roots(self) -> tuple[str, ...]:
        return self.sighting.branch_roots()

    def _comes_from(self, roots: Collection[str]) -> bool:
        """Return whether the repository here has any of these first commits."""
        own = self._root_commits
        return not set(roots).isdisjoint(own) or not set(roots).isdisjoint(self._branch_roots)

    @property
    def _root_commits(self) -> tuple[str, ...]:
        """The first commits here, where other repositories can have the same name; none if they are not known."""
        return self.sighting.roots if self._is_shared else ()

    @property
    def item(self) -> str:
        """The item that connections are for, by its id where the form that people say was set."""
        return wording.id_of_name(self.settings.item) or self.settings.item

    @cached_property
    def signer(self) -> Signer:
        """Who signs the ledger; asked by the first signature."""
        place = "" if self.settings.db == MEMORY else self.place
        return open_signer(self.settings.signer, place, self.clock)

    @cached_property
    def secret(self) -> bytes:
        """What cursors of this database are signed with."""
        return cursor_secret(self.folder, make=not self.settings.is_read_only)

    @cached_property
    def store(self) -> Store:
        """The database, made on first use; NotFound if nothing may be made."""
        self._refuse_home()
        if self.settings.is_read_only:
            self.require()
        elif self.past is not None:
            check_state(self.database, self.serving or self.environ)
        if self.past and not self.begins_anew and (gone := self.past.gone()):
            raise gone
        if self.is_remote or self.settings.db in {"", MEMORY}:
            open_folder(self.places.folder)
        if (trusted := self.trusted_place) is not None and not self.exists:
            # Before it is there: whoever meets it a moment later knows whose it is.
            trusted.make()
        if self.is_remote:
            fresh = partial(fresh_file, nouns=NOUNS)
            opened = drivers.postgres().open_postgres
            return opened(self.settings.db, NOUNS, fresh_file=fresh, clock=self.time)
        if self.past is None:
            return open_sqlite(MEMORY, NOUNS)
        return open_sqlite(self.database, NOUNS, rescued=self.past.rescued)

    @cached_property
    def past(self) -> Past | None:
        """What is known of ledgers in this place; None for a database on a server, or one that passes away."""
        if self.is_remote or self.settings.db == MEMORY:
            return None
        is_default, home = not self.settings.db, self.places.home
        heads = partial(known_heads, home, self.environ, self.clock) if is_default else list
        # A program that signs is never asked on the way to a first call.
        own = partial(own_places, self.place, self.clock)
        return open_past(self.database, own, heads)

    @cached_property
    def trusted_place(self) -> TrustedPlace | None:
        """What this account has trusted of the ledgers here; None for a database that passes away."""
        return None if self.settings.db == MEMORY else open_trusted(self.place, self.clock)

    @cached_property
    def time(self) -> Clock:
        """What tells the time of the ledger: of a database on a server that one's, the same for every machine."""
        return drivers.postgres().database_clock(self.clock) if self.is_remote else self.clock

    @cached_property
    def host(self) -> ProcessHost:
        """This process, as others that use the same database see it."""
        return ProcessHost(self.folder / "running", self.clock, RandomMint())

    @cached_property
    def ports(self) -> Ports:
        """Every port, joined; the project is opened on first use, NotFound if nothing may be written."""
        is_read_only = self.settings.is_read_only
        said = partial(read_checking, self.places.home)
        ports = Ports(
            store=(store := writable(self.store, self.project, is_read_only=is_read_only)),
            evidence=self._evidence,
            signer=self.signer,
            library=TemplateDirectory(folder=self.folder / "templates"),
            anchors=FileAnchors(folder=self.checkpoints),
            scratch=open_scratch,
            clock=self.time,
            mint=RandomMint(),
            project=self.project,
            may_sign=store is self.store,
            find_secrets=partial(secret_values, self.places.tree, self.hiding or self.environ),
            lease_seconds=self.settings.lease_seconds,
            grace_seconds=self.settings.grace_seconds,
            reads_global=self.settings.global_memory == "on",
            host=self.host,
            witnesses=lambda: self._witnesses,
            trailers=self._trailers,
            cosigned=self._cosigned,
            embedder=lambda: self._outside.embedder(self.settings.embedding),
            embeddings=lambda: self._outside.embeddings(self.settings.embedding),
            authored=self.authored.setdefault(self.project, Authored()),
            checking=None if self.is_open or self.evidence else said,
            extras=lambda: self._extras,
            models=lambda: self._outside.models,
            searching=lambda: self._outside.searching,
            fetching=lambda: self._outside.fetching,
            remembered=self.remembered,
            connected=lambda: connected_agents(self.database, self.place, self.clock.now()),
            trusted=self.trusted_place or EverythingTrusted(),
        )
        if self.settings.tool_dependencies:
            # Whatever is called first is refused for what is wrong with the file.
            _ = self._extras
        if is_read_only:
            self._require_project()
            self._settle_repository(self._projects_of(ports))
            return ports
        projects = self._projects_of(ports)
        if (
            self.past is not None
            and not self.begins_anew
            and (gone := self.past.gone(self.project, projects.find))
        ):
            raise gone
        is_begun = projects.find() is None
        project = projects.open(self.places.home.name, self._root_commits)
        if self.trusted_place is not None:
            if self.begins_anew:
                self.trusted_place.make(is_anew=True)
            own = partial(own_places, self.place, self.clock)
            self.trusted_place.remember(project, own, is_begun=is_begun)
        self._settle_repository(projects)
        return ports

    def _projects_of(self, ports: Ports) -> Projects:
        system = Caller(actor=Actor(kind="system", name="counterpoint"), root=self.places.tree)
        return Core(ports, system).projects

    def _settle_repository(self, projects: Projects) -> None:
        """Remember the repository of a project at the first full sight; Conflict for another one under its name."""
        if not self._is_shared:
            return
        sighting, known = self.sighting, projects.root_commits()
        roots = known or self._owner().roots
        if sighting.why and (roots or sighting.is_repository):
            self.remarks.append(
                f"whether this is the repository of the project {self.project!r} is not known: {sighting.why}"
            )
        if not roots or sighting.why or self.is_from_anywhere or self._comes_from(roots):
            if roots and not (known or self.only_looks or self.settings.is_read_only):
                projects.remember_repository(roots)
            return
        name = _free_name(self.places.tree, {one.project for one in self.store.projects()})
        raise Conflict(
            f"the project {self.project!r} in {self.place} belongs to another repository than {self.places.tree}",
            hint=f"Give this one a project of its own: `--project {name}` (or COUNTERPOINT_PROJECT={name}). If it is the same with a"
            " rewritten history, a person says so: `counterpoint project adopt`.",
        )

    def remember_repository(self) -> None:
        """Write down which repository the project belongs to, after something else was written in it."""
        if self._is_shared and not self.is_from_anywhere:
            self.only_looks = False
            self._settle_repository(self._projects_of(self.ports))

    def _owner(self) -> Sighting:
        """Return what git tells of the repository that a project which knows none belongs to: the one that the database lies in, or this one."""
        home = self.folder.parent
        if self.is_remote or self.folder.name != FOLDER or home == self.places.home:
            return self.sighting
        from counterpoint.evidence.git.roots import sight_repository

        return sight_repository(home, self.serving or self.environ)

    def _refuse_home(self) -> None:
        """Refuse to begin a ledger in the home folder or above it, where clients start what they were not told to start elsewhere."""
        # Whoever made a repository there works in it, as accounts of containers do.
        is_asked = self.settings.db or self.begins_at_home or (self.places.home / ".git").exists()
        if is_asked or not is_home_or_above(str(self.places.home), self.environ) or self.exists:
            return
        raise NotFound(
            f"no ledger is begun in {self.places.home} unasked: it would be that of every folder below",
            hint="Start the client in a project's folder (`cwd` in its settings), or name a ledger there with"
            " `--db PATH`; `counterpoint init` begins one here all the same.",
        )

    def _require_project(self) -> None:
        if self.project not in {one.project for one in self.store.projects()}:
            raise NotFound(
                f"{self.place} has no project {self.project!r}, and none is made in the mode READONLY",
                hint="Name one that is there with --project.",
            )

    @cached_property
    def _evidence(self) -> Evidence:
        if self.evidence is not None:
            return self.evidence
        joined = partial(open_evidence, self.clock, self.trees, self.database)
        environs = (self.environ, self.serving)
        return joined(self.places.home, environs, self.settings.pass_env, self.remarks)

    @cached_property
    def _witnesses(self) -> tuple[Witness, ...]:
        """Who keeps heads of the ledger elsewhere; loaded when one is told or asked."""
        if self.settings.db == MEMORY:
            return ()
        from counterpoint.evidence.witnesses.opening import open_witnesses

        said = self.settings
        return open_witnesses(
            self.places.home,
            self.serving or self.environ,
            self.clock,
            by_git=said.git_witness,
            remote=said.witness_push,
            elsewhere=said.witnesses,
            checkpoints=self.checkpoints,
        )

    def _cosigned(self, ledger: str) -> tuple[str, ...]:
        """Return the heads of a ledger that are kept here with a cosignature."""
        if self.settings.db == MEMORY:
            return ()
        from counterpoint.evidence.witnesses.cosigner import read_cosigned
        from counterpoint.evidence.witnesses.opening import COSIGNED

        return read_cosigned(self.checkpoints / COSIGNED, ledger)

    def _trailers(self, ledger: str) -> tuple[WitnessedHead, ...]:
        """Return the heads of a ledger that commits have; none where the repository is no witness."""
        if self.settings.db == MEMORY or self.settings.git_witness == "off":
            return ()
        from counterpoint.evidence.witnesses.trailers import read_trailers

        return read_trailers(self.places.tree, self.serving or self.environ, ledger)

    @cached_property
    def _outside(self) -> Outside:
        """Who is asked outside, with the keys of the server."""
        from counterpoint.providers.outside import Outside

        environ = self.serving or self.environ
        return Outside(said=partial(read_checking, self.places.home), environ=environ)

    @cached_property
    def _extras(self) -> Mapping[type[Any], Any]:
        """What the verbs of one dialect ask for, by its class; loaded when the first of them asks."""
        from counterpoint.dialects.extras import open_extras

        places = (self.places.tree, self.places.home, self.folder)
        return open_extras(self.settings, places, self._evidence, self.clock, self.environ)

    @property
    def exists(self) -> bool:
        """Whether there is a database already; looking makes none."""
        if self.settings.db == MEMORY:
            return "store" in self.__dict__
        if self.is_remote:
            return "store" in self.__dict__ or drivers.postgres().is_made(self.settings.db)
        # An empty file is none: who only looks would make one of it.
        return self.database.exists() and bool(self.database.stat().st_size)

    def lost(self) -> CounterpointError | None:
        """Return why the database neither is read nor written any more; None while all is well, or it is not open."""
        return self.store.lost() if "store" in self.__dict__ else None

    def require(self) -> App:
        """Return this app if it has a database; NotFound with the next step if not, LedgerGone if it had one."""
        if not self.exists:
            raise (self.past and self.past.gone()) or NotFound(
                f"there is no ledger in {self.place if self.is_remote else self.folder}",
                hint=hint_in_bare(str(self.places.tree))
                or "Run `counterpoint init` here, or go to the folder of a project that has one.",
            )
        return self

    def share(self, host: App, *, guarded: bool = False) -> None:
        """Use the store, the breaker, the key, the trees and the time of grace of another app of the database.

        guarded: if the store is not open yet, it is opened through the breaker; CircuitOpen.
        """
        self.breaker = host.breaker
        self._refuse_home()
        if self.settings.is_read_only:
            host.require()
        is_first = guarded and "store" not in host.__dict__
        self.store = self.breaker.opening(lambda: host.store) if is_first else host.store
        self.trusted_place = host.trusted_place
        self.time = host.time
        self.signer = host.signer
        self.trees = host.trees
        self.connected, self.authored = host.connected, host.authored
        self.remembered, self.host = host.remembered, host.host
        # Whoever calls must not choose by a PATH of his own which program passes a check, or is git.
        self.serving = host.environ
        # How long others wait is not for those to say who want to have it, nor who is a witness.
        self.settings = replace(
            self.settings, **{name: getattr(host.settings, name) for name in HOSTED}
        )

    def meet(self, found: Peer, credential: str) -> None:
        """Remember the agent behind a connection: what it starts is that agent, also if it writes nothing.

        One that brings a credential may host others that bring theirs; at the command line it is an agent all the same.
        """
        agent = agent_behind(found, self.clock.now())
        if agent is not None:
            self.connected.add(agent, hosts=bool(credential))

    @cached_property
    def _guarded(self) -> Ports:
        """Every port, the store behind the breaker."""
        ports = self.breaker.opening(lambda: self.ports)
        return replace(ports, store=GuardedStore(ports.store, self.breaker))

    @cached_property
    def tree(self) -> Path:
        """The tree that is measured: the one that was set, which must be of the same repository.

        Raises InvalidInput for one that is not, or is not there.
        """
        return chosen_tree(self.settings.worktree, self.places)

    def core(self, identity: Identity, *, guarded: bool = False) -> Core:
        """Return the core as one caller may use it.

        guarded: its store is behind the breaker, and so is the opening of it; CircuitOpen.
        """
        attested = identity.attested or _NOBODY
        ports = self._guarded if guarded else self.ports
        actor = Actor(
            kind=identity.kind,
            name=identity.name,
            profile=identity.profile,
            session=identity.session,
            principal=attested.principal,
        )
        caller = Caller(
            actor=actor,
            root=self.tree,
            home=self.places.home,
            client=identity.client,
            item=self._item_of(ports, identity.item) if identity.item else "",
            connection=attested.connection,
            confirmation=identity.confirmation,
            capability=identity.capability,
            seat=identity.seat,
            is_shared=identity.is_shared,
            scopes=attested.scopes,
            vouched_by=attested.vouched_by,
            origin=attested.origin,
        )
        is_read = identity.kind != "system" and self.records_reads
        # One look at a file is all that a call costs in databases without a record, which are nearly all. A database on a server has
        # that file in each folder that uses it, so that of other projects their ledgers are asked.
        if is_read and (self.is_remote or self._reads_mark.exists()):
            ports = self._recording(ports, actor)
        return Core(ports, caller)

    def _item_of(self, ports: Ports, name: str) -> str:
        """Return the id of the item that a connection is for, also where its number alone was set."""
        digits = name.removeprefix("#")
        if not wording.NUMBER.fullmatch(digits):
            return name
        with ports.store.reading(self.project) as view:
            project = view.find(Project)
        return f"{project.prefix}-{int(digits)}" if project else name

    @property
    def read_log(self) -> ReadLog | None:
        """The record of reads of this project; None while none is kept."""
        if not self._reads_mark.exists():
            return None
        return self._read_logs.find(lambda: self.ledger)

    @cached_property
    def _reads_mark(self) -> Path:
        """The file that is there while reads are recorded (evidence/reads.py)."""
        return self.folder / "reads" / "recording"

    @property
    def ledger(self) -> str:
        """The id of the project's ledger; empty before it is begun."""
        projects = self.store.projects()
        return next((one.ledger for one in projects if one.project == self.project), "")

    @cached_property
    def _read_logs(self) -> FileReadLogs:
        # Hardly any project keeps one.
        from counterpoint.evidence.reads import FileReadLogs

        return FileReadLogs(folder=self.folder, clock=self.clock)

    def _recording(self, ports: Ports, actor: Actor) -> Ports:
        """Return ports whose store writes down what is read, after the end of the record was anchored if it is time."""
        from counterpoint.core.operations.reads import Reads
        from counterpoint.core.operations.recording.recorded_reads import RecordedStore

        log = self.read_log or self._begin_record()
        # What fails here is due again at the next call; who reads need not be able to write.
        with suppress(CounterpointError, OSError):
            if log is not None and not self.settings.is_read_only and (head := log.due()):
                self.itself().use(Reads).anchor(head)
                log.anchored(head)
        unrecorded = self.project if log is None else ""
        logs = partial(self._log_of, log)
        store = cast("Store", RecordedStore(ports.store, actor, logs, unrecorded))
        # The secrets of these ports are looked for once, and not anew for each call.
        return replace(ports, store=store, find_secrets=lambda: ports.secrets)

    def _begin_record(self) -> ReadLog | None:
        """Return the record that the ledger asks for in a folder without any; None if there is one, or none is asked for.

        A database on a server is used from many folders, and a person has switched the record on in one of them.
        """
        if not self.is_remote or self._follows_ledger or self._reads_mark.parent.exists():
            return None
        from counterpoint.core.operations.reads import Reads

        reads = self.itself().use(Reads)
        if (policy := reads.policy()) == "off":
            self._follows_ledger = True
            return None
        log = self._read_logs.follow(self.ledger, policy)
        # Whatever was read here before is recorded nowhere, and who reads need not be able to write.
        with suppress(CounterpointError):
            reads.tell_gap("")
        return log

    def _log_of(self, own: ReadLog | None, project: str, view: Reading) -> ReadLog | None:
        """Return the record that reads of a project of the database go to; Unavailable where it must be kept and cannot be.

        own: that of this project.
        """
        if project == self.project:
            return own
        from counterpoint.core.operations.reads import policy_of

        def ledger() -> str:
            return row.ledger if (row := view.find(Project)) is not None else ""

        if not self.is_remote:
            return self._read_logs.find(ledger, project)
        return self._read_logs.follow(ledger(), policy_of(view), project)

    def record_copy(self, entrance: str) -> None:
        """Write down that whoever calls gets a copy of the whole database; Unavailable where that is required and cannot be."""
        if not (self.is_remote or self._reads_mark.exists()):
            return
        for project in self.store.projects():
            with self.store.reading(project.project) as view:
                log = self._log_of(self.read_log, project.project, view)
            if log is not None:
                log.append(self.person().caller.actor, entrance, (), is_all=True)

    def itself(self) -> Core:
        """Return the core for what this program does of its own accord."""
        return self.core(Identity(kind="system", name="counterpoint"))

    def person(self, *, by_git_name: bool = True, peer: Peer | None = None) -> Core:
        """Return the core for whoever sits at the command line; an agent may, from a shell of its own.

        Who brings a credential is the agent that it was made for; Forbidden if it is not in force.
        by_git_name: whether git is asked for the person's name, which takes a process. peer: who runs the command, if it is not this process.
        """
        identity = self._at_the_command_line(by_git_name=by_git_name)
        attested = self._attested_here(self.credential, peer)
        if attested.name:
            identity = Identity(kind="agent", name=self.settings.agent or attested.name)
        return self.core(replace(identity, attested=attested))

    def _attested_here(self, credential: str = "", peer: Peer | None = None) -> Attested:
        """Return who runs this command, as far as the kernel and a credential tell."""
        identities = self.core(self._at_the_command_line(by_git_name=False)).identities
        return identities.attest(peer or self.own_peer, credential=credential)

    @property
    def own_peer(self) -> Peer:
        """Who runs this process."""
        from counterpoint.evidence.trust.servers import is_server

        database = str(self.database)
        lock = f"{find_prefix(database)}.lock"
        return peer(os.getpid(), lambda pid: is_server(pid, database, lock))

    def confirmed(self, confirmation: Confirmation, peer: Peer | None = None) -> Core:
        """Return the core for the one act that a person has signed; peer: who asks for it, if it is not this process."""
        principal = Principal(strength="person", id=confirmation.signed_by)
        attested = Attested(principal=principal, origin=self._attested_here(peer=peer).origin)
        identity = replace(self._at_the_command_line(), attested=attested)
        return self.core(replace(identity, confirmation=confirmation))

    def _at_the_command_line(self, *, by_git_name: bool = True) -> Identity:
        account = label(self.environ.get("USER", "")) or "person"
        name = self.settings.agent or (by_git_name and self._git_name) or account
        return Identity(kind="human", name=name)

    @cached_property
    def _git_name(self) -> str:
        """The name that git knows whoever sits at the command line by; empty without one."""
        from counterpoint.evidence.git.person import git_user_name

        return label(git_user_name(self.places.tree, self.environ))

    def agent(self) -> Identity:
        """Return the identity of an agent's connection, with a fresh session unless one is set.

        An agent without a name is known by its role: who works and who judges are two. InvalidInput for a name
        or role that would steer whoever reads it, or hide in it.
        """
        for what, said in (("agent", self.settings.agent), ("profile", self.settings.profile)):
            if said:
                checked_name(said, f"--{what}")
        session = self.settings.session or RandomMint().mint("ses")
        return Identity(
            kind="agent",
            name=self.settings.agent or self.settings.profile or "agent",
            profile=self.settings.profile,
            session=session,
            item=self.item,
        )

    def close(self) -> None:
        """Let go of the database, if it was opened."""
        if "store" in self.__dict__:
            self.store.close()
        if "host" in self.__dict__:
            self.host.close()
        if "signer" in self.__dict__:
            self.signer.close()


def open_app(start: Path, environ: Mapping[str, str], **flags: str | None) -> App:
    """Return the app for a folder, an environment and the flags that were given.

    Paths that are set and do not begin at the root begin at the folder.
    """
    lifecycles.add_source(_bring_table)
    settings = load_settings(environ, **flags)
    for name in ("tool_scope", "worktree"):
        if value := getattr(settings, name):
            settings = replace(settings, **{name: str(start / Path(value).expanduser())})
    places = find_places(start)
    if not settings.db and (address := find_service_address(str(places.folder / DATABASE))):
        settings = replace(settings, db=address)
    return App(settings=settings, places=places, environ=environ)


def _free_name(tree: Path, taken: set[str]) -> str:
    """Return a name for a project that no other has: of a folder, with that of the one above it if it must be."""
    from counterpoint.kernel.naming import project_name_of

    short = project_name_of(tree.name)
    long = project_name_of(f"{tree.parent.name}-{tree.name}")
    names = (short, long, *(f"{long}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _bring_table(name: str) -> None:
    # Only a table that nobody knows is worth the look at what is installed, and the import.
    from counterpoint.dialects import registry

    registry.bring_table(name)

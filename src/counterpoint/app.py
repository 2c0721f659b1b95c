"""The one place where parts are joined: settings, store, evidence, keys, core."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from counterpoint.core.coordinator import Core
from counterpoint.core.model.actors import Actor, ActorKind
from counterpoint.core.operations.recording.desk import Caller, Outside
from counterpoint.core.ports.store import Store
from counterpoint.evidence.dotenv import secret_values
from counterpoint.evidence.keys import ProjectKey, open_key
from counterpoint.evidence.local import LocalEvidence
from counterpoint.evidence.places import Places, find_places, open_folder
from counterpoint.evidence.shelf import FileAnchors, TemplateShelf
from counterpoint.kernel.clock import Clock, SystemClock
from counterpoint.kernel.errors import NotFound
from counterpoint.kernel.ids import RandomMint
from counterpoint.settings import Settings, load_settings
from counterpoint.storage.sqlite import MEMORY, open_sqlite

DATABASE = "ledger.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a connection speaks for: bound once, when it starts."""

    kind: ActorKind
    name: str
    profile: str = ""
    session: str = ""
    client: str = ""
    item: str = ""


class LazyKey:
    """The project's key, opened by the first signature: opening it is slow."""

    def __init__(self, folder: Path) -> None:
        """Remember where the key lies."""
        self._folder = folder

    @cached_property
    def _key(self) -> ProjectKey:
        return open_key(self._folder)

    @property
    def public_key(self) -> bytes:
        """The 32 raw bytes of the public key."""
        return self._key.public_key

    def sign(self, message: bytes) -> bytes:
        """Answer the 64 bytes of the signature."""
        return self._key.sign(message)


@dataclass(kw_only=True)
class App:
    """The product in one folder: opened lazily, closed once."""

    settings: Settings
    places: Places
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    clock: Clock = field(default_factory=SystemClock)

    @property
    def database(self) -> Path:
        """Where the database lies, or will."""
        if self.settings.db:
            return Path(self.settings.db).expanduser().resolve()
        return self.places.folder / DATABASE

    @property
    def folder(self) -> Path:
        """The folder of the database, its keys and its checkpoints."""
        return self.database.parent

    @cached_property
    def project(self) -> str:
        """The id of the project: as set, else the only one there is, else the folder's name.

        So a repository that was renamed or moved goes on with the project it had.
        """
        if self.settings.project:
            return self.settings.project
        known = [project.project for project in self.store.projects()] if self.exists else []
        return known[0] if len(known) == 1 else _slug(self.places.home.name)

    @cached_property
    def signer(self) -> LazyKey:
        """The project's signing key."""
        return LazyKey(self.folder / "keys")

    @cached_property
    def store(self) -> Store:
        """The database, made on first use."""
        if not self.settings.db:
            open_folder(self.places.folder)
        return open_sqlite(self.database)

    @cached_property
    def outside(self) -> Outside:
        """Every port, joined; the project is opened on first use."""
        passed = tuple(name for name in self.settings.pass_env.split(",") if name)
        outside = Outside(
            store=self.store,
            evidence=LocalEvidence(clock=self.clock, passed=passed, environ=self.environ),
            signer=self.signer,
            library=TemplateShelf(folder=self.folder / "templates"),
            anchors=FileAnchors(folder=self.folder / "checkpoints"),
            scratch=lambda: open_sqlite(MEMORY),
            clock=self.clock,
            mint=RandomMint(),
            project=self.project,
            secrets=secret_values(self.places.tree, self.environ),
            lease_seconds=self.settings.lease_seconds,
        )
        system = Caller(actor=Actor(kind="system", name="counterpoint"), root=self.places.tree)
        Core(outside, system).projects.open(self.places.home.name)
        return outside

    @property
    def exists(self) -> bool:
        """Whether there is a database already."""
        return self.database.exists()

    def require(self) -> App:
        """Answer this app if it has a database; NotFound with the next step if not."""
        if not self.exists:
            raise NotFound(
                f"there is no ledger in {self.folder}",
                hint="Run `counterpoint init` here, or go to the folder of a project that has one.",
            )
        return self

    def core(self, identity: Identity) -> Core:
        """Answer the core as one caller may use it."""
        actor = Actor(
            kind=identity.kind,
            name=identity.name,
            profile=identity.profile,
            session=identity.session,
        )
        caller = Caller(
            actor=actor, root=self.places.tree, client=identity.client, item=identity.item
        )
        return Core(self.outside, caller)

    def person(self) -> Core:
        """Answer the core for whoever sits at the command line."""
        name = self.settings.agent or self.environ.get("USER") or "person"
        return self.core(Identity(kind="human", name=name))

    def agent(self) -> Identity:
        """Answer the identity of an agent's connection, with a fresh session unless one is set."""
        session = self.settings.session or RandomMint().mint("ses")
        return Identity(
            kind="agent",
            name=self.settings.agent or "agent",
            profile=self.settings.profile,
            session=session,
            item=self.settings.item,
        )

    def close(self) -> None:
        """Let go of the database, if it was opened."""
        if "store" in self.__dict__:
            self.store.close()


def open_app(start: Path, environ: Mapping[str, str], **flags: str | None) -> App:
    """Answer the app for a folder, an environment and the flags that were given."""
    return App(settings=load_settings(environ, **flags), places=find_places(start), environ=environ)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:64] or "project"

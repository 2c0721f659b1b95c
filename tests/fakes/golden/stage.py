"""Where a golden ledger is made: a repository, a clock and keys that are the same each time, and everybody who acts."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from builders import HandClock, known_connection, open_repository
from counterpoint.app import App
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Principal
from counterpoint.core.model.identity import Attested, Connection, Identity, Origin
from counterpoint.core.model.rows import Prose
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.host import OnlyHost
from counterpoint.core.ports.store import Store
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface
from counterpoint.evidence.places import find_places
from counterpoint.kernel.clock import Timestamp
from counterpoint.settings import OTHER_NAMES, Settings
from fakes.marking import Marks, Scribe, writing
from fakes.studio import CountingMint, fixed_signer

PROJECT: Final = "demo"
SECRET: Final = b"a secret that signs cursors"
DATES: Final = {
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}
_MORE: Final = {"colibri": "1"}
"""Dialects that offer all of their tools only with proofs."""


class Refused(Exception):
    """A tool said no."""


class TickingClock(HandClock):
    """A clock that goes on by a little with every look."""

    def now(self) -> Timestamp:
        """Answer the present moment, which is another one each time."""
        self._moment += timedelta(milliseconds=7)
        return super().now()


class Lots(CountingMint):
    """Identifiers that count, those of ledgers too."""

    def begin(self, count: int) -> None:
        """Count on from a number."""
        self._count = count

    def mint(self, prefix: str) -> str:
        """Answer the next identifier."""
        made = super().mint("of" if prefix == "led" else prefix)
        return made.replace("of_", "led_") if prefix == "led" else made


@dataclass(slots=True, kw_only=True)
class Host(OnlyHost):
    """A process that knows which other one is gone."""

    gone: set[str] = field(default_factory=set[str])

    def is_gone(self, name: str, last: Timestamp) -> bool:
        """Answer whether it is."""
        del last
        return name in self.gone


@dataclass(frozen=True, kw_only=True)
class Seat:
    """An agent's connection: calls tools as its server would, in this process."""

    app: App
    identity: Identity
    settings: Settings

    @property
    def core(self) -> Core:
        """The core as this agent may use it."""
        return self.app.core(self.identity)

    def knowing(self, capability: str) -> Seat:
        """Answer this connection with the secret of another."""
        return replace(self, identity=replace(self.identity, capability=capability))

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; Refused if it says no."""
        offered = surface(self.settings.surface, self.settings)
        call = Call(core=self.core, secret=lambda: SECRET, settings=self.settings)
        told = offered.invoke(call, tool, arguments)
        if told.is_error:
            raise Refused(told.text)
        return told.answer


class Stage:
    """Everything that a golden ledger is made with."""

    def __init__(self, folder: Path, store: Store, mint: Lots) -> None:
        """Open a project in a store, in a repository in a folder."""
        self.root = open_repository(folder / PROJECT)
        self.clock, self.mint, self.host = TickingClock(), mint, Host()
        self.signer = fixed_signer(self.clock, bytes(32))
        self.store = store
        self._seats = 0
        self._people: dict[str, Attested] = {}
        self._apps: dict[Settings, App] = {}
        (self.root / ".counterpoint").mkdir()

    @property
    def ports(self) -> Any:
        """Everything that the core asks of its surroundings."""
        return self.app().ports

    def app(self, **flags: Any) -> App:
        """Answer the product with some settings."""
        given: dict[str, Any] = {"project": PROJECT, **flags}
        settings = Settings(db=":memory:", **given)
        found = self._apps.get(settings)
        if found is None:
            found = App(
                settings=settings,
                places=find_places(self.root),
                environ={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
                clock=self.clock,
                is_open=True,
            )
            found.store, found.signer = self.store, self.signer
            found.__dict__["host"] = self.host
            if self._apps:
                first = next(iter(self._apps.values()))
                found.authored, found.trees = first.authored, first.trees
            self._apps[settings] = found
            assert found.ports
        return found

    def resign(self, seed: bytes) -> None:
        """Let another signer be asked from now on, with another key, which has signed nothing."""
        self.signer = fixed_signer(self.clock, seed)
        self._apps.clear()

    def connection(self, name: str, **more: Any) -> Connection:
        """Answer the process of an agent."""
        self._seats += 1
        number = self._seats
        letters = sha256(f"{number}".encode()).hexdigest()[:16]
        known: dict[str, Any] = {
            "agent": name,
            "client": "a client",
            "uid": 1000,
            "pid": 1000 + number,
            "started": 1000 * number,
            "boot": "boot_of_a_story",
            "namespace": "",
            "executable": "/usr/bin/agent",
            "ancestry": Prose(
                f'[{{"executable":"/usr/bin/sh","pid":{900 + number},"started":900,"terminal":true}}]'
            ),
            "opened_at": self.clock.now(),
        }
        return known_connection(f"cn_{letters}", **known | more)

    def seat(self, name: str = "", *, attested: Attested | None = None, **flags: Any) -> Seat:
        """Answer a connection of an agent, from a process of its own."""
        app = self.app(**flags)
        asked = app.agent()
        known = name or asked.name
        if attested is None:
            process = self.connection(known)
            attested = Attested(
                principal=Principal(strength="connection", id=process.id),
                connection=process,
                origin=Origin(boot=process.boot, process=process),
            )
        capability = sha256(f"the secret of {self._seats}".encode()).hexdigest()
        session = self.mint.mint("ses")
        identity = replace(
            asked, name=known, session=session, attested=attested, capability=capability
        )
        return Seat(app=app, identity=identity, settings=app.settings)

    def join(self, dialect: str, *words: str) -> Seat:
        """Answer a connection that a client opens with words of the command line."""
        own = {other: name for name, other in OTHER_NAMES.items()}
        given = {word[2:].replace("-", "_"): value for word, value in _pairs(words)}
        flags: dict[str, Any] = {own.get(name, name): value for name, value in given.items()}
        flags = {"surface": dialect, "proofs": _MORE.get(dialect, "")} | flags
        return self.seat(flags.get("agent", ""), **flags)

    def person(self, name: str = "pat", **flags: str) -> Core:
        """Answer the core as a person at the command line uses it, who has signed nothing."""
        if name not in self._people:
            process = self.connection(name, boot="boot_of_people", executable="/usr/bin/shell")
            self._people[name] = Attested(
                principal=Principal(strength="connection", id=process.id),
                connection=process,
                origin=Origin(boot=process.boot, process=process),
            )
        who = Identity(kind="human", name=name, attested=self._people[name])
        return self.app(**flags).core(who)

    @property
    def system(self) -> Core:
        """The core as the program itself uses it."""
        return self.app().itself()

    def sign(self) -> None:
        """Have all that was written signed, the end of the ledger and what each writer wrote."""
        self.system.signing.sign()
        self.system.writers.sign()

    def context(self, core: Core) -> Context:
        """Answer a context for a caller."""
        return Context(ports=self.ports, caller=core.caller)

    def scribe(self, dialect: str) -> Scribe:
        """Answer who says a word of its own in every text of every tool that writes."""
        offered = surface(dialect, Settings(surface=dialect, proofs=_MORE.get(dialect, "")))
        return Scribe(surface=dialect, parts=writing(offered), marks=Marks(), refusal=Refused)


def _pairs(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return zip(words[::2], words[1::2], strict=True)


@contextmanager
def staged(folder: Path, store: Store) -> Generator[Stage]:
    """Give a stage on which everything that is drawn by lot elsewhere is counted."""
    with pytest.MonkeyPatch.context() as held:
        for name, value in DATES.items():
            held.setenv(name, value)
        lots = Lots()
        held.setattr("counterpoint.app.RandomMint", lambda: lots)
        yield Stage(folder, store, lots)

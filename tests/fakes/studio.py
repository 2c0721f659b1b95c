"""A project to test the core in: a store, scripted surroundings, and agents who call it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from builders import HandClock
from counterpoint.app import NOUNS
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Actor, ActorKind, Principal
from counterpoint.core.model.templates import TemplateSource
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.context import Caller, Context, Ports
from counterpoint.core.ports.store import Reading, Store
from counterpoint.dialects.agentic.rules.precedence import Table, ToolOrder
from counterpoint.dialects.colibri.rules.skills import SkillReport
from counterpoint.dialects.colibri.skill_files import SkillDirectory
from counterpoint.dialects.symphony.contract_files import ContractDirectory
from counterpoint.dialects.symphony.rules.contracts import Contract
from counterpoint.evidence.trust.signer import MemorySigner
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import CounterpointError, NotFound
from counterpoint.storage.sqlite.store import open_scratch, open_sqlite
from fakes.evidence import ScriptedTree
from fakes.recount import recount

PROJECT = "demo"
ROOT = Path("tree")


class CountingMint:
    """Identifiers that count."""

    def __init__(self) -> None:
        """Begin at one."""
        self._lock = threading.Lock()
        self._count = 0
        self._salts = 0

    def mint(self, prefix: str) -> str:
        """Answer the next identifier."""
        with self._lock:
            if prefix == "led":
                return "led_demo"
            self._count += 1
            return f"{prefix}_{self._count:026d}"

    def salt(self) -> bytes:
        """Answer the next salt."""
        with self._lock:
            self._salts += 1
            return self._salts.to_bytes(16)


class FixedKey:
    """An Ed25519 key that is the same in every test."""

    def __init__(self, seed: bytes = bytes(32)) -> None:
        """Make the key of a seed."""
        self._key = Ed25519PrivateKey.from_private_bytes(seed)

    @property
    def public_key(self) -> bytes:
        """The raw public key."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Answer the signature."""
        return self._key.sign(message)

    def derived(self, purpose: str) -> FixedKey:
        """Answer the key for a purpose."""
        return FixedKey(sha256(self.public_key + purpose.encode()).digest())


def fixed_signer(clock: Clock, seed: bytes = bytes(32)) -> MemorySigner:
    """Answer a signer that has the same key in every test and forgets with it."""
    return MemorySigner(key=lambda: FixedKey(seed), clock=clock)


@dataclass
class Shelf:
    """Templates in a dictionary: those of a name that ends in `.yaml` are YAML."""

    texts: dict[str, str] = field(default_factory=dict)

    def template(self, name: str) -> TemplateSource:
        """Answer a template."""
        for file, text in self.texts.items():
            if file.removesuffix(".yaml") == name:
                form = "yaml" if file.endswith(".yaml") else "markdown"
                return TemplateSource(slug=name, text=text, form=form, source="project")
        raise NotFound(f"there is no template {name!r}")

    def names(self) -> list[str]:
        """Answer the names."""
        return sorted(file.removesuffix(".yaml") for file in self.texts)


@dataclass
class Drawer:
    """Checkpoints in a dictionary."""

    notes: dict[str, str] = field(default_factory=dict)

    def last(self, project: str) -> str:
        """Answer the last checkpoint."""
        return self.notes.get(project, "")

    def keep(self, project: str, note: str) -> None:
        """Keep a checkpoint."""
        self.notes[project] = note


@dataclass
class Cabinet:
    """Skills and contracts of phases that a test puts there."""

    report: SkillReport = field(
        default_factory=lambda: SkillReport(skills=(), skipped=(), roots=())
    )
    contracts: dict[str, Contract] = field(default_factory=dict)

    def look(self) -> SkillReport:
        """Answer the skills."""
        return self.report

    def contract(self, phase: str) -> Contract:
        """Answer the contract of a phase."""
        if phase not in self.contracts:
            raise NotFound(f"phase {phase!r} has no contract")
        return self.contracts[phase]

    def phases(self) -> list[str]:
        """Answer the phases that have a contract."""
        return sorted(self.contracts)


@dataclass(frozen=True)
class Image:
    """Everything a store holds of a project: to see that nothing was written."""

    size: int
    tables: dict[str, list[tuple[Any, ...]]]
    texts: dict[str, str]


class Studio:
    """One project with its surroundings; answers a Core for each agent who works in it."""

    def __init__(
        self, database: Path | str = ":memory:", *, order: Table | None = None, **outside: Any
    ) -> None:
        """Open the project in an empty store; `order`: which tools need something else first."""
        self.clock = HandClock()
        self.tree = ScriptedTree(clock=self.clock)
        self.drawer = Drawer()
        self.shelf = Shelf()
        self.cabinet = Cabinet()
        self.database = database
        self.mint = CountingMint()
        self.store: Store = open_sqlite(database, NOUNS)
        self.ports = Ports(
            **(
                {
                    "store": self.store,
                    "evidence": self.tree,
                    "signer": fixed_signer(self.clock),
                    "library": self.shelf,
                    "anchors": self.drawer,
                    "scratch": open_scratch,
                    "clock": self.clock,
                    "mint": self.mint,
                    "project": PROJECT,
                    "extras": lambda: {
                        SkillDirectory: self.cabinet,
                        ContractDirectory: self.cabinet,
                        ToolOrder: ToolOrder(table=order or {}),
                    },
                }
                | outside
            )
        )
        self.system.projects.open("A demonstration")

    @property
    def system(self) -> Core:
        """The core as the system itself uses it."""
        return Core(self.ports, Caller(actor=Actor(kind="system", name="system"), root=ROOT))

    def core(
        self, name: str, *, session: str = "", kind: ActorKind = "agent", **caller: Any
    ) -> Core:
        """Answer the core for an agent in a session; `session` is minted if it is not given."""
        named = session or (self.mint.mint("ses") if kind == "agent" else "")
        principal = Principal(strength="connection", id=f"cn_{kind}_{name}")
        actor = Actor(kind=kind, name=name, session=named, principal=principal)
        return Core(self.ports, Caller(actor=actor, root=ROOT, **caller))

    def context(self, core: Core) -> Context:
        """Answer a context for writing what no verb writes."""
        return Context(ports=self.ports, caller=core.caller)

    def masking(self, *secrets: str) -> None:
        """Let these values be secrets from now on."""
        self.ports = replace(self.ports, find_secrets=lambda: frozenset(secrets))

    @contextmanager
    def view(self) -> Iterator[Reading]:
        """Open a view of the project."""
        with self.store.reading(self.ports.project) as view:
            yield view

    def image(self) -> Image:
        """Answer everything that is stored now."""
        with self.view() as view:
            return Image(
                size=view.head().size,
                tables={noun.table: list(view.table(noun)) for noun in NOUNS},
                texts=dict(view.texts()),
            )

    def refuses(self, fault: type[CounterpointError], call: Callable[[], Any]) -> Any:
        """Check that a call is refused with a fault and leaves nothing behind; answer the fault."""
        before = self.image()
        with pytest.raises(fault) as caught:
            call()
        assert type(caught.value) is fault
        assert caught.value.hint
        assert self.image() == before
        return caught.value

    def check(self) -> None:
        """Check what must always hold: counters, the fold of the ledger, the chain."""
        with self.view() as view:
            items = view.select(Item)
            assert {i.id: i.blockers for i in items} == {i.id: recount(view, i) for i in items}
            blocked = {item.id for item in items if item.blockers}
            assert {i.id: i.held for i in items} == {i.id: int(i.parent in blocked) for i in items}
        # Verifying replays the ledger too, and what differs there is among its faults.
        found = self.system.audit.verify().faults
        assert found == (), [one.message for one in found]

    def last(self) -> Any:
        """Answer the last entry of the ledger."""
        return self.system.audit.log(limit=1)[0]

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

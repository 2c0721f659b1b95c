"""What tests build their stories from: repositories, a hand-driven clock, workshops with agents."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client

from counterpoint.app import App, Identity, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Principal
from counterpoint.core.model.identity import Attested, Connection
from counterpoint.core.model.rows import Prose
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface
from counterpoint.evidence.places import find_places
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.kernel.clock import Timestamp, stamp
from counterpoint.kernel.places import LEDGERS, short_name, state_folder
from counterpoint.protocol.actions import Action
from counterpoint.protocol.server import create_server
from counterpoint.protocol.tools import Tool
from counterpoint.protocol.workers import Workers
from counterpoint.settings import Settings

SECRET = b"a secret of the tests"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PATIENCE = 30.0
WORKERS = Workers(32)
"""The threads of all servers in this process: those of a server would outlive it, each with the ledger of its last call."""
IDENTITY = ("-c", "user.name=Tests", "-c", "user.email=tests@example.org")

Progress = Callable[[float, float | None, str | None], Any]


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and answer what it says."""
    done = subprocess.run(
        ["git", *IDENTITY, *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return done.stdout.strip()


def open_repository(folder: Path) -> Path:
    """Make a repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main", "--template=")
    git(folder, "config", "user.email", "tests@example.org")
    git(folder, "config", "user.name", "Tests")
    (folder / "README.md").write_text("# A repository\n")
    git(folder, "add", "README.md")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def copy_repository(source: Path, target: Path) -> Path:
    """Copy a repository."""
    shutil.copytree(source, target)
    return target


def carry_trust(source: Path | str, target: Path | str) -> None:
    """Let this account trust the copy of a ledger in another place as it does the ledger, unless it has another state than the ledger was made with."""
    folder = Path(state_folder(os.environ)) / LEDGERS
    if not folder.exists():
        return
    lines = (folder / short_name(str(source))).read_text().splitlines()
    copied = [{**json.loads(line), "place": str(target), "file": ""} for line in lines]
    (folder / short_name(str(target))).write_text(
        "".join(f"{json.dumps(line)}\n" for line in copied)
    )


def commit(folder: Path, path: str, text: str) -> str:
    """Write a file, commit it, and answer the commit."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    git(folder, "add", path)
    git(folder, "commit", "-q", "-m", f"write {path}")
    return git(folder, "rev-parse", "HEAD")


AGENT_PROCESS = (
    sys.executable,
    "-c",
    "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))",
)
"""What starts a command as an agent does: as the child of a process of its own."""


class AgentProgram:
    """An agent's process of its own, which does as it is told; what it starts is its child."""

    def __init__(self, folder: Path) -> None:
        """Start it in a folder."""
        program = Path(__file__).parent / "e2e" / "programs" / "agent.py"
        self._process = subprocess.Popen(
            [sys.executable, str(program)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def order(self, **order: Any) -> dict[str, Any]:
        """Tell it what to do; answer what came of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def runs(self, *words: str) -> dict[str, Any]:
        """Run the command line from a shell of its own."""
        return self.order(run=["sh", "-c", f"{sys.executable} -m counterpoint {' '.join(words)}"])

    def close(self) -> None:
        """Let it end."""
        self._process.communicate(timeout=60)


class Window(AgentProgram):
    """One window of a client: an agent's process of its own."""

    def __init__(self, folder: Path) -> None:
        """Start it in a folder."""
        super().__init__(folder)
        self._open: set[str] = set()

    def bears(self, connection: str, credential: str) -> None:
        """Open a connection of a name, with the tools of the product, that has a credential."""
        self.order(connect=connection, words=[], environ={"COUNTERPOINT_CREDENTIAL": credential})
        self._open.add(connection)

    def _call(self, words: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if words not in self._open:
            self.order(connect=words, words=words.split())
            self._open.add(words)
        return self.order(call=words, tool=tool, arguments=arguments)

    def does(self, words: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool over a connection that was started with these words; it must succeed."""
        told = self._call(words, tool, arguments)
        assert "answer" in told, told
        return told["answer"]

    def is_refused(self, words: str, tool: str, **arguments: Any) -> str:
        """Call a tool that must be refused; answer what is said of it."""
        told = self._call(words, tool, arguments)
        assert "refused" in told, told
        return json.dumps(told["refused"])


def let_run(
    folder: Path, sandbox: str = "auto", environ: Mapping[str, str] | None = None, **flags: str
) -> None:
    """Let agents have any command run in a repository, as a person does who trusts its configuration.

    environ: whose home keeps what is trusted; None: that of the tests.
    """
    if (folder / ".git").exists():
        (folder / ".git/info").mkdir(exist_ok=True)
        (folder / ".git/info/exclude").write_text("counterpoint.toml\n")
    (folder / "counterpoint.toml").write_text(f"[checks]\nfree = true\nsandbox = '{sandbox}'\n")
    with pytest.MonkeyPatch.context() as patch:
        if environ is not None:
            patch.setenv("HOME", environ["HOME"])
            patch.delenv("XDG_STATE_HOME", raising=False)
        app = open_app(folder, os.environ if environ is None else environ, **flags)
        app.itself().projects.trust(read_checking(folder), os.environ["PATH"])
        app.close()


Opened = Callable[[], Window]
"""What opens one more window."""
NATIVE, AGENTIC, COLIBRI = "", "--surface agentic", "--surface colibri"
WORKFLOW, SYMPHONY = "--surface workflow", "--surface symphony"
"""The words with which a client opens each surface."""


def known_connection(id_: str, project: str = "demo", **more: Any) -> Connection:
    """Answer what is kept of an agent's process."""
    kept: dict[str, Any] = {
        "agent": "eve",
        "client": "",
        "uid": 1,
        "pid": 10,
        "started": 10,
        "boot": "b",
        "namespace": "",
        "executable": "/a",
        "held_since": 0,
        "unit": "",
        "ancestry": Prose("[]"),
        "opened_at": Timestamp("2026-01-02T03:04:05.000Z"),
    }
    return Connection(project=project, id=id_, **kept | more)


def attested_as(name: str) -> Attested:
    """Answer what the kernel says of an agent's process in a story."""
    return Attested(principal=Principal(strength="connection", id=f"cn_{name}"))


def asked_by(part: Tool[Any]) -> tuple[str, dict[str, str]]:
    """Answer the tool, and the arguments that say which action, by which a part of a tool is called."""
    if not isinstance(part, Action):
        return part.name, {}
    tool = part.name.removesuffix(f" {part.spoken}")
    return tool, {"action": part.action, **({"command": part.command} if part.command else {})}


class HandClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        """Begin at a fixed moment."""
        self._moment = START

    def now(self) -> Timestamp:
        """Answer the present moment."""
        return stamp(self._moment)

    def pass_by(self, *, minutes: float = 0, seconds: float = 0) -> None:
        """Let time pass."""
        self._moment += timedelta(minutes=minutes, seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back from a call of a tool."""

    answer: dict[str, Any]
    text: str
    is_error: bool


@dataclass(kw_only=True)
class Agent:
    """One agent at work: an identity, and an MCP client of its own server."""

    app: App
    identity: Identity
    surface: str
    era: str
    portal: BlockingPortal
    stack: ExitStack
    settings: Settings = field(default_factory=Settings)
    _client: Client | None = field(default=None, repr=False)

    @property
    def core(self) -> Core:
        """Answer the core as this agent may use it."""
        return self.app.core(self.identity)

    @property
    def session(self) -> str:
        """The id of the agent's session."""
        return self.identity.session

    @property
    def client(self) -> Client:
        """The connected client, opened by its first use."""
        if self._client is None:
            server = create_server(
                surface(self.surface, self.settings),
                lambda _caller: Call(core=self.core, secret=lambda: SECRET, settings=self.settings),
                workers=WORKERS,
            )
            client = Client(server, mode=self.era)
            self._client = self.stack.enter_context(self.portal.wrap_async_context_manager(client))
        return self._client

    def call(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress | None = None
    ) -> Reply:
        """Call a tool over the wire."""
        client = self.client

        async def story() -> Any:
            async def hear(*words: Any) -> None:
                if progress is not None:
                    progress(*words)

            with anyio.fail_after(PATIENCE):
                return await client.call_tool(
                    tool, dict(arguments), progress_callback=hear if progress else None
                )

        result = self.portal.call(story)
        return Reply(
            answer=result.structured_content, text=result.content[0].text, is_error=result.is_error
        )

    def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed, and answer what it answers."""
        reply = self.call(tool, arguments)
        assert not reply.is_error, reply.text
        return reply.answer

    def is_refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must refuse and write nothing, and answer its refusal."""
        before = self.ledger_size
        reply = self.call(tool, arguments)
        assert reply.is_error, reply.text
        assert self.ledger_size == before
        return reply.answer

    @property
    def ledger_size(self) -> int:
        """How many entries the ledger has."""
        return self.core.overview.state().ledger_size

    @property
    def last_entry(self) -> Any:
        """The last entry of the ledger."""
        return self.core.audit.log(limit=1)[0]

    def ask(self, story: Callable[[Client], Any]) -> Any:
        """Run an asynchronous story with the client."""
        client = self.client
        return self.portal.call(story, client)


class Workshop:
    """A repository with a ledger, a clock, and the agents at work in it."""

    def __init__(
        self, root: Path, *, era: str = "2026-07-28", portal: BlockingPortal | None = None
    ) -> None:
        """Open the product in a repository; without a portal the clients get one of their own."""
        self.root = root
        self.era = era
        self.clock = HandClock()
        self._stack = ExitStack()
        self._shared_portal = portal
        self.app = self.project("")

    def project(self, name: str) -> App:
        """Answer the product for another project of the same database."""
        app = App(
            settings=Settings(project=name),
            places=find_places(self.root),
            environ={"PATH": os.environ["PATH"], "HOME": str(self.root)},
            clock=self.clock,
            is_open=True,
        )
        self._stack.callback(app.close)
        return app

    def beside(self, tree: Path) -> App:
        """Answer the product as it is seen from another working tree of the repository."""
        app = App(
            settings=Settings(),
            places=find_places(tree),
            environ=self.app.environ,
            clock=self.clock,
            is_open=True,
        )
        app.share(self.app)
        return app

    def agent(
        self,
        name: str,
        *,
        profile: str = "",
        item: str = "",
        surface: str = "native",
        app: App | None = None,
        settings: Settings | None = None,
    ) -> Agent:
        """Answer an agent with a fresh session."""
        session = (app or self.app).ports.mint.mint("ses")
        identity = Identity(
            kind="agent",
            name=name,
            profile=profile,
            session=session,
            item=item,
            attested=attested_as(name),
        )
        return Agent(
            app=app or self.app,
            identity=identity,
            surface=surface,
            era=self.era,
            portal=self._portal,
            stack=self._stack,
            settings=settings or Settings(),
        )

    @cached_property
    def _portal(self) -> BlockingPortal:
        return self._shared_portal or self._stack.enter_context(start_blocking_portal())

    def close(self) -> None:
        """End every client and let go of the database."""
        self._stack.close()

"""What the tests with real agents share: the agents, a scripted model, and a repository for them."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import Any

import pytest

PROGRAMS = Path(__file__).parents[2] / ".node" / "clients" / "node_modules" / ".bin"
PATIENCE = 60.0
"""Seconds that a conversation may take."""
SHORT_GRACE_SECONDS = "5"
"""How long others wait for a killed agent in the short form; the long form has the default."""

CODEX = """
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "{sandbox}"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
apps = false
remote_plugin = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[projects."{tree}"]
trust_level = "trusted"
"""
"""A user's own settings; what `counterpoint init` writes stands in the project's."""
GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
}
"""The same of Gemini CLI, which asks at the first start how it is paid for."""


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "clients_model", Path(__file__).with_name("model.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def scripted() -> ModuleType:
    """Give the module with the scripted model."""
    return sys.modules.get("clients_model") or _load()


@dataclass(slots=True, kw_only=True)
class Agent:
    """One real agent, its home, and how it is started.

    servers: what its user's own settings say of these. trusts: its user has allowed the project's hooks.
    is_bound: it runs in its ordinary sandbox, and may do what the project's files allow and nothing more. is_opened: its user
    has let it work in this folder. may_edit: it is started with the flag that lets it change files without a question.
    """

    name: str
    program: str
    tree: Path
    environ: dict[str, str]
    servers: str = ""
    trusts: bool = False
    is_bound: bool = False
    is_opened: bool = True
    may_edit: bool = False
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def client(self) -> str:
        """What it calls itself to a server."""
        return {
            "claude": "claude-code",
            "codex": "codex-mcp-client",
            "gemini": "gemini-cli-mcp-client",
        }[self.name]

    @property
    def home(self) -> Path:
        """Its user's home, in which nothing was before."""
        return Path(self.environ["HOME"])

    @property
    def settings(self) -> Path:
        """The file of the user's own settings of Codex."""
        return self.home / ".codex" / "config.toml"

    def configure(self, url: str) -> None:
        """Let it ask the model at an address, which is its only way out."""
        self.environ["HTTPS_PROXY"] = self.environ["HTTP_PROXY"] = url
        if self.name == "codex":
            self.settings.parent.mkdir(exist_ok=True)
            sandbox = "workspace-write" if self.is_bound else "danger-full-access"
            said = CODEX.format(url=url, tree=self.tree, sandbox=sandbox)
            self.settings.write_text(said + self.servers)
        elif self.name == "gemini":
            mine = self.home / ".gemini"
            mine.mkdir(exist_ok=True)
            (mine / "settings.json").write_text(json.dumps(GEMINI))
            (mine / "trustedFolders.json").write_text(json.dumps({str(self.tree): "TRUST_FOLDER"}))
            self.environ |= {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none"}
        else:
            self.environ["ANTHROPIC_BASE_URL"] = url
            if self.is_bound and not (self.home / ".claude.json").exists():
                opened = {"hasTrustDialogAccepted": True} if self.is_opened else {}
                known = {"projects": {str(self.tree): opened}, "hasCompletedOnboarding": True}
                (self.home / ".claude.json").write_text(json.dumps(known))

    def start(self, url: str, *, goes_on: bool = False) -> subprocess.Popen[str]:
        """Start a conversation with the model at an address, or go on with the last one."""
        self.configure(url)
        if self.name == "codex":
            trusting = ["--dangerously-bypass-hook-trust"] if self.trusts else []
            words = [*trusting, "exec", *(["resume", "--last"] if goes_on else [])]
            words += ["--json", "go on"]
        elif self.name == "gemini":
            words = ["-p", "go on", "-m", "gemini-2.5-pro", "--approval-mode", "yolo"]
            words += ["-o", "stream-json", *(["--resume", "latest"] if goes_on else [])]
        else:
            allowed = json.dumps({"enableAllProjectMcpServers": True})
            words = [*(["--continue"] if goes_on else []), "-p", "go on"]
            if not self.is_bound:
                words += ["--settings", allowed, "--allowedTools", "mcp__counterpoint"]
            if self.may_edit:
                words += ["--permission-mode", "acceptEdits"]
            words += ["--output-format", "stream-json", "--verbose"]
        process = subprocess.Popen(
            [self.program, *words],
            cwd=self.tree,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def converse(self, url: str, *, goes_on: bool = False) -> str:
        """Let it come to the end of a conversation; answer what it printed."""
        process = self.start(url, goes_on=goes_on)
        told, complaints = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, told[-3000:] + complaints[-2000:]
        return told

    def end(self) -> None:
        """Make whatever is left of it end."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=PATIENCE)


@pytest.fixture(params=["claude", "codex", "gemini"])
def bare(request: pytest.FixtureRequest, repository: Path, tmp_path: Path) -> Iterator[Agent]:
    """Give each agent in turn, in a repository, with no server of ours in its settings."""
    made = make_agent(request.param, repository, tmp_path / "home")
    yield made
    made.end()
    counterpoint(made, "down", check=False)


@pytest.fixture
def fleet(repository: Path, tmp_path: Path) -> Iterator[tuple[Agent, Agent, Agent]]:
    """Give two Claude Code and one Codex of one user, in one repository that `counterpoint init --hooks` has set up.

    Each runs in its ordinary sandbox, and a Claude with the flag that lets it change files.
    """
    first, second, third = (
        make_agent(name, repository, tmp_path / "home") for name in ("claude", "claude", "codex")
    )
    for agent in (first, second, third):
        agent.trusts = agent.is_bound = agent.may_edit = True
        # Codex hands on no more than its entry names; without it the server knows nothing of this account's trust.
        agent.environ["XDG_STATE_HOME"] = str(agent.home / "state")
        if not os.environ.get("COUNTERPOINT_LONG"):
            agent.environ["COUNTERPOINT_GRACE_SECONDS"] = SHORT_GRACE_SECONDS
    counterpoint(first, "init", "--yes", "--client", "claude", "--client", "codex", "--hooks")
    yield first, second, third
    for agent in (first, second, third):
        agent.end()
    counterpoint(first, "down", check=False)


def make_agent(name: str, tree: Path, home: Path) -> Agent:
    """Return an agent of a user with a home, which is made if need be; without its program the test is skipped."""
    program = PROGRAMS / name
    if not program.exists():
        absent(f"{name} is not here: `make clients` installs it")
    home.mkdir(exist_ok=True)
    ours = [str(Path(sys.executable).parent), str(PROGRAMS)]
    environ = {
        "PATH": os.pathsep.join([*ours, os.environ["PATH"]]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        # No API key: our server, which has the agent's variables, would ask that provider itself.
        "ANTHROPIC_AUTH_TOKEN": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    return Agent(name=name, program=str(program), tree=tree, environ=environ)


@pytest.fixture
def agent(bare: Agent) -> Agent:
    """Give each agent in turn, in a repository that `counterpoint init` has set up."""
    counterpoint(bare, "init", "--yes", "--client", bare.name)
    return bare


def absent(why: str) -> None:
    """Skip, or fail where the agents were promised: NODE_PROGRAMS=required."""
    if os.environ.get("NODE_PROGRAMS") == "required":
        pytest.fail(why)
    pytest.skip(why)


def counterpoint(agent: Agent, *words: str, check: bool = True) -> str:
    """Run the command line where an agent works; answer what it printed."""
    return run(agent, "counterpoint", *words, check=check)


def run(agent: Agent, program: str, *words: str, check: bool = True) -> str:
    """Run a program where an agent works, with its variables; answer what it printed."""
    ran = subprocess.run(
        [shutil.which(program, path=agent.environ["PATH"]) or program, *words],
        cwd=agent.tree,
        env=agent.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert not check or ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-2000:]
    return ran.stdout


@pytest.fixture(name="run")
def _run() -> Callable[..., str]:
    """Give what runs a program where an agent works, and answers what it printed."""
    return run


@pytest.fixture(name="ask")
def _ask() -> Callable[..., Any]:
    """Give what asks the command line, in JSON."""

    def ask(agent: Agent, *words: str) -> Any:
        return json.loads(counterpoint(agent, *words, "--json"))

    return ask


@pytest.fixture
def until() -> Callable[[Callable[[], Any], str], Any]:
    """Give what waits, for a bounded time, until something is so."""

    def wait(found: Callable[[], Any], what: str) -> Any:
        pause, end = threading.Event(), monotonic() + PATIENCE
        while not (answer := found()):
            assert monotonic() < end, what
            pause.wait(0.05)
        return answer

    return wait

"""A server of an account of its own: real accounts, which only the superuser can take on."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SERVER, AGENT, STRANGER = 61_001, 61_002, 61_003
"""Numbers that no account of a machine has."""
PATIENCE = 40

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(180),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can run processes of two accounts"),
]


class House:
    """The folders of a server and of an agent, each closed to the other."""

    def __init__(self, top: Path) -> None:
        """Make them."""
        # What pytest gives is closed to all other accounts.
        top.chmod(0o711)
        self.state = self._folder(top / "state", SERVER)
        self.run = self._folder(top / "run", SERVER, 0o755)
        self.tree = self._folder(top / "tree", AGENT)
        self.elsewhere = self._folder(top / "elsewhere", STRANGER)
        self.socket = self.run / "demo.sock"
        self.database = self.state / "ledger.db"

    def environ(self, user: int) -> dict[str, str]:
        """Answer the variables of a process of an account."""
        home = {SERVER: self.state, AGENT: self.tree, STRANGER: self.elsewhere}[user]
        return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}

    def _folder(self, path: Path, user: int, mode: int = 0o700) -> Path:
        path.mkdir(mode=mode)
        os.chown(path, user, user)
        path.chmod(mode)
        return path


def of(user: int, *words: str) -> tuple[str, ...]:
    """Answer a command as one of another account.

    The interpreter of the tests may lie in a folder that is closed to all but root: what it is read
    with opens no socket and lets nobody write.
    """
    reads = "+dac_read_search"
    taking = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
    may_read = (f"--inh-caps={reads}", f"--ambient-caps={reads}")
    python = (sys.executable, "-P")
    return (*taking, *may_read, "--", *python, *words)


@pytest.fixture
def house() -> Iterator[House]:
    """Give the folders."""
    top = Path(tempfile.mkdtemp(prefix="counterpoint-"))
    yield House(top)
    shutil.rmtree(top)


@pytest.fixture
def server(house: House) -> Iterator[subprocess.Popen[bytes]]:
    """Give a server under its own account, which lets the agent's in."""
    ready, listens = os.pipe()
    words = ["serve", "--db", str(house.database), "--project", "demo", "--socket"]
    words += [str(house.socket), "--allow-user", str(AGENT), "--ready-fd", str(listens)]
    process = subprocess.Popen(
        of(SERVER, "-m", "counterpoint", *words),
        cwd="/",
        env=house.environ(SERVER),
        pass_fds=[listens],
    )
    os.close(listens)
    assert select.select([ready], [], [], PATIENCE)[0]
    assert os.read(ready, 1) == b"+"
    os.close(ready)
    yield process
    process.terminate()
    assert process.wait(PATIENCE) == 0


@pytest.fixture
def connect(
    house: House, server: subprocess.Popen[bytes], wire: ModuleType
) -> Iterator[Callable[..., Any]]:
    """Give what connects an agent of an account, as its client would."""
    del server
    with ExitStack() as held:

        def start(*words: str, user: int = AGENT, **environ: str) -> Any:
            address = ("--db", f"unix:{house.socket}", *words)
            command = of(user, "-m", "counterpoint", "mcp", *address)
            own = house.environ(user) | environ
            folder = house.tree if user == AGENT else house.elsewhere
            client = wire.Client(folder, command, only=own)
            held.callback(client.close)
            client.greet("claude-code")
            return client

        yield start


def test_an_agent_of_another_account_works_a_plan(
    connect: Callable[..., Any], house: House
) -> None:
    """It plans, begins and ends; that nobody saw its tree is said, and who it is is attested."""
    agent = connect()
    agent.call("plan", markdown="# Orchard\n## Planting\n- [ ] Plant the walnut\n")
    claim = agent.call("next", claim=True)["claim"]
    done = agent.call("finish", id=claim["item"], token=claim["token"], outcome="done", summary="!")
    assert "does not see the working tree" in json.dumps(done)
    log = as_server(house, "log", "--json")
    (entry,) = (one for one in json.loads(log)["entries"] if one["action"] == "task.finished")
    assert entry["actor"]["principal"]["strength"] == "connection"
    assert as_server(house, "audit", "verify").startswith("Sound")


def test_nobody_else_comes_in(connect: Callable[..., Any], house: House) -> None:
    """A third account is refused; neither it nor the agent reads the ledger, its keys, or stops the server."""
    stranger = connect(user=STRANGER)
    with pytest.raises(AssertionError, match="belongs to another user"):
        stranger.call("brief")
    for user in (AGENT, STRANGER):
        seen = subprocess.run(
            ["ls", str(house.state)],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            user=user,
            group=user,
            extra_groups=[],
        )
        assert "Permission denied" in seen.stderr
    ask = (
        "import socket, sys; to = socket.socket(socket.AF_UNIX); to.connect(sys.argv[1]);"
        """ to.sendall(b'{"counterpoint": 1, "ask": "stop"}\\n'); print(to.recv(1000).decode())"""
    )
    asked = subprocess.run(
        of(AGENT, "-c", ask, str(house.socket)),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert json.loads(asked.stdout)["error"]["code"] == "forbidden"
    assert connect().call("brief")["project"]
    # What would open the ledger in a process of the agent's own says whose it is.
    refused = subprocess.run(
        of(AGENT, "-m", "counterpoint", "approve", "demo-2", "--db", f"unix:{house.socket}"),
        cwd=house.tree,
        env=house.environ(AGENT),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert refused.returncode == 3
    assert "belongs to the account that serves it" in refused.stderr


def test_the_server_runs_and_reads_nothing_for_its_callers(connect: Callable[..., Any]) -> None:
    """Neither a command, nor a file handed in, nor a setting that names one."""
    agent = connect()
    agent.call("plan", markdown="# Orchard\n## Planting\n- [ ] Plant the walnut\n")
    claim = agent.call("next", claim=True)["claim"]
    command = {"id": claim["item"], "token": claim["token"], "command": ["cat", "/etc/hostname"]}
    for tool, arguments in (
        ("verify", command),
        ("submit", {"id": "demo-2", "summary": "!", "path": "ledger.db"}),
    ):
        with pytest.raises(Exception, match="account of its own"):
            agent.call(tool, **arguments)
    for setting in ("SKILLS", "PASS_ENV", "TOOL_DEPENDENCIES", "SYMPHONY_DIR", "WORKTREE"):
        other = connect(**{f"COUNTERPOINT_{setting}": "/etc"})
        with pytest.raises(AssertionError, match="takes no"):
            other.call("brief")


def as_server(house: House, *words: str) -> str:
    """Run the command line as whoever may act as the server's account; answer what it prints."""
    ran = subprocess.run(
        of(SERVER, "-m", "counterpoint", *words, "--db", str(house.database)),
        cwd=house.state,
        env=house.environ(SERVER),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout

"""A relay below which another version is installed becomes that version, and its client notices nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import counterpoint
from counterpoint import __version__
from counterpoint.cli.server.listings import listing_of
from counterpoint.kernel.listing_cache import protocol_packages
from counterpoint.protocol.rendezvous import Rendezvous, find_rendezvous

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PATIENCE = 40.0
NEWER, NEWEST, PATCH = "7.1.0", "7.2.10", "0.1.100"
"""Of different lengths: compiled code counts as that of a file of the same second and size."""


class Installation:
    """A copy of the program that relays and servers are started from, as an installer leaves one."""

    def __init__(self, folder: Path) -> None:
        """Copy what is installed, with its lists, as a wheel has them."""
        self.path = folder / "counterpoint"
        source = Path(counterpoint.__file__).parent
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, self.path, ignore=ignored)
        listing = listing_of("native") | {"packages": protocol_packages()}
        (self.path / "listings").mkdir(exist_ok=True)
        (self.path / "listings/native.json").write_text(json.dumps(listing))
        self.environ = {"PYTHONPATH": str(folder)}

    def replace(self, name: str, change: Callable[[str], str]) -> None:
        """Put another file in the place of one."""
        file = self.path / name
        draft = file.with_suffix(".draft")
        draft.write_text(change(file.read_text()))
        draft.replace(file)

    def upgrade(self, version: str) -> None:
        """Install another version in the place of this one."""

        def rename(text: str) -> str:
            lines = text.splitlines()
            return "\n".join(
                f'__version__ = "{version}"' if line.startswith("__version__") else line
                for line in lines
            )

        self.replace("__init__.py", rename)


@pytest.fixture
def installed(tmp_path: Path) -> Installation:
    """Give a program that can be upgraded."""
    return Installation(tmp_path / "site")


@pytest.fixture
def meeting(folder: Path) -> Rendezvous:
    """Give the meeting point of the folder's database."""
    return find_rendezvous(folder / ".counterpoint" / "ledger.db")


def until(is_so: Callable[[], object]) -> None:
    """Wait until something is so."""
    pulse = threading.Event()
    for _ in range(int(PATIENCE * 100)):
        if is_so():
            return
        pulse.wait(0.01)
    raise AssertionError("it never comes")


def server_of(meeting: Rendezvous) -> tuple[int, str]:
    """Answer number and version of the server that runs."""
    until(lambda: meeting.ask("status"))
    status = meeting.ask("status") or {}
    return int(str(status["pid"])), str(status["version"])


def end_server(meeting: Rendezvous, number: int = signal.SIGTERM) -> None:
    """End the server, and wait until nobody finds it."""
    pid, _ = server_of(meeting)
    os.kill(pid, number)
    until(lambda: not meeting.is_held())


def start_of(pid: int) -> str:
    """Answer when a process began, as the kernel has it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def test_a_relay_becomes_the_version_that_is_installed(
    folder: Path, connect: Any, installed: Installation, meeting: Rendezvous
) -> None:
    """Same process, session and claim, again and again; nothing secret stands in its arguments or variables."""
    client = connect(folder, "--agent", "ada", environ=installed.environ)
    client.call("plan", markdown="# Harbour\n- [ ] Tar the keel\n")
    claim = client.call("next", claim=True)["claim"]
    before, pid = client.call("brief")["you"], client.process.pid
    began, variables = start_of(pid), Path(f"/proc/{pid}/environ").read_bytes()
    for version in (NEWER, NEWEST, PATCH):
        installed.upgrade(version)
        # As long as the old server is there nothing changes.
        assert client.call("brief")["you"] == before
        end_server(meeting)
        assert client.call("brief")["you"] == before
        assert server_of(meeting)[1] == version
        assert b"--take-state" in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert start_of(pid) == began
    assert Path(f"/proc/{pid}/environ").read_bytes() == variables
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    assert words.count(b"--take-state") == 1
    assert not [word for word in words if len(word) >= 32 and b"/" not in word]
    arguments = {
        "id": claim["item"],
        "token": claim["token"],
        "outcome": "done",
        "summary": "Tarred",
    }
    assert client.call("finish", **arguments)
    assert client.close() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_what_is_under_way_or_half_said_outlives_the_upgrade(
    folder: Path, connect: Any, installed: Installation, meeting: Rendezvous, number: int
) -> None:
    """Each request is answered once: with its result, or whether to repeat it."""
    client = connect(folder, "--agent", "ada", environ=installed.environ)
    client.call("brief")
    installed.upgrade(NEWER)
    server, _ = server_of(meeting)
    asked = []
    for turn in range(200):
        note = {"kind": "finding", "text": f"Knot {turn}", "idempotency_key": f"knot {turn}"}
        asked.append(client.send("tools/call", {"name": "note", "arguments": note}))
        if turn == 100:
            os.kill(server, number)
    heard = [client.read() for _ in asked]
    assert sorted(answer["id"] for answer in heard) == sorted(asked)
    for answer in heard:
        if "error" in answer:
            data = answer["error"]["data"]
            assert (data["code"], data["safe_to_retry"]) == ("server_gone", True)
    until(lambda: (meeting.ask("status") or {}).get("pid") != server)
    brief = {"name": "brief", "arguments": {}}
    first = {"jsonrpc": "2.0", "id": "first", "method": "tools/call", "params": brief}
    last = {"jsonrpc": "2.0", "id": "last ⚓", "method": "ping"}
    line = json.dumps(last, ensure_ascii=False).encode()
    # Cut in the middle of a character of three bytes.
    cut = line.index("⚓".encode()) + 1
    client.process.stdin.write(json.dumps(first).encode() + b"\n" + line[:cut])
    client.process.stdin.flush()
    assert client.read()["id"] == "first"
    assert b"--take-state" in Path(f"/proc/{client.process.pid}/cmdline").read_bytes()
    client.write(line[cut:])
    assert client.read()["id"] == "last ⚓"
    assert server_of(meeting)[1] == NEWER


@pytest.mark.alike
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("relay/answers.py", lambda text: text + "\nimport nothing_of_that_name\n"),
        ("relay/handover.py", lambda text: text.replace("FORM: Final = 1", "FORM: Final = 2")),
        ("relay/start.py", lambda text: text.replace("split_words(words)", '([*words], "", -1)')),
    ],
    ids=["it cannot be loaded", "it takes another form", "it takes none"],
)
def test_a_relay_goes_on_where_the_new_program_does_not_take_its_state(
    folder: Path,
    connect: Any,
    installed: Installation,
    meeting: Rendezvous,
    name: str,
    change: Callable[[str], str],
) -> None:
    """It says what is wrong, and works again with a version that fits."""
    client = connect(folder, "--agent", "ada", environ=installed.environ)
    client.call("note", kind="finding", text="Knots")
    before = client.call("brief")["you"]
    text = (installed.path / name).read_text()
    installed.replace(name, change)
    assert (installed.path / name).read_text() != text
    installed.upgrade(NEWER)
    end_server(meeting)
    number = client.send("tools/call", {"name": "brief", "arguments": {}})
    answer = client.read()
    assert answer["id"] == number
    assert answer["error"]["data"]["safe_to_retry"] is True
    assert answer["error"]["data"]["hint"]
    assert b"--take-state" not in Path(f"/proc/{client.process.pid}/cmdline").read_bytes()
    installed.replace(name, lambda _: text)
    meeting.ask("stop")
    assert client.call("brief")["you"] == before
    assert b"--take-state" in Path(f"/proc/{client.process.pid}/cmdline").read_bytes()


def test_a_file_that_is_only_touched_replaces_nothing(
    folder: Path, connect: Any, installed: Installation, meeting: Rendezvous
) -> None:
    """The version is what counts."""
    client = connect(folder, environ=installed.environ)
    client.call("brief")
    installed.upgrade(__version__)
    end_server(meeting)
    assert client.call("brief")
    assert b"--take-state" not in Path(f"/proc/{client.process.pid}/cmdline").read_bytes()


def test_who_gives_a_state_that_is_none_is_refused(folder: Path, counterpoint: Any) -> None:
    """The option is only between two versions of the program."""
    ran = counterpoint("mcp", "--take-state", "0", cwd=folder)
    assert ran.returncode == 2
    assert sys.executable not in ran.stderr

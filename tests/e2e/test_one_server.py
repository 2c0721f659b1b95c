"""One server at a time has a database, and it is of the release of who speaks with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import counterpoint
from counterpoint import __version__
from counterpoint.app import NOUNS
from counterpoint.kernel.errors import StoreBusy
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.storage.sqlite.store import open_sqlite
from fakes.long_forms import IS_LONG, draw

pytestmark = [pytest.mark.e2e, pytest.mark.faults, pytest.mark.timeout(900)]

ROUNDS = 150 if IS_LONG else 4
FEWER = tuple(noun for noun in NOUNS if noun.table != "briefs")
"""As a program knew them whose format had one table less."""
PATIENCE = 60.0
FROZEN = 3.0
LARGE = "# Large\n" + "".join(f"- [ ] Task {number}\n" for number in range(300))
OLDER, NEWER = "0.0.9", "9.0.0"


def having_open(database: Path) -> set[int]:
    """Answer the servers that have a database open at this moment."""
    found: set[int] = set()
    for place in Path("/proc").glob("[0-9]*"):
        # A process may end while it is looked at.
        with suppress(OSError):
            if b"serve" in (place / "cmdline").read_bytes().split(b"\0") and any(
                one.readlink() == database for one in (place / "fd").iterdir()
            ):
                found.add(int(place.name))
    return found


def parent_of(pid: int) -> int:
    """Answer who started a process; 0 if it has ended."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def freeze(pid: int, meeting: Any, come: Callable[[], object]) -> None:
    """Tell a server at work to end, and stop it once others no longer find it; then somebody comes, and it goes on a while later."""
    until = time.monotonic() + PATIENCE
    while pid not in having_open(meeting.database.resolve()) and time.monotonic() < until:
        threading.Event().wait(0.01)
    os.kill(pid, signal.SIGTERM)
    while (meeting.known() or {}).get("pid") == pid and time.monotonic() < until:
        threading.Event().wait(0.001)
    os.kill(pid, signal.SIGSTOP)
    come()
    # Long enough for another to start, which must not open what this one still has open.
    threading.Event().wait(FROZEN)
    os.kill(pid, signal.SIGCONT)


def end(pid: int, how: str, slowly: Callable[[], object]) -> None:
    """Kill a server, or tell it to end; nothing if it has ended by itself."""
    with suppress(ProcessLookupError):
        if how == "freeze":
            slowly()
        else:
            os.kill(pid, signal.SIGKILL if how == "kill" else signal.SIGTERM)


def next_server(meeting: Any, killed: set[int]) -> int:
    """Wait for a server that was not killed yet, and answer its process."""
    until = time.monotonic() + PATIENCE
    while (known := meeting.known()) is None or known["pid"] in killed:
        assert time.monotonic() < until, "no relay starts another"
        threading.Event().wait(0.01)
    return known["pid"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells who has what open")
def test_at_no_moment_have_two_servers_one_database_open(
    folder, connect, assert_whole, app, record_property
):
    """They are killed, told to end, or stopped as they end, again and again, while relays start others."""
    chance = draw("storm")
    database = (folder / ".counterpoint" / "ledger.db").resolve()
    meeting = find_rendezvous(database)
    clients = [connect(folder, "--agent", f"agent{number}") for number in range(3)]
    clients[0].call("brief")
    newcomers: list[Any] = []
    acknowledged: list[bool] = []
    over, killed, together = threading.Event(), set[int](), list[set[int]]()

    def watch() -> None:
        while not over.is_set():
            first = having_open(database)
            # Who is there in both looks was there all the time between them.
            both = first & having_open(database) if len(first) > 1 else set[int]()
            # What a server starts has what is open there until it is another program.
            if len({pid for pid in both if parent_of(pid) not in both}) > 1:
                together.append(both)

    def work(client: Any) -> None:
        number = 0
        while not over.is_set():
            number += 1
            key = f"{id(client)}-{number}"
            # A server that is told to end has the database open until the plan is made, and another must wait.
            said = {"markdown": LARGE} if client is clients[0] else {"kind": "finding", "text": key}
            tool = "plan" if client is clients[0] else "note"
            arguments = {**said, "idempotency_key": key}
            client.send("tools/call", {"name": tool, "arguments": arguments})
            acknowledged.append("result" in client.read())

    def come() -> None:
        newcomers.append(connect(folder, "--agent", f"newcomer{len(newcomers)}"))
        newcomers[-1].send("tools/call", {"name": "brief", "arguments": {}})

    threads = [threading.Thread(target=watch)]
    threads += [threading.Thread(target=work, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        for number in range(ROUNDS):
            pid = next_server(meeting, killed)
            over.wait(chance.uniform(0, 0.5))
            killed.add(pid)
            end(pid, ("kill", "freeze", "tell")[number % 3], partial(freeze, pid, meeting, come))
    finally:
        over.set()
        for thread in threads:
            thread.join()
        meeting.ask("stop")
    record_property("servers", len(killed))
    record_property("acknowledged", sum(acknowledged))
    assert together == []
    assert len(killed) == ROUNDS
    assert_whole(app)


@pytest.fixture
def of_version(tmp_path: Path) -> Any:
    """Give what starts a relay of a copy of the program that has another version."""

    def start(version: str, folder: Path, *calls: dict[str, Any]) -> list[dict[str, Any]]:
        copy = tmp_path / version
        if not copy.exists():
            shutil.copytree(Path(counterpoint.__file__).parent, copy / "counterpoint")
            file = copy / "counterpoint" / "__init__.py"
            file.write_text(file.read_text().replace(__version__, version))
        words = "import sys; from counterpoint.__main__ import main; sys.exit(main())"
        ran = subprocess.run(
            [sys.executable, "-c", words, "mcp", "--agent", "ada"],
            input="".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in calls),
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(copy)},
            timeout=60,
            check=False,
        )
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return start


def test_relay_and_server_of_two_releases_say_which_is_older_and_what_to_do(
    folder, connect, of_version
):
    connect(folder, "--agent", "bob").call("brief")
    database = folder / ".counterpoint" / "ledger.db"
    brief = {"id": 2, "method": "tools/call", "params": {"name": "brief", "arguments": {}}}
    [older] = of_version(OLDER, folder, brief)
    assert f"this relay is of version {OLDER}" in older["error"]["message"]
    assert f"newer version {__version__}" in older["error"]["message"]
    assert "Start this agent again" in older["error"]["data"]["hint"]
    [newer] = of_version(NEWER, folder, brief)
    known = find_rendezvous(database).known() or {}
    assert (
        f"an older server (version {__version__}, process {known['pid']})"
        in newer["error"]["message"]
    )
    assert "counterpoint down" in newer["error"]["data"]["hint"]
    assert len(having_open(database.resolve())) == 1
    find_rendezvous(database).ask("stop")


def test_tables_are_not_changed_while_the_server_of_another_process_runs(folder, connect):
    database = folder / ".counterpoint" / "ledger.db"
    database.parent.mkdir()
    open_sqlite(database, FEWER).close()
    meeting = find_rendezvous(database)
    holds = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('+', flush=True); input()"
    words = [sys.executable, "-c", holds, str(meeting.file("lock"))]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()
        meeting.file("json").write_text(
            json.dumps({"protocol": 1, "version": OLDER, "pid": server.pid, "socket": "/nowhere"})
        )
        with pytest.raises(StoreBusy, match=f"version {OLDER}, process {server.pid}"):
            open_sqlite(database, NOUNS)
        # Who has it open in the same shape changes nothing, and is no obstacle.
        open_sqlite(database, FEWER).close()
        server.communicate("\n")
    open_sqlite(database, NOUNS).close()

"""Relays and the one server: started once, found, lost, found again, and what is told meanwhile."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client as SdkClient
from mcp.client.stdio import StdioServerParameters, stdio_client

from builders import let_run
from counterpoint import __version__
from counterpoint.core.model.journal import Record
from counterpoint.protocol.rendezvous import Rendezvous, find_rendezvous

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PATIENCE = 30.0
RELAYS = 20
MEMORY = 12_800  # kB; 12,300 to 12,450 on this kind of machine since it watches its client
"""KiB that a relay may hold."""
WAIT = """import os, pathlib, time
parent = os.getppid()
pathlib.Path("begun").touch()
while os.getppid() == parent:
    time.sleep(0.05)
"""
"""A check that lasts as long as the server that runs it."""
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def meeting(folder: Path) -> Rendezvous:
    """Give the meeting point of the folder's database."""
    return find_rendezvous(folder / ".counterpoint" / "ledger.db")


@pytest.fixture
def pid(meeting: Rendezvous) -> Callable[[], int]:
    """Give what answers the pid of the server that runs, or is about to."""

    def ask() -> int:
        until(lambda: meeting.ask("status"))
        return (meeting.ask("status") or {})["pid"]

    return ask


@pytest.fixture(autouse=True)
def _no_server_stays(meeting: Rendezvous) -> Iterator[None]:
    """End whatever server a test has left."""
    yield
    meeting.ask("stop")


def until(is_so: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "it never comes"
        threading.Event().wait(0.01)


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended; one that nobody waited for has."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def status_of(pid: int, name: str) -> int:
    """Answer a figure of a process's memory in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


def ticks_of(pid: int) -> int:
    """Answer the processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def servers_of(folder: Path) -> list[int]:
    """Answer every process that serves the database of a folder."""
    words = [str(folder / ".counterpoint" / "ledger.db").encode(), b"serve"]
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if all(word in line for word in words):
            found.append(int(place.parent.name))
    return found


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_sdk_client_works_through_the_relay(folder, mode):
    """Both eras: list, write, read, a refusal, a resource, a prompt."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "counterpoint", "mcp", "--agent", "ada"],
        cwd=folder,
        env=dict(os.environ),
    )

    async def work() -> None:
        async with SdkClient(stdio_client(parameters), mode=mode) as client:
            assert len((await client.list_tools()).tools) == 16
            assert len((await client.list_prompts()).prompts) > 0
            noted = await client.call_tool("note", {"kind": "finding", "text": "Knots"})
            assert not noted.is_error
            found = await client.call_tool("find", {"query": "knots"})
            assert "Knots" in json.dumps(found.structured_content)
            assert (await client.call_tool("show", {"id": "demo-99"})).is_error
            resources = (await client.list_resources()).resources
            assert (await client.read_resource(resources[0].uri)).contents

    anyio.run(work)


def test_nothing_is_made_until_something_is_asked(folder, connect):
    """Lists are answered without a database and without a server."""
    client = connect(folder)
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        assert client.ask(method)
    assert client.ask("ping") == {}
    assert list(folder.iterdir()) == []


def test_many_relays_at_once_start_one_server(folder, connect, pid):
    """All of them are answered, and by the same process."""
    clients = [connect(folder, "--agent", f"agent{n}") for n in range(RELAYS)]
    with ThreadPoolExecutor(RELAYS) as pool:
        told = list(pool.map(lambda one: one.call("brief"), clients))
    assert {answer["you"]["agent"] for answer in told} == {f"agent{n}" for n in range(RELAYS)}
    assert len({answer["you"]["session"] for answer in told}) == RELAYS
    assert servers_of(folder) == [pid()]


def test_a_session_goes_on_with_another_server(folder, connect, pid, meeting):
    """The server is killed; the next call of the same relay starts another and is answered."""
    client = connect(folder, "--agent", "ada")
    before, first = client.call("brief")["you"], pid()
    noted = client.call("note", kind="finding", text="Knots")
    os.kill(first, signal.SIGKILL)
    until(lambda: is_gone(first) and meeting.ask("status") is None)
    assert client.call("brief")["you"] == before
    assert client.call("show", id=noted["record"]["id"])
    assert pid() != first


@pytest.mark.parametrize(
    ("end", "key", "safe"),
    [
        # Whether a repeat is safe does not depend on the signal: each is tried, and each answer.
        pytest.param(end, key, safe, marks=[] if is_short == safe else [pytest.mark.long])
        for end, is_short in (
            (signal.SIGKILL, False),
            (signal.SIGTERM, True),
            (signal.SIGINT, False),
            (signal.SIGHUP, True),
        )
        for key, safe in (({}, False), ({"idempotency_key": "k"}, True))
    ],
)
def test_what_was_under_way_is_told_whether_to_repeat_it(folder, connect, pid, key, safe, end):
    """A write that was not answered may have been done; with a key a repeat is safe, whatever the end."""
    let_run(folder)
    client, begun = connect(folder), folder / "begun"
    (folder / "wait.py").write_text(WAIT)
    check = f"{sys.executable} wait.py"
    client.call("plan", markdown=f"# Harbour\n- [ ] Wait\n  - verify: {check}\n")
    claim = client.call("next", claim=True)["claim"]
    arguments = {"id": claim["item"], "token": claim["token"], **key}
    number = client.send("tools/call", {"name": "verify", "arguments": arguments})
    until(begun.exists)
    os.kill(pid(), end)
    heard = client.read()
    assert heard["id"] == number
    assert heard["error"]["data"]["code"] == "server_gone"
    assert heard["error"]["data"]["safe_to_retry"] is safe
    assert heard["error"]["data"]["hint"]
    assert client.call("brief")


def test_nothing_that_was_answered_is_lost_when_the_server_is_killed_under_load(
    folder, connect, pid, app, assert_whole, record_property
):
    """Relays go on; each answered note is there once; the ledger verifies."""
    clients = [connect(folder, "--agent", f"agent{n}") for n in range(4)]
    clients[0].call("brief")
    answered: list[str] = []
    asked = threading.Event()

    def work(client: Any) -> int:
        lost = 0
        for number in range(30):
            text = f"n{id(client)}-{number}"
            arguments = {"kind": "finding", "text": text, "idempotency_key": text}
            name = client.send("tools/call", {"name": "note", "arguments": arguments})
            heard = client.read()
            while "error" in heard:
                assert heard["error"]["data"]["safe_to_retry"] is True, heard
                lost += 1
                name = client.send("tools/call", {"name": "note", "arguments": arguments})
                heard = client.read()
            assert heard["id"] == name
            assert not heard["result"]["isError"], heard
            answered.append(text)
            if len(answered) in {20, 60}:
                asked.set()
        return lost

    with ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work, client) for client in clients]
        for _ in range(2):
            assert asked.wait(PATIENCE)
            asked.clear()
            os.kill(pid(), signal.SIGKILL)
        lost = sum(one.result() for one in working)
    record_property("under way when the server died", lost)
    with app.store.reading(app.project) as view:
        kept = [record.body or record.title for record in view.select(Record)]
    assert sorted(kept) == sorted(answered)
    assert len(answered) == 120
    assert_whole(app)


def test_a_killed_relay_takes_nothing_with_it(folder, connect, pid):
    """The next client of its launcher goes on with its work; the server and the others live on."""
    ada, bob = connect(folder, "--agent", "ada"), connect(folder, "--agent", "bob")
    ada.call("plan", markdown="# Harbour\n- [ ] Lay the keel\n")
    ada.call("next", claim=True)
    bob.call("brief")
    server = pid()
    ada.kill()
    assert "keel" in json.dumps(bob.call("next", claim=True).get("item", {}))
    assert pid() == server


def test_the_leftovers_of_a_dead_server_are_cleared_away(folder, connect, pid, meeting):
    """A socket that nobody listens to and a file that names a dead process mean nothing."""
    client = connect(folder)
    client.call("brief")
    first = pid()
    os.kill(first, signal.SIGKILL)
    until(lambda: is_gone(first))
    assert meeting.socket.exists()
    assert meeting.file("json").exists()
    other = connect(folder, "--agent", "bob")
    assert other.call("brief")["you"]["agent"] == "bob"
    assert pid() != first
    assert meeting.socket.stat().st_mode & 0o777 == 0o600
    assert meeting.file("json").stat().st_mode & 0o777 == 0o600


def test_a_server_of_another_conversation_is_not_spoken_to(folder, connect, meeting):
    """The relay says so and what to do; it neither ends that server nor starts a second one."""
    (folder / ".counterpoint").mkdir()
    meeting.file("json").write_text(
        json.dumps({"protocol": 99, "version": "9.9", "pid": 1, "socket": "/nowhere"})
    )
    client = connect(folder)
    client.send("tools/call", {"name": "brief", "arguments": {}})
    error = client.read()["error"]
    assert "9.9" in error["message"]
    assert "counterpoint down" in error["data"]["hint"]
    assert servers_of(folder) == []


def test_a_server_that_cannot_start_is_told_with_its_last_words(folder, connect, meeting):
    """The request is answered; when the cause is gone the next one works."""
    # Where the server writes down who it is before that is made known.
    draft = meeting.file("json.draft")
    draft.mkdir(parents=True)
    client = connect(folder)
    client.send("tools/call", {"name": "brief", "arguments": {}})
    error = client.read()["error"]
    assert "does not start" in error["message"]
    assert f"{meeting.file('json')} cannot be used (Is a directory)" in error["message"]
    assert error["data"]["safe_to_retry"] is True
    assert "ledger.db-server.log" in error["data"]["hint"]
    draft.rmdir()
    assert client.call("brief")


def test_a_setting_that_is_wrong_is_told_to_its_own_connection(folder, connect):
    """The server lives on for the others."""
    good = connect(folder)
    good.call("brief")
    bad = connect(folder, environ={"COUNTERPOINT_LEASE_SECONDS": "99999999"})
    bad.send("tools/call", {"name": "brief", "arguments": {}})
    assert "LEASE_SECONDS" in bad.read()["error"]["message"]
    assert good.call("brief")


def test_a_line_of_ten_megabytes_is_refused_and_the_connection_lives(folder, connect):
    """The answer is a parse error; the next call works."""
    client = connect(folder)
    client.write(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"' + b"y" * 10_000_001)
    assert client.read()["error"]["code"] == -32700
    client.write(b"nonsense")
    assert client.read()["error"]["code"] == -32700
    client.write(b'{"jsonrpc":"2.0","id":8}')
    assert client.read()["error"]["code"] == -32600
    assert client.call("brief")


def test_a_client_that_never_reads_stops_nobody(folder, connect, meeting, pid):
    """What it sends waits with it while its answers do; the others are served meanwhile."""
    other = connect(folder, "--agent", "bob")
    other.call("brief")
    greeting = {
        "counterpoint": 1,
        "version": __version__,
        "flags": {},
        "environ": {},
        "folder": str(folder),
    }
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    lines = [greeting, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}]
    ask = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n'
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(meeting.socket))
        silent.settimeout(1.0)
        silent.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        until(lambda: (meeting.ask("status") or {}).get("clients") == 2)
        with pytest.raises(TimeoutError):
            silent.sendall(b"".join(ask % number for number in range(1, 100_000)))
        assert other.call("brief")
    until(lambda: (meeting.ask("status") or {}).get("clients") == 1)
    assert status_of(pid(), "VmRSS") < 200_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_relay_at_once_and_no_server(folder, connect, pid, number):
    """Exit code 0, and nothing on standard error."""
    other = connect(folder, "--agent", "bob")
    other.call("brief")
    client = connect(folder)
    client.call("brief")
    server = pid()
    client.process.send_signal(number)
    assert client.process.wait(PATIENCE) == 0
    assert client.stderr() == ""
    assert pid() == server


def test_what_was_asked_before_the_end_of_the_input_is_answered(folder):
    """Even if the server has to be started for it."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "brief", "arguments": {}},
        },
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "counterpoint", "mcp"],
        cwd=folder,
        input="\n".join(json.dumps(one) for one in asked),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [one["id"] for one in answers] == [1, 2]
    assert not answers[1]["result"]["isError"]


def test_a_server_leaves_when_nobody_is_left(folder, connect, pid, meeting):
    """With no minutes to wait it goes with its last client, and takes its files with it."""
    client = connect(folder)
    client.call("brief")
    server = pid()
    assert client.close() == 0
    until(lambda: is_gone(server))
    assert not meeting.socket.exists()
    assert not meeting.file("json").exists()


def test_a_server_leaves_when_its_folder_is_gone(folder, connect, pid, wire):
    """A repository that was thrown away leaves no process; who comes next is told that there was a ledger."""
    client = connect(folder)
    client.call("brief")
    server = pid()
    (folder / ".counterpoint").rename(folder / "elsewhere")
    until(lambda: is_gone(server))
    with pytest.raises(wire.Refused) as refused:
        client.call("brief")
    told = refused.value.answer
    assert (told["error"], told["retryable"]) == ("ledger_gone", False)
    assert all(Path(copy).is_file() for copy in told["saved"])
    assert len(told["saved"]) == 1
    assert not (folder / ".counterpoint" / "ledger.db").exists()
    client.close()
    until(lambda: servers_of(folder) == [])


def test_down_ends_the_server_and_its_clients_go_on(folder, connect, pid, counterpoint):
    """The next call starts another one; without a server the command says so."""
    client = connect(folder)
    client.call("brief")
    server = pid()
    told = json.loads(counterpoint("down", "--json", cwd=folder).stdout)
    assert told["ended"]["pid"] == server
    assert is_gone(server)
    assert client.call("brief")
    assert pid() != server
    client.close()
    until(lambda: servers_of(folder) == [])
    assert counterpoint("down", cwd=folder).stdout == "No server runs.\n"


def test_a_relay_is_small_and_sleeps(folder, connect, record_property, monkeypatch):
    """It holds at most 12 MB after lists and calls, and uses no time while nothing is said."""
    # The first one of a fresh checkout compiles its modules; whoever may not keep that compiles them each time.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    connect(folder).close()
    client = connect(folder)
    client.ask("tools/list")
    for _ in range(20):
        client.call("brief")
    pid = client.process.pid
    for name in ("VmRSS", "VmHWM"):
        record_property(name, status_of(pid, name))
    assert status_of(pid, "VmHWM") <= MEMORY
    before = ticks_of(pid)
    threading.Event().wait(1)
    assert ticks_of(pid) - before <= TICKS / 50


def test_in_process_there_is_no_server(folder, connect):
    """The flag, or its variable, serves the way that needs no sockets."""
    for client in (
        connect(folder, "--in-process"),
        connect(folder, environ={"COUNTERPOINT_IN_PROCESS": "1"}),
    ):
        assert client.call("brief")
    assert servers_of(folder) == []

"""However a server ends, whoever waits for it hears whether to ask again: over relays, pipes and HTTP."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from builders import let_run
from counterpoint.protocol.rendezvous import find_rendezvous

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PATIENCE = 40.0
REQUESTS = 30
WAIT = """import os, pathlib, time
parent = os.getppid()
pathlib.Path("begun").touch()
while os.getppid() == parent:
    time.sleep(0.05)
"""
"""A check that lasts as long as the server that runs it."""
POLITE = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
ENDS = [*POLITE, signal.SIGKILL]


def name_of(number: signal.Signals) -> str:
    """Answer the name of a signal."""
    return number.name


def until(is_so: Callable[[], object]) -> None:
    """Wait until something is so."""
    pulse = threading.Event()
    for _ in range(int(PATIENCE * 100)):
        if is_so():
            return
        pulse.wait(0.01)
    raise AssertionError("it never comes")


def begin_check(client: Any, folder: Path) -> dict[str, Any]:
    """Plan and claim a task whose check never ends; answer the arguments of `verify`."""
    let_run(folder)
    (folder / "wait.py").write_text(WAIT)
    check = f"{sys.executable} wait.py"
    client.call("plan", markdown=f"# Harbour\n- [ ] Wait\n  - verify: {check}\n")
    claim = client.call("next", claim=True)["claim"]
    return {"id": claim["item"], "token": claim["token"]}


def send_many(client: Any, check: dict[str, Any], begun: Path) -> dict[int, bool]:
    """Have a check run and many requests under way; answer by their ids whether each may be repeated."""
    safe: dict[int, bool] = {}
    begun.unlink(missing_ok=True)
    for key in ({}, {"idempotency_key": "k"}):
        call = {"name": "verify", "arguments": {**check, **key}}
        safe[client.send("tools/call", call)] = bool(key)
    until(begun.exists)
    for number in range(REQUESTS):
        text = {"kind": "finding", "text": f"Knots {number}"}
        for name, arguments, is_safe in (
            ("brief", {}, True),
            ("note", text, False),
            ("note", {**text, "idempotency_key": f"{number} {os.urandom(4).hex()}"}, True),
        ):
            safe[client.send("tools/call", {"name": name, "arguments": arguments})] = is_safe
    return safe


def assert_lost(error: dict[str, Any], *, is_safe: bool) -> None:
    """See that an error says that the server is gone, and what to do."""
    data = error["data"]
    is_safe = is_safe or error["message"].startswith("Nothing was done")
    assert (data["code"], data["safe_to_retry"]) == ("server_gone", is_safe), error
    assert data["hint"]


@pytest.mark.alike
@pytest.mark.parametrize("number", ENDS, ids=name_of)
def test_each_request_under_way_is_answered_whatever_ends_the_server(
    folder: Path, connect: Any, number: signal.Signals, *, is_long: bool
) -> None:
    client, meeting = connect(folder), find_rendezvous(folder / ".counterpoint" / "ledger.db")
    check = begin_check(client, folder)
    for _ in range(8 if is_long else 2):
        safe = send_many(client, check, folder / "begun")
        status = meeting.ask("status")
        assert status is not None
        os.kill(int(str(status["pid"])), number)
        lost = 0
        for _ in list(safe):
            answer = client.read()
            is_safe = safe.pop(answer["id"])
            if "error" in answer:
                assert_lost(answer["error"], is_safe=is_safe)
                lost += 1
        assert lost >= 1
        assert client.call("brief")


@pytest.mark.alike
@pytest.mark.parametrize("number", POLITE, ids=name_of)
def test_a_server_of_one_client_answers_each_request_before_it_ends(
    folder: Path, connect: Any, number: signal.Signals
) -> None:
    """Nobody is between them who could say it."""
    client = connect(folder, "--in-process")
    safe = send_many(client, begin_check(client, folder), folder / "begun")
    client.process.send_signal(number)
    for _ in list(safe):
        answer = client.read()
        is_safe = safe.pop(answer["id"])
        if "error" in answer:
            assert_lost(answer["error"], is_safe=is_safe)
    assert client.process.wait(PATIENCE) == 0


@pytest.fixture
def up(folder: Path) -> Iterator[Callable[[], tuple[subprocess.Popen[bytes], str, str]]]:
    """Give what starts a server over HTTP; answers its process, its address and its token."""
    running: list[subprocess.Popen[bytes]] = []

    def start() -> tuple[subprocess.Popen[bytes], str, str]:
        words = (sys.executable, "-m", "counterpoint", "up", "--port", "0")
        process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE)
        running.append(process)
        assert process.stderr is not None
        line: dict[str, Any] = {}
        while line.get("event") != "listening":
            line = json.loads(process.stderr.readline())
        token = Path(line["token_file"]).read_text().strip()
        return process, str(urlsplit(line["addresses"][0]).netloc), token

    yield start
    for process in running:
        process.kill()
        process.communicate(timeout=PATIENCE)


def post(
    address: str, token: str, name: str, arguments: dict[str, Any], *, streams: bool
) -> http.client.HTTPConnection:
    """Send a call of a tool and do not wait for its answer."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    params |= {"_meta": {"progressToken": 7}} if streams else {}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    wire = http.client.HTTPConnection(address, timeout=PATIENCE)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    wire.request("POST", "/mcp", json.dumps(message), headers)
    return wire


def heard_over_http(wire: http.client.HTTPConnection) -> dict[str, Any]:
    """Answer the last message of an answer, plain or a stream."""
    body = wire.getresponse().read().decode()
    wire.close()
    events = [line.removeprefix("data: ") for line in body.splitlines() if line[:5] == "data:"]
    return json.loads(events[-1] if events else body)


@pytest.mark.alike
@pytest.mark.parametrize("number", POLITE, ids=name_of)
def test_over_http_too_each_request_under_way_is_answered(
    folder: Path, up: Any, number: signal.Signals
) -> None:
    """A plain answer, or the last event of a stream: told twice, it waits for nobody."""
    let_run(folder)
    (folder / "wait.py").write_text(WAIT)
    process, address, token = up()

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        answer = heard_over_http(post(address, token, name, arguments, streams=False))
        return answer["result"]["structuredContent"]

    call("plan", markdown=f"# Harbour\n- [ ] Wait\n  - verify: {sys.executable} wait.py\n")
    claim = call("next", claim=True)["claim"]
    check = {"id": claim["item"], "token": claim["token"]}
    lost = []
    for key in (None, "one", "two"):
        (folder / "begun").unlink(missing_ok=True)
        for streams in (False, True):
            more = {"idempotency_key": f"{key} {streams}"} if key else {}
            wire = post(address, token, "verify", {**check, **more}, streams=streams)
            lost.append((wire, bool(key)))
        until((folder / "begun").exists)
    process.send_signal(number)
    assert process.stderr is not None
    # The second one counts once the first has been heard.
    until(lambda: not is_open(address))
    process.send_signal(number)
    for wire, is_safe in lost:
        answer = heard_over_http(wire)
        assert answer["id"] == 7
        assert_lost(answer["error"], is_safe=is_safe)
    assert process.wait(PATIENCE) == 0


def is_open(address: str) -> bool:
    """Tell whether a server over HTTP still takes requests."""
    wire = http.client.HTTPConnection(address, timeout=PATIENCE)
    try:
        wire.request("GET", "/healthz")
        return wire.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        wire.close()

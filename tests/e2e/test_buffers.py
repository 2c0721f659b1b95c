"""What one side does not take in, a relay does not pile up: it is waited for, and nothing is lost."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.relay.connection import BUFFER_BYTES

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

MEMORY = 12_800 + 16 * BUFFER_BYTES // 1024
"""KiB that a relay may hold at most: what it has when it is idle, and a few copies of what its buffers take."""
SERVER = 200_000
"""KiB that a server may hold."""
QUIET = 100
"""How often in a row nothing must have been taken before one counts as not listening."""
REQUESTS = 1_500


def memory_of(pid: int) -> int:
    """Answer the most memory that a process has held, in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))


class Flood:
    """Requests that are written by a thread, whether or not anybody takes them."""

    def __init__(self, client: Any, method: str, params: dict[str, Any]) -> None:
        """Begin to write."""
        self.client, self.sent = client, 0
        self._method, self._params = method, params
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        for _ in range(REQUESTS):
            self.client.send(self._method, self._params)
            self.sent += 1

    def wait_until_stuck(self) -> None:
        """Wait until nothing is taken any more."""
        pulse, before, quiet = threading.Event(), -1, 0
        while quiet < QUIET:
            quiet = quiet + 1 if self.sent == before else 0
            before = self.sent
            pulse.wait(0.01)

    def answers(self) -> list[dict[str, Any]]:
        """Read all answers; each request has one."""
        answers = [self.client.read() for _ in range(REQUESTS)]
        self._thread.join()
        assert len({answer["id"] for answer in answers}) == REQUESTS
        return answers


@contextmanager
def no_server(folder: Path) -> Iterator[None]:
    """Keep everybody from starting a server."""
    path = find_rendezvous(folder / ".counterpoint" / "ledger.db").file("starting")
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@pytest.mark.alike
@pytest.mark.parametrize(
    ("method", "padding"),
    [("tools/call", 0), ("tools/call", 2_000), ("tools/list", 0)],
    ids=["short calls", "long calls", "what the relay answers"],
)
def test_a_client_that_does_not_read_is_waited_for(
    folder: Path, connect: Any, method: str, padding: int
) -> None:
    """Neither relay nor server grows; once it reads, each request has been answered with its result."""
    client = connect(folder)
    noted = client.call("note", kind="finding", text="K" * 9_000)["record"]["id"]
    params: dict[str, Any] = {"_meta": {"padding": "K" * padding}} if padding else {}
    if method == "tools/call":
        params |= {"name": "show", "arguments": {"id": noted}}
    flood = Flood(client, method, params)
    flood.wait_until_stuck()
    # What is short enough fits into the pipes.
    assert flood.sent < REQUESTS or not padding
    status = find_rendezvous(folder / ".counterpoint" / "ledger.db").ask("status") or {}
    assert memory_of(client.process.pid) < MEMORY
    assert memory_of(int(str(status["pid"]))) < SERVER
    assert connect(folder, "--agent", "bob").call("brief")
    assert [answer for answer in flood.answers() if "result" not in answer] == []


@pytest.mark.long
def test_a_client_that_floods_while_no_server_answers_is_waited_for(
    folder: Path, connect: Any, wire: Any
) -> None:
    client, meeting = connect(folder), find_rendezvous(folder / ".counterpoint" / "ledger.db")
    client.call("note", kind="finding", text="first")
    with no_server(folder):
        meeting.ask("stop")
        call = {"name": "find", "arguments": {"query": "K" * 150, "limit": 1}}
        padding = {"_meta": {"padding": "K" * 20_000}}
        flood = Flood(client, "tools/call", {**call, **padding})
        flood.wait_until_stuck()
        assert flood.sent < REQUESTS
        assert memory_of(client.process.pid) < MEMORY
    for answer in flood.answers():
        assert "result" in answer or answer["error"]["data"]["safe_to_retry"], json.dumps(answer)


def test_a_client_that_neither_reads_nor_stays_is_not_waited_for(
    folder: Path, connect: Any
) -> None:
    """Its input has ended, and for a moment nobody has read: the relay leaves."""
    client = connect(folder)
    noted = client.call("note", kind="finding", text="K" * 9_000)["record"]["id"]
    call = {"name": "show", "arguments": {"id": noted}}
    for _ in range(200):
        client.send("tools/call", call)
    # It has more for its client than a pipe takes.
    assert client.read()
    assert client.close() == 0
